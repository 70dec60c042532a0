#pragma once
// Where results go: stdout or files. Files appear as a whole or not at all.
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/reads.h"
#include "facts/fact_db.h"
#include "report/render.h"

namespace ws::cli {

struct Output {
  ReportFormat format{};
  std::string path;  // "": stdout
};

// Values of --report, "FORMAT[=PATH]"; none given: text to stdout. At most one without a path.
Result<std::vector<Output>> parse_outputs(const std::vector<std::string>& specs);

// What -o writes.
struct FileKind {
  std::string_view name;
  bool (*may_replace)(const std::string& path);
};
inline constexpr FileKind kFactFile{"fact database", FactDb::may_replace};

// Refuses paths that the command reads, a folder, or named twice, and a result in the place of a
// file of another kind. `database`: the value of -o, "" none.
Result<void> check_targets(const std::vector<Output>& outputs, const std::string& database,
                           const Reads& reads, const FileKind& kind = kFactFile);

// Renders everything first, then writes; a path that exists and is no file (a pipe, /dev/null) is
// written in place.
struct RenderedOutput {
  std::string path, text;  // path "": stdout
};
Result<void> write_rendered(const std::vector<RenderedOutput>& outputs);
Result<void> write_outputs(const Report& report, const std::vector<Output>& outputs, bool all_rows);

}  // namespace ws::cli
