// Tested by: offload_test.cpp
#include "analysis/offload.h"

#include <algorithm>
#include <deque>
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

// The copies of one size on one device. What is offloaded goes down first and comes back after:
// weights that are loaded at the start and saved at the end take the same two ways, the other way
// round. A capture may begin between the two.
struct RoundTrips {
  int64_t h2d = 0, d2h = 0;
  int64_t back = 0;         // copies up that began after an own copy down had ended
  std::deque<TimeNs> down;  // ends of copies down that have not come back

  void add(OpClass cls, TimeNs begin_ns, TimeNs end_ns) {
    if (cls == OpClass::d2h) {
      ++d2h;
      down.push_back(end_ns);
      return;
    }
    ++h2d;
    if (down.empty() || down.front() > begin_ns) return;
    ++back;
    down.pop_front();
  }
  bool differ_little(int64_t a, int64_t b) const {
    return 10 * std::abs(a - b) <= std::max(a, b) + 10;
  }
  bool paired() const {
    return h2d > 0 && d2h > 0 && differ_little(h2d, d2h) && differ_little(h2d, back);
  }
};

// A device that runs no kernel has no state to offload: such copies are the program's purpose.
std::vector<bool> computing_devices(const Trace& trace, const OpLabels& labels) {
  std::vector<bool> out(trace.devices.size(), false);
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    const OpKind kind = trace.ops.kind[i];
    if ((kind == OpKind::kernel || kind == OpKind::graph) && is_compute(labels.cls[i]))
      out[row(trace.device_of(i))] = true;
  }
  return out;
}

}  // namespace

void flag_offload(const Trace& trace, OpLabels& labels) {
  const std::vector<Stretches> ranges = offload_ranges(trace);
  const GpuOps& ops = trace.ops;
  const auto large_pinned = [&](size_t i) -> const Copy* {
    if (!is_copy(labels.cls[i]) || ops.copy[i] == kNoRow) return nullptr;
    const Copy& copy = trace.copies[ops.copy[i]];
    return copy.bytes >= kLargeBytes && !copy.pageable ? &copy : nullptr;
  };
  const std::vector<bool> computes = computing_devices(trace, labels);
  std::map<std::pair<DeviceId, int64_t>, RoundTrips> sizes;
  for (size_t i = 0; i < ops.size(); ++i) {  // in order of their begin
    if (const Copy* copy = large_pinned(i))
      sizes[{trace.device_of(i), copy->bytes}].add(labels.cls[i], ops.begin_ns[i], ops.end_ns[i]);
  }
  const auto comes_back = [&](size_t i) {
    const Copy* copy = large_pinned(i);
    const DeviceId device = trace.device_of(i);
    return copy != nullptr && computes[row(device)] && sizes[{device, copy->bytes}].paired();
  };
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!is_copy(labels.cls[i])) continue;
    const uint32_t call = ops.launch[i];
    const bool said = call != kNoRow &&
                      ranges[row(trace.calls.thread[call])].contains(trace.calls.begin_ns[call]);
    if (said || comes_back(i)) labels.flags[i] |= kFlagOffload;
  }
}

}  // namespace ws
