// Tested by: summaries_test.cpp
#include "analysis/memory_summary.h"

#include <algorithm>

#include "analysis/counted_steps.h"

namespace ws {
namespace {

void add_copy(MemoryRow& out, const Trace& trace, const OpLabels& labels, uint32_t op) {
  const TimeNs length = trace.ops.end_ns[op] - trace.ops.begin_ns[op];
  const uint32_t copy = trace.ops.copy[op];
  const int64_t bytes = copy == kNoRow ? 0 : trace.copies[copy].bytes;
  const OpKind kind = trace.ops.kind[op];
  if (kind != OpKind::h2d && kind != OpKind::d2h) return;
  (kind == OpKind::h2d ? out.h2d_bytes : out.d2h_bytes) += bytes;
  (kind == OpKind::h2d ? out.h2d_ns : out.d2h_ns) += length;
  if ((labels.flags[op] & kFlagOffload) != 0) out.offload_bytes += bytes;
  if (copy != kNoRow && trace.copies[copy].pageable) {
    out.pageable_bytes += bytes;
    out.pageable_ns += length;
  }
}

}  // namespace

MemoryRow summarize_memory(const Trace& trace, const OpLabels& labels, DeviceId device,
                           std::span<const Interval> windows,
                           std::span<const TimeNs> offload_idle_ns) {
  MemoryRow out;
  out.capacity_bytes = trace.devices[row(device)].memory_bytes;
  for (const MemoryEvent& event : trace.memory) {
    if (event.device != device) continue;
    out.peak_allocated_bytes = std::max(out.peak_allocated_bytes, event.allocated_bytes);
    out.peak_reserved_bytes = std::max(out.peak_reserved_bytes, event.reserved_bytes);
  }
  if (windows.empty()) return out;
  WindowWalk walk(windows);
  for_each_op(trace, device, [&](uint32_t op) {
    if (walk.at(trace.ops.begin_ns[op]) == kNoWindow) return;
    if ((labels.flags[op] & kFlagRecompute) != 0)
      out.recompute_ns += trace.ops.end_ns[op] - trace.ops.begin_ns[op];
    add_copy(out, trace, labels, op);
  });
  for (TimeNs ns : offload_idle_ns) out.offload_idle_ns += ns;
  const auto steps = static_cast<int64_t>(windows.size());
  for (int64_t* sum :
       {&out.recompute_ns, &out.offload_idle_ns, &out.offload_bytes, &out.h2d_bytes, &out.d2h_bytes,
        &out.pageable_bytes, &out.h2d_ns, &out.d2h_ns, &out.pageable_ns})
    *sum = rounded(*sum, steps);
  return out;
}

}  // namespace ws
