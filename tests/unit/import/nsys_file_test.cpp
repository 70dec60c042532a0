#include "import/nsys_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "import/registry.h"
#include "support/catch.h"
#include "support/nsys_file.h"

using namespace ws;
using namespace ws::test;

namespace {

namespace fs = std::filesystem;

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string small_export() {
  NsysFile file;
  file.add(NsysCall{10, 15, "cudaLaunchKernel", 1});
  file.add(NsysKernel{20, 30, "gemm", 1});
  return read_text(file.finish());
}

std::string refusal_of(const std::string& path) {
  const Result<std::vector<Trace>> traces = read_file(path);
  return traces ? "" : traces.error().message;
}

// A fresh folder, removed with its content.
struct Folder {
  Folder() : path(temporary_path("")) { fs::create_directory(path); }
  ~Folder() {
    ::chmod(path.c_str(), 0700);
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string path;
};

}  // namespace

TEST_CASE("columns are found by name, absent ones read NULL, and order does not matter") {
  NsysFile made;
  made.sql("CREATE TABLE T (\"end\" INTEGER, \"odd \"\"name\" TEXT, start INTEGER)");
  made.sql("INSERT INTO T VALUES (2, 'x', 1)");
  const Result<nsys::File> file = nsys::File::open(made.finish());
  REQUIRE(file.has_value());
  CHECK(file->has_column("T", "odd \"name"));
  CHECK_FALSE(file->has_column("T", "middle"));
  CHECK_FALSE(file->has_column("U", "start"));
  int rows = 0;
  const Result<void> ok =
      file->for_each_row("T", {"start", "middle", "end", "odd \"name"}, [&](const RowValues& s) {
        ++rows;
        CHECK(s.int64(0) == 1);
        CHECK(s.is_null(1));
        CHECK(s.int64(2) == 2);
        CHECK(s.text(3) == "x");
      });
  CHECK(ok.has_value());
  CHECK(rows == 1);
  CHECK(file->estimated_rows("T") == 1);
  CHECK(file->estimated_rows("U") == 0);
}

TEST_CASE("views and virtual tables are as if they were not there") {
  NsysFile made;
  made.add(NsysCall{10, 15, "cudaLaunchKernel", 1});
  made.sql("CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM StringIds");
  made.sql("CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(text)");
  const Result<nsys::File> file = nsys::File::open(made.finish());
  REQUIRE(file.has_value());
  CHECK(file->has_table("CUPTI_ACTIVITY_KIND_RUNTIME"));
  CHECK_FALSE(file->has_table("CUPTI_ACTIVITY_KIND_KERNEL"));
  CHECK_FALSE(file->has_table("NVTX_EVENTS"));
  CHECK(refusal_of(made.finish()).empty());
}

TEST_CASE("a table without row ids is read too") {
  NsysFile made;
  made.add(NsysCall{10, 15, "cudaLaunchKernel", 1});
  made.sql(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER PRIMARY KEY, end, deviceId, "
      "streamId, correlationId, globalPid, shortName) WITHOUT ROWID");
  made.sql("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (20,30,0,7,1," +
           std::to_string(nsys_global(1000)) + ",1)");
  const Result<std::vector<Trace>> traces = read_file(made.finish());
  REQUIRE(traces.has_value());
  CHECK(traces->at(0).ops.size() == 1);
}

TEST_CASE(
    "reading leaves the file and its folder as they were, also where nothing can be written") {
  Folder folder;
  const std::string path = folder.path + "/a%20b?c#d.sqlite";
  std::string bytes = small_export();
  bytes[18] = bytes[19] = 2;  // says WAL, as a copied live database does
  write_text(path, bytes);
  ::chmod(path.c_str(), 0400);
  ::chmod(folder.path.c_str(), 0500);
  const Result<std::vector<Trace>> traces = read_file(path);
  REQUIRE(traces.has_value());
  CHECK(traces->at(0).ops.size() == 1);
  CHECK(read_file("/" + path).has_value());
  CHECK(read_text(path) == bytes);
  CHECK(std::distance(fs::directory_iterator(folder.path), fs::directory_iterator()) == 1);
}

TEST_CASE("rows that wait in a log beside the file are a reason to refuse") {
  Folder folder;
  const std::string path = folder.path + "/run.sqlite";
  std::string bytes = small_export();
  write_text(path, bytes);
  write_text(path + "-wal", "left over");
  CHECK(refusal_of(path).empty());  // the file is not in WAL mode
  bytes[18] = bytes[19] = 2;
  write_text(path, bytes);
  CHECK(refusal_of(path).find("write-ahead log of 9 bytes") != std::string::npos);
  fs::remove(path + "-wal");
  CHECK(refusal_of(path).empty());
  write_text(path + "-journal", std::string("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8));
  CHECK(refusal_of(path).find("did not finish") != std::string::npos);
  write_text(path + "-journal", std::string(512, '\0'));  // a journal that was committed
  CHECK(refusal_of(path).empty());
}

TEST_CASE("a file that is cut off is refused with both sizes") {
  const std::string path = temporary_path(".sqlite");
  const std::string bytes = small_export();
  write_text(path, std::string_view(bytes).substr(0, bytes.size() / 2));
  const std::string message = refusal_of(path);
  CHECK(message.find("cut off") != std::string::npos);
  CHECK(message.find(std::to_string(bytes.size())) != std::string::npos);
  CHECK(message.find(std::to_string(bytes.size() / 2)) != std::string::npos);
  write_text(path, std::string_view(bytes).substr(0, 50));
  CHECK(refusal_of(path).find("cut off") != std::string::npos);
  fs::remove(path);
}
