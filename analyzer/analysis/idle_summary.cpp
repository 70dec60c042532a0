// Tested by: summaries_test.cpp
#include "analysis/idle_summary.h"

#include <algorithm>

#include "analysis/counted_steps.h"
#include "base/text.h"

namespace ws {
namespace {

std::string op_name(const Trace& trace, uint32_t op) {
  if (op == kNoRow) return {};
  const std::string_view raw = trace.strings[trace.ops.name[op]];
  return raw.empty() ? std::string(name_of(trace.ops.kind[op]))
                     : shorten(one_line(to_utf8(raw)), 200);
}

}  // namespace

std::vector<IdleRow> summarize_idle(const Trace& trace, const Timeline& timeline,
                                    std::span<const Interval> windows) {
  constexpr auto kFirst = static_cast<size_t>(Leaf::idle_launch);
  std::vector<IdleRow> rows(kLeafCount - kFirst);
  std::vector<const IdlePart*> largest(rows.size(), nullptr);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].leaf = leaf_at(kFirst + i);
  for (const IdlePart& part : timeline.idle) {
    const size_t at = static_cast<size_t>(part.leaf) - kFirst;
    for_each_clip(windows, part.span, [&](size_t, Interval clip) {
      rows[at].ns += clip.length();
      ++rows[at].count;
      if (clip.length() <= rows[at].largest.length()) return;
      rows[at].largest = clip;
      largest[at] = &part;
    });
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (largest[i] == nullptr) continue;
    rows[i].before = op_name(trace, largest[i]->before);
    rows[i].after = op_name(trace, largest[i]->after);
  }
  return rows;
}

std::vector<TimeNs> longest_host_gaps(const Timeline& timeline, std::span<const Interval> windows) {
  std::vector<TimeNs> out(windows.size(), 0);
  for (const IdlePart& part : timeline.idle) {
    if (part.leaf == Leaf::idle_host)
      for_each_clip(windows, part.span,
                    [&](size_t w, Interval clip) { out[w] = std::max(out[w], clip.length()); });
  }
  return out;
}

}  // namespace ws
