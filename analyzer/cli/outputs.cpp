// Tested by: cli_test (outputs_test.cpp), tests/cli.
#include "cli/outputs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "base/file_error.h"
#include "cli/common.h"

namespace ws::cli {
namespace {

namespace fs = std::filesystem;

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ec;
  return fs::equivalent(a, b, ec) && !ec;
}

bool same_target(const std::string& a, const std::string& b) {
  return same_file(a, b) || fs::path(a).lexically_normal() == fs::path(b).lexically_normal();
}

// A file that exists and is not a regular one is no place for a temporary beside it.
bool is_special(const std::string& path) {
  struct stat st {};
  return stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode);
}

struct Pending {
  std::string path, part;  // part: the temporary, "" when written in place
};

Result<void> write_text(const std::string& path, const std::string& text,
                        const std::string& shown) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (out.good()) return {};
  return can_not_write(shown, errno);
}

void drop(const std::vector<Pending>& files) {
  for (const Pending& f : files) {
    if (!f.part.empty()) std::remove(f.part.c_str());
  }
}

}  // namespace

Result<std::vector<Output>> parse_outputs(const std::vector<std::string>& specs) {
  std::vector<Output> out;
  int to_stdout = 0;
  for (const std::string& spec : specs) {
    const size_t equals = spec.find('=');
    auto format = find_format(spec.substr(0, equals));
    if (!format) return format.error();
    const std::string path = equals == std::string::npos ? "" : spec.substr(equals + 1);
    if (equals != std::string::npos && path.empty()) {
      return Error{
          fmt::format("--report {}: expected a path after `=`, found none; name a file", spec)};
    }
    if (path.empty() && ++to_stdout > 1) {
      return Error{
          "--report: expected at most one report on stdout, found several; give the others a path, "
          "for example json=run.json"};
    }
    out.push_back({*format, path});
  }
  if (out.empty()) out.push_back({*find_format("text"), ""});
  return out;
}

Result<void> check_targets(const std::vector<Output>& outputs, const std::string& database,
                           const Reads& reads, const FileKind& kind) {
  std::vector<std::string> targets;
  if (!database.empty()) {
    std::error_code ec;
    if (!fs::is_directory(database, ec) && is_special(database))
      return Error{
          fmt::format("{}: -o expects a file, found something else; name a new file", database)};
    targets.push_back(database);
  }
  for (const Output& o : outputs) {
    if (!o.path.empty()) targets.push_back(o.path);
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    std::error_code ec;
    if (fs::is_directory(targets[i], ec)) {
      return Error{fmt::format("{}: expected a file to write, found a folder; name a file in it",
                               targets[i])};
    }
    if (const std::string read = read_as(targets[i], reads); !read.empty())
      return Error{
          fmt::format("{}: expected an output, found {}; name another file", targets[i], read)};
    for (size_t k = 0; k < i; ++k) {
      if (!is_special(targets[i]) && same_target(targets[i], targets[k])) {
        return Error{fmt::format("{}: expected one output per file, found two; name another file",
                                 targets[i])};
      }
    }
  }
  if (!database.empty() && !kind.may_replace(database)) {
    return Error{fmt::format(
        "{}: -o expects a new file or an older {}, found another file; name another one", database,
        kind.name)};
  }
  return {};
}

Result<void> write_outputs(const Report& report, const std::vector<Output>& outputs,
                           bool all_rows) {
  std::vector<RenderedOutput> rendered;
  for (const Output& o : outputs) {
    std::ostringstream text;
    o.format.render(report, {o.path.empty() && wants_color(STDOUT_FILENO), all_rows}, text);
    rendered.push_back({o.path, text.str()});
  }
  return write_rendered(rendered);
}

Result<void> write_rendered(const std::vector<RenderedOutput>& outputs) {
  std::vector<Pending> files;
  std::string for_stdout;
  for (const RenderedOutput& o : outputs) {
    if (o.path.empty()) {
      for_stdout = o.text;
      continue;
    }
    std::error_code ec;
    const fs::path real = fs::weakly_canonical(o.path, ec);  // a link keeps pointing to its file
    const std::string path = ec ? o.path : real.string();
    files.push_back({path, is_special(path) ? "" : fmt::format("{}.{}.tmp", path, getpid())});
    auto ok = write_text(files.back().part.empty() ? path : files.back().part, o.text, o.path);
    if (!ok) {
      drop(files);
      return ok;
    }
  }
  for (const Pending& f : files) {
    if (!f.part.empty() && std::rename(f.part.c_str(), f.path.c_str()) != 0) {
      const Error error = can_not_write(f.path, errno);
      drop(files);
      return error;
    }
  }
  std::cout << for_stdout;
  return {};
}

}  // namespace ws::cli
