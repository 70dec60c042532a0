#pragma once
// The compute ops of a device in the order in which the host launched them, and what stands beside
// a given moment: pattern votes ask what a collective is launched next to.
#include "analysis/kernel_classes.h"
#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

class LaunchOrder {
 public:
  LaunchOrder(const Trace& trace, const std::vector<PassHint>& passes, const OpLabels& labels,
              DeviceId device);

  // Begin of the launch call, else of the op itself.
  static TimeNs order_of(const Trace& trace, uint32_t op);

  // An op of the class, or with one of the flags, among the next or previous `width` launches.
  bool beside_class(TimeNs at, OpClass cls, size_t width) const;
  bool before_class(TimeNs at, OpClass cls, size_t width) const;  // the next launches only
  bool beside_flags(TimeNs at, uint8_t flags, size_t width) const;

  enum class Phase : uint8_t { unknown, forward, backward, edge };
  // By the nearest kernels around that only one pass launches; edge: between two steps.
  Phase phase_at(TimeNs at) const;
  // Where `at` lies between two bursts of optimizer kernels, in launches, 0..1; -1: not between
  // two.
  double position_between_optimizers(TimeNs at) const;
  // Attention kernels of the forward pass: as many as layers ran.
  size_t layers() const { return layers_; }

 private:
  struct Op {
    TimeNs order_ns = 0;
    OpClass cls{};
    uint8_t flags = 0;
  };
  struct Hint {
    TimeNs order_ns = 0;
    PassHint pass{};
  };
  template <class Test>
  bool beside(TimeNs at, size_t width, const Test& test) const;
  size_t index_at(TimeNs at) const;
  std::vector<Op> ops_;
  std::vector<Hint> hints_;
  size_t backward_hints_ = 0, layers_ = 0;
  std::vector<size_t> burst_end_, burst_begin_;  // indices into ops_: optimizer bursts
};

}  // namespace ws
