#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "import/nsys.h"
#include "import/registry.h"
#include "support/catch.h"
#include "support/nsys_file.h"

using namespace ws;
using namespace ws::test;

namespace {

namespace fs = std::filesystem;

constexpr const char* kReportHead = "NVIDIA Tegra Profiler Report 2025@3 and more";

// A folder with a report, a stand-in for nsys and an empty TMPDIR; PATH holds nothing else of nsys.
struct Workplace {
  Workplace() : folder(temporary_path("")), old_path(std::getenv("PATH")) {
    for (const char* part : {"", "/bin", "/tmp"}) fs::create_directory(folder + part);
    ::setenv("TMPDIR", (folder + "/tmp").c_str(), 1);
    report = folder + "/it's a run.nsys-rep";
    std::ofstream(report) << kReportHead;
  }
  ~Workplace() {
    ::setenv("PATH", old_path.c_str(), 1);
    ::unsetenv("TMPDIR");
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }
  void set_nsys(const std::string& body) {
    const std::string program = folder + "/bin/nsys";
    std::ofstream(program) << "#!/bin/sh\n" << body;
    ::chmod(program.c_str(), 0755);
    ::setenv("PATH", (folder + "/bin:/usr/bin:/bin").c_str(), 1);
  }
  bool nothing_left() const { return fs::is_empty(folder + "/tmp"); }
  std::string folder, report, old_path;
};

std::string refusal_of(const std::string& path) {
  const Result<std::vector<Trace>> traces = read_file(path);
  REQUIRE_FALSE(traces.has_value());
  return traces.error().message;
}

}  // namespace

TEST_CASE("a report is exported by the nsys on PATH, and nothing of it stays behind") {
  NsysFile exported;
  exported.add(NsysKernel{20, 30, "gemm", 1});
  const std::string source = exported.finish();
  Workplace place;
  // Checks its arguments as nsys would, then "exports".
  place.set_nsys(
      "[ \"$1 $2 $3 $4 $5\" = \"export --type=sqlite --include-json=true "
      "--force-overwrite=true --output\" ] || exit 3\n[ -f \"$7\" ] || exit 4\n"
      "cp '" +
      source + "' \"$6\"\n");
  const Result<std::vector<Trace>> traces = read_file(place.report);
  REQUIRE(traces.has_value());
  CHECK(traces->at(0).ops.size() == 1);
  CHECK(traces->at(0).path == place.report);
  CHECK(place.nothing_left());
  const std::string qdrep = place.folder + "/old.qdrep";
  std::ofstream(qdrep) << kReportHead;
  CHECK(read_file(qdrep).has_value());
}

TEST_CASE("an nsys that does not know --include-json is asked without it") {
  NsysFile exported;
  exported.add(NsysKernel{20, 30, "gemm", 1});
  const std::string source = exported.finish();
  Workplace place;
  place.set_nsys(
      "case \"$*\" in *--include-json*) echo unknown option; exit 1;; esac\n"
      "cp '" +
      source + "' \"$5\"\n");
  CHECK(read_file(place.report).has_value());
}

TEST_CASE("an export that fails is told with its first line and the command") {
  Workplace place;
  place.set_nsys("echo; echo 'Unsupported report version' >&2; exit 1\n");
  const std::string message = refusal_of(place.report);
  CHECK(message.find("Unsupported report version") != std::string::npos);
  CHECK(message.find("nsys export --type=sqlite") != std::string::npos);
  CHECK(place.nothing_left());
  place.set_nsys("exit 0\n");  // succeeds and writes nothing
  CHECK(refusal_of(place.report).find("nsys export failed") != std::string::npos);
  place.set_nsys("printf nonsense > \"$6\"\n");
  CHECK(refusal_of(place.report).find("can not be read") != std::string::npos);
  CHECK(place.nothing_left());
}

TEST_CASE("without nsys the exact command is given") {
  Workplace place;
  ::setenv("PATH", (place.folder + "/bin").c_str(), 1);
  CHECK(
      refusal_of(place.report)
          .find(
              "run nsys export --type=sqlite --include-json=true --output 'it'\\''s a run.sqlite' "
              "'it'\\''s a run.nsys-rep'") != std::string::npos);
}

TEST_CASE("a report under another name is told apart from a trace") {
  Workplace place;
  const std::string renamed = place.folder + "/run.sqlite";
  std::ofstream(renamed) << kReportHead;
  const std::string message = refusal_of(renamed);
  CHECK(message.find("under another name") != std::string::npos);
  CHECK(message.find("--output run_export.sqlite run.sqlite") != std::string::npos);
}
