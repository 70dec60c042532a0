#pragma once
// Which pass of training the host was in at a launch, as far as the open ranges say.
#include <string_view>
#include <vector>

#include "analysis/open_ranges.h"
#include "analysis/range_names.h"
#include "model/trace.h"

namespace ws {

class PassRanges {
 public:
  explicit PassRanges(const Trace& trace);
  // The innermost range that is either of the two is a recompute range, by its name.
  bool recompute_at(ThreadId thread, TimeNs t) const;
  // It is a forward op inside a backward node, whose name says nothing of recompute.
  bool repeated_at(ThreadId thread, TimeNs t) const;
  // A backward op is open on the thread, or a backward phase of the user on any thread.
  bool backward_at(ThreadId thread, TimeNs t) const;
  // A backward op is open on the thread: where ops have ranges, checkpoints have them too.
  bool backward_op_at(ThreadId thread, TimeNs t) const;
  // A range of the user on the thread speaks of gradients ("all_reduce grad [w1]").
  bool gradients_at(ThreadId thread, TimeNs t) const;

 private:
  struct Tag {
    bool recompute = false;
    bool inferred = false;       // ... from a forward op, not from a name
    bool in_evaluate = false;    // an evaluate_function is open here or outside
    int64_t node_sequence = -1;  // of that evaluate_function
    std::string_view node_name;  // "evaluate_function: MulBackward0" -> "MulBackward0"
  };
  // A backward node: which ops ran in it, directly.
  struct Node {
    TimeNs begin_ns = 0;
    bool recorded = false;  // ops that the engine recorded for a backward of their own
    bool plain = false;     // ops of a backward pass that nobody differentiates again
  };
  struct PerThread {
    OpenRanges<Tag> open;
    Stretches recompute, repeated, backward, gradients;
    std::vector<Interval> repeated_spans;
    std::vector<Node> nodes;
    std::vector<Interval> gradient_spans;
  };
  struct NameInfo {
    PassRange pass = PassRange::none;
    bool backward_phase = false, gradients = false, computes = false, known = false;
  };
  static void record(PerThread& t, const Tag& tag, TimeNs begin, TimeNs end);
  static void keep_repeated(PerThread& t);
  const NameInfo& info(StringId id);
  void add(size_t range);
  bool tagged(size_t range, const NameInfo& name, PerThread& t, Tag& tag) const;
  bool note_op(size_t range, const NameInfo& name, const Tag& tag, PerThread& t) const;
  int64_t sequence(size_t range) const;

  const Trace& trace_;
  std::vector<PerThread> threads_;
  std::vector<NameInfo> names_;
  std::vector<Interval> phase_spans_;
  Stretches phases_;
};

}  // namespace ws
