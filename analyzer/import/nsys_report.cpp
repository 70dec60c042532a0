// A report is NVIDIA's own format: `nsys export` of the same or a newer version turns it into
// SQLite. It runs without a shell, writes into a fresh folder that is removed again, and reads
// nothing from the terminal. Versions that do not know --include-json are asked again without it.
// Tested by: nsys_report_test.cpp
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "import/nsys.h"

namespace ws {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReportMagic = "NVIDIA Tegra Profiler Report";

// Removed with all that is in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    const char* parent = std::getenv("TMPDIR");
    std::string pattern = std::string(parent != nullptr && *parent != '\0' ? parent : "/tmp");
    pattern += "/wallsight-XXXXXX";
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }  // empty when it could not be made

 private:
  std::string path_;
};

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, colon));
    if (!folder.empty() && ::access((folder + "/" + program).c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return false;
}

// Exit status of the program, its output in `log`; -1 when it could not run or was killed.
int run(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    const int in = ::open("/dev/null", O_RDONLY);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (in < 0 || out < 0) ::_exit(127);
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string first_line(const std::string& log) {
  std::ifstream in(log);
  std::string line;
  while (std::getline(in, line) && line.find_first_not_of(" \t\r") == std::string::npos) {
  }
  constexpr size_t kLongest = 120;
  return shorten(one_line(to_utf8(line)), kLongest);
}

int export_report(const std::string& report, const std::string& out, const std::string& log) {
  const std::string input = report[0] == '-' ? "./" + report : report;
  std::vector<std::string> arguments = {"nsys",
                                        "export",
                                        "--type=sqlite",
                                        "--include-json=true",
                                        "--force-overwrite=true",
                                        "--output",
                                        out,
                                        input};
  const int status = run(arguments, log);
  if (status == 0) return 0;
  arguments.erase(arguments.begin() + 3);
  return run(arguments, log);
}

Result<std::vector<Trace>> read_report(const std::string& path) {
  if (!is_nsys_report_name(path)) {
    return Error{fmt::format(
        "{}: expected a trace, found an Nsight Systems report under another name; name it "
        ".nsys-rep, or run {}",
        path, nsys_export_command(path))};
  }
  if (!on_path("nsys")) {
    return Error{fmt::format(
        "{}: expected nsys on PATH to export the report, found none; where nsys is installed, run "
        "{}",
        path, nsys_export_command(path))};
  }
  const ScratchFolder scratch;
  if (scratch.path().empty()) {
    return Error{fmt::format("{}: can not make a temporary folder ({}); set TMPDIR", path,
                             std::strerror(errno))};
  }
  const std::string out = scratch.path() + "/export.sqlite", log = scratch.path() + "/log";
  if (const int status = export_report(path, out, log); status != 0 || !fs::exists(out)) {
    return Error{fmt::format(
        "{}: nsys export failed ({}); a newer nsys may be needed: run {}", path,
        first_line(log).empty() ? fmt::format("exit status {}", status) : first_line(log),
        nsys_export_command(path))};
  }
  Result<std::vector<Trace>> traces = kNsysImporter.read(out);
  if (!traces) {
    return Error{fmt::format("{}: nsys export wrote a file that can not be read: {}", path,
                             traces.error().message)};
  }
  for (Trace& t : *traces) t.path = path;
  return traces;
}

int sniff_report(std::string_view head, const std::string&) {
  return head.substr(0, kReportMagic.size()) == kReportMagic ? 100 : 0;
}

// As a shell takes it.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+=:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

}  // namespace

const Importer kNsysReportImporter = {"nsys-report", sniff_report, read_report};

bool is_nsys_report_name(std::string_view path) {
  for (std::string_view ending : {".nsys-rep", ".qdrep"}) {
    if (path.size() > ending.size() && path.substr(path.size() - ending.size()) == ending)
      return true;
  }
  return false;
}

std::string nsys_export_command(const std::string& report) {
  const std::string name = fs::path(report).filename().string();
  std::string out = fs::path(report).stem().string() + ".sqlite";
  if (out == name) out = fs::path(report).stem().string() + "_export.sqlite";
  return fmt::format("nsys export --type=sqlite --include-json=true --output {} {}",
                     shell_word(out), shell_word(name));
}

}  // namespace ws
