#pragma once
// What is kept of ranks, as a file: `analyze --partial` writes it where the traces are, `merge`
// reads many and goes on where analyze goes on after its files were read. schemas/partial.proto is
// the format. A partial is untrusted input: whatever read_partial returns has rows that exist,
// times in order and sums that fit, so that nothing behind it needs to check again.
#include <string>
#include <string_view>
#include <vector>

#include "analysis/rank_analysis.h"
#include "base/result.h"

namespace ws {

// How the ranks were analyzed; ranks of one run agree in it.
struct PartialOptions {
  StepWindow step_window = StepWindow::device;
  std::string step_range, steps, time;  // values of the options, "": not given
  bool what_if = true;                  // records for re-simulation were kept
  friend bool operator==(const PartialOptions&, const PartialOptions&) = default;
};

struct Partial {
  PartialOptions options;
  Notes notes;                      // of the inputs as a whole
  std::vector<RankAnalysis> ranks;  // as analyze_rank gives them
};

// The bytes of the file, and back. Errors begin with `place`, the path of the file.
Result<std::string> encode_partial(Partial partial, const std::string& place);
Result<Partial> decode_partial(std::string_view bytes, const std::string& place);

Result<Partial> read_partial(const std::string& path);
// Appears as a whole or not at all.
Result<void> write_partial(Partial partial, const std::string& path);
// By content; for a file that can not be read false.
bool is_partial(const std::string& path);
// True for a path that is free, an empty file or a partial.
bool may_replace_partial(const std::string& path);

}  // namespace ws
