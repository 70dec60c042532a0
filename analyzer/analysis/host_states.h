#pragma once
// What each host thread was doing, innermost cause first (ALGORITHMS 3.3), prepared once per rank
// so that every question costs O(log n).
#include <array>
#include <optional>
#include <vector>

#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

// In order of precedence: the first that is active names the state.
enum class HostState : uint8_t {
  alloc,
  sync,
  jit,
  gc,
  profiler,
  dataload,
  graph_build,
  launch,
  other,
  graph_launch,
  none
};

// Class of a CUDA/HIP runtime or driver call by its name (ABI suffixes are stripped already).
HostState state_of_call(std::string_view name);
// Class of a host range by name and source; none for ranges that say nothing of the host's state.
HostState state_of_range(std::string_view name, RangeSource source);

class HostStates {
 public:
  HostStates(const Trace& trace, const OpLabels& labels);

  HostState class_of_call(uint32_t call) const { return call_state_[call]; }

  struct Segment {
    Interval span;
    HostState state{};  // none never appears: uncovered time has no segment
  };
  // Disjoint segments of a thread that overlap [lo, hi), unclipped, in time order.
  struct Segments {
    const Segment* first;
    const Segment* last;
    const Segment* begin() const { return first; }
    const Segment* end() const { return last; }
  };
  Segments states(ThreadId thread, TimeNs lo, TimeNs hi) const;
  // The same for code loading, allocation and profiler alone.
  Segments interruptions(ThreadId thread, TimeNs lo, TimeNs hi) const;
  bool busy_at(ThreadId thread, TimeNs t) const;
  // Begin of the first API call of the thread at or after t.
  std::optional<TimeNs> next_call(ThreadId thread, TimeNs t) const;
  // Earliest begin among events of the most urgent blocking state with begin < t and end > t -
  // slack.
  struct Straddle {
    HostState state{};
    TimeNs begin_ns = 0;
  };
  std::optional<Straddle> straddling(ThreadId thread, TimeNs t, TimeNs slack_ns) const;
  // First begin of any host event, INT64_MAX when there is none.
  TimeNs first_event_ns() const { return first_event_ns_; }

 private:
  struct Blocking {  // events of one credited state of one thread, by begin
    std::vector<TimeNs> begin_ns, max_end_ns;  // running maximum
  };
  struct PerThread {
    std::vector<Segment> states, interruptions;
    std::vector<TimeNs> call_begin_ns;
    std::array<Blocking, 7> blocking;  // alloc .. graph_build
  };
  std::vector<HostState> call_state_;
  std::vector<PerThread> threads_;
  TimeNs first_event_ns_ = INT64_MAX;
};

}  // namespace ws
