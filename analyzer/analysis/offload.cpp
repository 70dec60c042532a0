// Tested by: offload_test.cpp
#include "analysis/offload.h"

#include <algorithm>
#include <map>

#include "analysis/open_ranges.h"
#include "analysis/range_names.h"

namespace ws {
namespace {

constexpr int64_t kLargeBytes = int64_t{1} << 20;

std::vector<Stretches> offload_ranges(const Trace& trace) {
  std::vector<std::vector<Interval>> spans(trace.threads.size());
  std::vector<uint8_t> says(trace.strings.size(), 2);  // 2: not asked yet
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (r.thread[i] == kNoThread || r.source[i] == RangeSource::gpu_annotation ||
        r.source[i] == RangeSource::os_runtime || r.source[i] == RangeSource::overhead)
      continue;
    uint8_t& said = says[row(r.name[i])];
    if (said == 2) said = is_offload_name(trace.strings[r.name[i]]) ? 1 : 0;
    if (said == 1) spans[row(r.thread[i])].push_back({r.begin_ns[i], r.end_ns[i]});
  }
  std::vector<Stretches> out;
  out.reserve(spans.size());
  for (auto& s : spans) out.push_back(Stretches::union_of(std::move(s)));
  return out;
}

struct Count {
  int64_t h2d = 0, d2h = 0;
  bool paired() const {
    const int64_t most = std::max(h2d, d2h);
    return h2d > 0 && d2h > 0 && 10 * std::abs(h2d - d2h) <= most + 10;
  }
};

}  // namespace

void flag_offload(const Trace& trace, OpLabels& labels) {
  const std::vector<Stretches> ranges = offload_ranges(trace);
  const GpuOps& ops = trace.ops;
  const auto large_pinned = [&](size_t i) -> const Copy* {
    if (!is_copy(labels.cls[i]) || ops.copy[i] == kNoRow) return nullptr;
    const Copy& copy = trace.copies[ops.copy[i]];
    return copy.bytes >= kLargeBytes && !copy.pageable ? &copy : nullptr;
  };
  std::map<int64_t, Count> sizes;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (const Copy* copy = large_pinned(i)) {
      Count& c = sizes[copy->bytes];
      ++(labels.cls[i] == OpClass::h2d ? c.h2d : c.d2h);
    }
  }
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!is_copy(labels.cls[i])) continue;
    const uint32_t call = ops.launch[i];
    const bool said = call != kNoRow &&
                      ranges[row(trace.calls.thread[call])].contains(trace.calls.begin_ns[call]);
    const Copy* copy = large_pinned(i);
    if (said || (copy != nullptr && sizes[copy->bytes].paired())) labels.flags[i] |= kFlagOffload;
  }
}

}  // namespace ws
