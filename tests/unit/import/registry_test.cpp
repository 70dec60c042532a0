#include "import/registry.h"

#include <sys/stat.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "import/file_head.h"
#include "support/catch.h"
#include "support/nsys_file.h"

using namespace ws;
using namespace ws::test;

namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() : path(temporary_path("")) { fs::create_directory(path); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string add(const std::string& name, std::string_view content) const {
    std::ofstream(path + "/" + name, std::ios::binary) << content;
    return path + "/" + name;
  }
  std::string add_export(const std::string& name) const {
    NsysFile file;
    file.add(NsysKernel{20, 30, "gemm", 1});
    fs::copy_file(file.finish(), path + "/" + name);
    return path + "/" + name;
  }
  std::string path;
};

std::string refusal_of(const std::string& path) {
  const Result<std::vector<Trace>> traces = read_file(path);
  REQUIRE_FALSE(traces.has_value());
  const std::string& message = traces.error().message;
  CHECK(message.find(path) == 0);
  CHECK(message.find('\n') == std::string::npos);
  return message;
}

std::string gzipped(const std::string& path, std::string_view content) {
  gzFile out = gzopen(path.c_str(), "wb");
  gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
  gzclose(out);
  return path;
}

}  // namespace

TEST_CASE("what is not a trace is refused with its reason") {
  const Folder folder;
  struct Row {
    std::string_view content, expected;
  };
  using namespace std::string_view_literals;
  const Row rows[] = {
      {"", "empty file"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"},
      {"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X"sv, "AppleDouble"},
      {"PK\x03\x04zip", "zip archive"},
      {"<!DOCTYPE html>", "HTML"},
      {"\x13\x37NSYS-REP-like", "found neither"},
      {"PAR1\x15\x04", "Parquet table; of nsys-jax give the .nsys-rep"},
      {"NVR\0\x01"sv, "Nsight Compute"},
      {"\x80\x04\x95\0}segments device total_size"sv, "a memory snapshot of PyTorch"},
      {"\x80\x04\x95\0}anything"sv, "a Python pickle; record the run with torch.profiler"},
      {"\n\xa1\xf0\x08\x12\x0e/host:metadata", "an XPlane file of the JAX"},
      {" \"a text\"\n", "JSON that is a single text"},
      {"[1, 2]", "JSON without trace events"},
      {"0 1 2 3", "found neither"},
  };
  for (const Row& row : rows) {
    INFO(row.expected);
    CHECK(refusal_of(folder.add("x.sqlite", row.content)).find(row.expected) != std::string::npos);
  }
  CHECK(refusal_of(folder.add("zeros.sqlite", std::string(8192, '\0')))
            .find("the export did not finish; run nsys export again") != std::string::npos);
  // How to export is told where the file claims to be a report, and nowhere else.
  CHECK(refusal_of(folder.add("x.nsys-rep", "NSYS")).find("run nsys export --type=sqlite") !=
        std::string::npos);
  for (const char* name : {"x.sqlite", "snapshot.pickle", "x.xplane.pb"})
    CHECK(refusal_of(folder.add(name, "\x80\x04 anything")).find("nsys export") ==
          std::string::npos);
  // Unpacking a table would not help.
  const std::string table = refusal_of(folder.add("report.csv.xz", "\xfd\x37zXZ and so on"));
  CHECK(table.find("xz data with a CSV table in it; of nsys-jax give") != std::string::npos);
  CHECK(refusal_of(folder.add("trace.json.xz", "\xfd\x37zXZ")).find("unpack it with xz -d") !=
        std::string::npos);
  CHECK(refusal_of(folder.path).find("found a folder") != std::string::npos);
  CHECK(refusal_of(folder.path + "/absent").find("No such file") != std::string::npos);
  CHECK(refusal_of("/dev/null").find("device or pipe") != std::string::npos);
  CHECK(refusal_of(folder.add("x.gz", "\x1f\x8bnot gzip")).find("gzip") != std::string::npos);
}

TEST_CASE("a pipe is refused, not waited for") {
  const Folder folder;
  const std::string pipe = folder.path + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(refusal_of(pipe).find("device or pipe") != std::string::npos);
}

TEST_CASE("databases of other tools are named") {
  struct Row {
    const char* table;
    std::string_view expected;
  };
  const Row rows[] = {
      {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "an nvprof database"},
      {"read_only_op_instances", "a DLProf database"},
      {"STR_TABLE", "a hipprof database"},
      {"rocpd_op", "a trace of AMD's rocpd (rocmProfileData), which can not be read"},
      {"books", "an SQLite database of something else"}};
  const std::string path = temporary_path(".db");
  for (const Row& row : rows) {
    {
      const Result<Database> db = Database::open(path, Database::Mode::create);
      REQUIRE(db->exec(std::string("CREATE TABLE ") + row.table + " (a)").has_value());
    }
    CHECK(refusal_of(path).find(row.expected) != std::string::npos);
    fs::remove(path);
  }
}

TEST_CASE("heads are inflated, over member borders too, and never more than the limit") {
  const Folder folder;
  const std::string one = gzipped(folder.path + "/a.gz", "first ");
  gzipped(folder.path + "/b.gz", "second");
  std::ifstream more(folder.path + "/b.gz", std::ios::binary);
  std::ofstream(one, std::ios::binary | std::ios::app) << more.rdbuf();
  const Result<FileHead> head = read_head(one);
  REQUIRE(head.has_value());
  CHECK(head->gzip);
  CHECK(head->bytes == "first second");
  const std::string big = gzipped(folder.path + "/big.gz", std::string(1'000'000, 'x'));
  CHECK(read_head(big)->bytes.size() == kHeadBytes);
  CHECK(read_head(folder.add("plain", std::string(100'000, 'x')))->bytes.size() == kHeadBytes);
}

TEST_CASE("a folder gives its traces in natural order and counts the rest") {
  const Folder folder;
  for (const char* name : {"rank10.sqlite", "rank2.sqlite", "rank1.dat"}) folder.add_export(name);
  folder.add("notes.txt", "hello");
  folder.add("rank2.nsys-rep", "NVIDIA Tegra Profiler Report 2025");
  fs::create_directory(folder.path + "/below");
  fs::copy_file(folder.path + "/rank2.sqlite", folder.path + "/below/rank3.sqlite");
  Notes notes;
  const Result<std::vector<std::string>> inputs = list_inputs({folder.path}, notes);
  REQUIRE(inputs.has_value());
  CHECK(*inputs == std::vector<std::string>{folder.path + "/rank1.dat",
                                            folder.path + "/rank2.sqlite",
                                            folder.path + "/rank10.sqlite"});
  CHECK(notes.count(NoteCode::file_skipped) == 2);  // the text, and the report of rank2.sqlite
  REQUIRE(notes.count(NoteCode::folders_not_read) == 1);
  CHECK(notes.all().back().detail == "below");
}

TEST_CASE("named files must be traces; a folder must hold one") {
  const Folder folder;
  const std::string text = folder.add("notes.txt", "hello");
  Notes notes;
  CHECK_FALSE(list_inputs({text}, notes).has_value());
  CHECK_FALSE(list_inputs({folder.path + "/absent"}, notes).has_value());
  const Result<std::vector<std::string>> none = list_inputs({folder.path}, notes);
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().message.find("found none among 1 files") != std::string::npos);
  // Below may lie other runs: they are named, not read.
  for (const char* name : {"/run2", "/run10", "/plots"}) {
    fs::create_directory(folder.path + name);
    if (name[1] == 'r') folder.add_export(std::string(name + 1) + "/rank0.sqlite");
  }
  const Result<std::vector<std::string>> below = list_inputs({folder.path}, notes);
  REQUIRE_FALSE(below.has_value());
  CHECK(below.error().message.find("only in folders below it: run2, run10; give the one") !=
        std::string::npos);
  const Folder tables;
  fs::create_directory(tables.path + "/proc0");
  tables.add("proc0/trace.parquet", "PAR1 and so on");
  const Result<std::vector<std::string>> jax = list_inputs({tables.path}, notes);
  REQUIRE_FALSE(jax.has_value());
  CHECK(jax.error().message ==
        tables.path +
            ": expected traces in the folder, found none; proc0/trace.parquet is a "
            "Parquet table; of nsys-jax give the .nsys-rep, or its nsys export "
            "--type=sqlite; tables can not be read");
  const std::string trace = folder.add_export("a.sqlite");
  CHECK(notes.count(NoteCode::repeated_input) == 0);
  const Result<std::vector<std::string>> both = list_inputs({trace, folder.path}, notes);
  CHECK(notes.count(NoteCode::repeated_input) == 1);
  REQUIRE(both.has_value());
  CHECK(*both == std::vector<std::string>{trace});
}

TEST_CASE("names compare as people count") {
  CHECK(natural_less("rank2", "rank10"));
  CHECK_FALSE(natural_less("rank10", "rank2"));
  CHECK(natural_less("rank2.a", "rank2.b"));
  CHECK(natural_less("a", "b"));
  CHECK(natural_less("a", "a1"));
  CHECK(natural_less("rank007", "rank8"));
  CHECK(natural_less("rank01", "rank1"));
  CHECK_FALSE(natural_less("rank1", "rank01"));
  CHECK_FALSE(natural_less("x", "x"));
  CHECK(natural_less("r99999999999999999999998", "r99999999999999999999999"));
}

TEST_CASE("a file of the folder that should be a trace and is broken is told with the reason") {
  const Folder folder;
  folder.add_export("rank0.sqlite");
  folder.add("rank1.sqlite", std::string(4096, '\0'));
  folder.add("rank2.json", "");
  folder.add("rank3.json", "{\"name\": \"run\", \"parts\": [{\"id\": 0");
  folder.add("rank4.json.gz", "\x1f\x8b torn");
  folder.add("stderr.log", "");
  folder.add("config.json", "{\"lr\": 1}");
  Notes notes;
  REQUIRE(list_inputs({folder.path}, notes).has_value());
  CHECK(notes.count(NoteCode::file_skipped) == 2);
  CHECK(notes.count(NoteCode::file_unreadable) == 4);
  std::string details;
  for (const Note& note : notes.all())
    if (note.code == NoteCode::file_unreadable) details += note.detail + "\n";
  INFO(details);
  for (const char* part : {"rank1.sqlite: ", "a header of zeros", "rank2.json: ", "an empty file",
                           "rank3.json: ", "cut off before its events", "rank4.json.gz: "})
    CHECK(details.find(part) != std::string::npos);
  CHECK(details.find(folder.path) == std::string::npos);
}

TEST_CASE("reports of wallsight beside the traces are left out without a word") {
  const Folder folder;
  folder.add_export("rank0.sqlite");
  for (const char* name : {"report.json", "report.md", "report.txt"}) {
    std::ifstream in(std::string(WS_SOURCE_DIR "/samples/kineto/dataloader/") + name);
    folder.add(name, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  Notes notes;
  const auto files = list_inputs({folder.path}, notes);
  REQUIRE(files);
  CHECK(files->size() == 1);
  CHECK(notes.all().empty());
  // Named, each is told what it is.
  for (const char* name : {"report.json", "report.md", "report.txt"}) {
    const auto named = list_inputs({folder.path + "/" + name}, notes);
    REQUIRE_FALSE(named);
    CHECK(named.error().message.find("found a report of wallsight; give the recording") !=
          std::string::npos);
  }
}

TEST_CASE("a named file that is broken costs its rank, with nothing else to read the run") {
  const Folder folder;
  folder.add_export("rank0.sqlite");
  folder.add("rank1.json", "");
  folder.add("rank2.json.gz", "\x1f\x8b torn");
  folder.add("notes.txt", "shopping list");
  const auto path = [&](const char* name) { return folder.path + "/" + name; };
  Notes notes;
  const auto some =
      list_inputs({path("rank0.sqlite"), path("rank1.json"), path("rank2.json.gz")}, notes);
  REQUIRE(some.has_value());
  CHECK(*some == std::vector<std::string>{path("rank0.sqlite")});
  CHECK(notes.count(NoteCode::file_unreadable) == 2);
  Notes none;
  const auto only = list_inputs({path("rank1.json"), path("rank2.json.gz")}, none);
  REQUIRE_FALSE(only.has_value());
  CHECK(only.error().message.find("rank1.json: ") != std::string::npos);
  CHECK_FALSE(list_inputs({path("rank0.sqlite"), path("notes.txt")}, none).has_value());
  CHECK_FALSE(list_inputs({path("rank0.sqlite"), path("absent.json")}, none).has_value());
}
