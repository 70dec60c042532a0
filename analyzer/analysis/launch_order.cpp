// Tested by: group_kinds_test.cpp
#include "analysis/launch_order.h"

#include <algorithm>

namespace ws {
namespace {

// Device order is launch order but for streams that overtake each other: mostly sorted already.
template <class T>
void sort_by_order(std::vector<T>& v) {
  const auto earlier = [](const T& a, const T& b) { return a.order_ns < b.order_ns; };
  if (!std::is_sorted(v.begin(), v.end(), earlier)) std::stable_sort(v.begin(), v.end(), earlier);
}

}  // namespace

TimeNs LaunchOrder::order_of(const Trace& trace, uint32_t op) {
  const uint32_t call = trace.ops.launch[op];
  return call == kNoRow ? trace.ops.begin_ns[op] : trace.calls.begin_ns[call];
}

LaunchOrder::LaunchOrder(const Trace& trace, const std::vector<PassHint>& passes,
                         const OpLabels& labels, DeviceId device) {
  ops_.reserve(trace.ops_by_device[row(device)].size());
  for (uint32_t i : trace.ops_by_device[row(device)]) {
    if (!is_compute(labels.cls[i])) continue;
    const TimeNs order = order_of(trace, i);
    ops_.push_back({order, labels.cls[i], labels.flags[i]});
    const PassHint pass =
        trace.ops.kind[i] == OpKind::kernel ? passes[row(trace.ops.name[i])] : PassHint::none;
    if (pass != PassHint::none) hints_.push_back({order, pass});
    backward_hints_ += pass == PassHint::backward ? 1 : 0;
    layers_ += pass == PassHint::forward && labels.cls[i] == OpClass::attention ? 1 : 0;
  }
  sort_by_order(ops_);
  sort_by_order(hints_);
  // Bursts: optimizer kernels with fewer than kApart other compute ops between them.
  constexpr size_t kApart = 16;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if ((ops_[i].flags & kFlagOptimizer) == 0) continue;
    if (burst_end_.empty() || i - burst_end_.back() > kApart) {
      burst_begin_.push_back(i);
      burst_end_.push_back(i);
    } else {
      burst_end_.back() = i;
    }
  }
}

size_t LaunchOrder::index_at(TimeNs at) const {
  const auto it = std::lower_bound(ops_.begin(), ops_.end(), at,
                                   [](const Op& o, TimeNs t) { return o.order_ns < t; });
  return static_cast<size_t>(it - ops_.begin());
}

template <class Test>
bool LaunchOrder::beside(TimeNs at, size_t width, const Test& test) const {
  const size_t i = index_at(at);
  const size_t end = std::min(ops_.size(), i + width);
  for (size_t k = i > width ? i - width : 0; k < end; ++k) {
    if (test(ops_[k])) return true;
  }
  return false;
}

bool LaunchOrder::beside_class(TimeNs at, OpClass cls, size_t width) const {
  return beside(at, width, [cls](const Op& o) { return o.cls == cls; });
}

bool LaunchOrder::before_class(TimeNs at, OpClass cls, size_t width) const {
  const size_t i = index_at(at);
  for (size_t k = i; k < std::min(ops_.size(), i + width); ++k) {
    if (ops_[k].cls == cls) return true;
  }
  return false;
}

bool LaunchOrder::beside_flags(TimeNs at, uint8_t flags, size_t width) const {
  return beside(at, width, [flags](const Op& o) { return (o.flags & flags) != 0; });
}

LaunchOrder::Phase LaunchOrder::phase_at(TimeNs at) const {
  if (hints_.empty()) return Phase::unknown;
  const auto next = std::lower_bound(hints_.begin(), hints_.end(), at,
                                     [](const Hint& h, TimeNs t) { return h.order_ns < t; });
  const PassHint before = next == hints_.begin() ? PassHint::none : std::prev(next)->pass;
  const PassHint after = next == hints_.end() ? PassHint::none : next->pass;
  if (before == PassHint::forward && after == PassHint::forward) return Phase::forward;
  if (before == PassHint::forward && after == PassHint::none)
    return backward_hints_ == 0 ? Phase::forward : Phase::edge;
  if (after == PassHint::backward || (before == PassHint::backward && after == PassHint::none))
    return Phase::backward;
  return Phase::edge;
}

double LaunchOrder::position_between_optimizers(TimeNs at) const {
  const size_t i = index_at(at);
  const auto next = std::upper_bound(burst_begin_.begin(), burst_begin_.end(), i);
  if (next == burst_begin_.begin() || next == burst_begin_.end()) return -1;
  const size_t begin = burst_end_[static_cast<size_t>(next - burst_begin_.begin()) - 1];
  if (i <= begin || *next <= begin) return -1;
  return static_cast<double>(i - begin) / static_cast<double>(*next - begin);
}

}  // namespace ws
