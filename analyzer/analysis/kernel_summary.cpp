// Statistics per kernel name in two passes: the first counts, the second puts the rows of each name
// side by side (counting sort), so that quantiles are exact without a sort of all records.
// Tested by: summaries_test.cpp
#include "analysis/kernel_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "analysis/counted_steps.h"
#include "base/text.h"

namespace ws {
namespace {

constexpr size_t kNameColumns = 400;

struct Slot {
  StringId name{};
  OpClass cls{};
  OpKind kind{};
  uint32_t next = kNoRow;  // other class of the same name
  int64_t count = 0;
  TimeNs total_ns = 0;
  uint8_t any_flags = 0;
};

class Slots {
 public:
  explicit Slots(size_t names) : first_(names, kNoRow) {}
  std::vector<Slot> all;

  uint32_t of(StringId name, OpClass cls, OpKind kind) {
    uint32_t* link = &first_[row(name)];
    while (*link != kNoRow) {
      if (all[*link].cls == cls) return *link;
      link = &all[*link].next;
    }
    const auto fresh = static_cast<uint32_t>(all.size());
    *link = fresh;
    all.push_back({name, cls, kind, kNoRow, 0, 0, 0});
    return fresh;
  }

 private:
  std::vector<uint32_t> first_;
};

std::string shown_name(const Trace& trace, const Slot& slot) {
  const std::string_view raw = trace.strings[slot.name];
  if (raw.empty()) return fmt::format("[{}]", name_of(slot.kind));
  return shorten(one_line(to_utf8(raw)), kNameColumns);
}

bool larger(const KernelRow& a, const KernelRow& b) {
  if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
  return a.name != b.name ? a.name < b.name : a.cls < b.cls;
}

// Which row of the result each slot goes to.
std::vector<uint32_t> choose_rows(const Trace& trace, const std::vector<Slot>& slots,
                                  std::vector<KernelRow>& rows) {
  std::vector<uint32_t> order(slots.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return slots[a].total_ns != slots[b].total_ns ? slots[a].total_ns > slots[b].total_ns : a < b;
  });
  std::vector<uint32_t> row_of(slots.size());
  std::array<uint32_t, 8> folded{};
  folded.fill(kNoRow);
  std::array<int64_t, 8> folded_names{};
  for (size_t i = 0; i < order.size(); ++i) {
    const Slot& slot = slots[order[i]];
    const auto cls = static_cast<size_t>(slot.cls);
    const bool fold = i >= kKernelRows;
    if (!fold || folded[cls] == kNoRow) {
      if (fold) folded[cls] = static_cast<uint32_t>(rows.size());
      rows.push_back({fold ? "" : shown_name(trace, slot), std::string(name_of(slot.cls))});
    }
    row_of[order[i]] = fold ? folded[cls] : static_cast<uint32_t>(i);
    if (fold) ++folded_names[cls];
  }
  for (size_t cls = 0; cls < folded.size(); ++cls)
    if (folded[cls] != kNoRow)
      rows[folded[cls]].name = fmt::format("({} other names)", folded_names[cls]);
  return row_of;
}

void add_slot(KernelRow& out, const Slot& slot) {
  out.count += slot.count;
  out.total_ns += slot.total_ns;
  out.unclassified |= (slot.any_flags & kFlagUnclassified) != 0;
  out.grouped |= (slot.any_flags & kFlagGrouped) != 0;
  out.optimizer |= (slot.any_flags & kFlagOptimizer) != 0;
  out.recompute |= (slot.any_flags & kFlagRecompute) != 0;
}

}  // namespace

std::vector<KernelRow> summarize_kernels(const Trace& trace, const OpLabels& labels,
                                         DeviceId device, std::span<const Interval> windows) {
  Slots slots(trace.strings.size());
  const auto for_each_counted = [&](auto f) {
    WindowWalk walk(windows);
    for_each_op(trace, device, [&](uint32_t op) {
      if (walk.at(trace.ops.begin_ns[op]) != kNoWindow)
        f(op, slots.of(trace.ops.name[op], labels.cls[op], trace.ops.kind[op]));
    });
  };
  for_each_counted([&](uint32_t op, uint32_t at) {
    Slot& slot = slots.all[at];
    ++slot.count;
    slot.total_ns += trace.ops.end_ns[op] - trace.ops.begin_ns[op];
    slot.any_flags |= labels.flags[op];
  });

  std::vector<KernelRow> rows;
  const std::vector<uint32_t> row_of = choose_rows(trace, slots.all, rows);
  for (size_t s = 0; s < slots.all.size(); ++s) add_slot(rows[row_of[s]], slots.all[s]);

  std::vector<size_t> next(rows.size() + 1, 0);
  for (size_t r = 0; r < rows.size(); ++r)
    next[r + 1] = next[r] + static_cast<size_t>(rows[r].count);
  std::vector<uint32_t> by_row(next.back());
  std::vector<size_t> fill(next.begin(), next.end() - 1);
  for_each_counted([&](uint32_t op, uint32_t at) { by_row[fill[row_of[at]]++] = op; });
  std::vector<TimeNs> durations;
  for (size_t r = 0; r < rows.size(); ++r) {
    durations.clear();
    for (size_t i = next[r]; i < next[r + 1]; ++i)
      durations.push_back(trace.ops.end_ns[by_row[i]] - trace.ops.begin_ns[by_row[i]]);
    rows[r].p50_ns = quantile(durations, 1, 2);
    rows[r].p99_ns = quantile(durations, 99, 100);
  }
  std::sort(rows.begin(), rows.end(), larger);
  return rows;
}

void note_unclassified(const std::vector<KernelRow>& kernels, TimeNs span_ns, Notes& notes) {
  int64_t names = 0;
  std::string detail;
  for (const KernelRow& kernel : kernels) {
    if (!kernel.unclassified || kernel.total_ns * 100 <= span_ns) continue;
    if (++names <= 5) {
      detail +=
          fmt::format("{}{} ({:.1f} %)", names > 1 ? ", " : "", shorten(kernel.name, 60),
                      100.0 * static_cast<double>(kernel.total_ns) / static_cast<double>(span_ns));
    }
  }
  if (names > 5) detail += fmt::format(" and {} more", names - 5);
  if (names > 0) notes.add(NoteCode::unclassified_kernels, {}, names, detail);
}

}  // namespace ws
