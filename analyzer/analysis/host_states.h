#pragma once
// What each host thread was doing, innermost cause first (ALGORITHMS 3.3), prepared once per rank
// so that every question costs O(log n). Names to states: host_state_names.cpp.
//
// Profiler and code-loading rows of a thread that makes no calls count for every thread of its
// process; they are kept once per process and merged into the answers.
// Tested by: host_states_test.cpp, partition_test.cpp (scenarios), partition_property_test.cpp
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/host_state.h"
#include "analysis/labels.h"
#include "analysis/state_tracks.h"
#include "model/trace.h"

namespace ws {

// Class of a CUDA/HIP runtime or driver call by its name.
HostState state_of_call(std::string_view name);
// Calls that put kernels or graphs on a stream: not copies, fills and host functions, which have
// the state `launch` as well.
bool launches_kernels(std::string_view call_name);
// Class of a host range by name and source; none for ranges that say nothing of the host's state.
HostState state_of_range(std::string_view name, RangeSource source);

// Which calls launched what was recorded. Of the whole trace: asked again for every device.
struct LaunchUse {
  std::vector<bool> used;           // by row of calls: launched a record
  std::vector<uint32_t> last_used;  // by thread: its last such call
  std::vector<bool> launching;      // by name: launches_kernels()
  // By thread: the device it launches most on, kNoDevice for threads that launch nothing.
  std::vector<uint32_t> device_of_thread;
};
inline constexpr uint32_t kNoDevice = kNoRow;

class HostStates {
 public:
  HostStates(const Trace& trace, const OpLabels& labels);

  const LaunchUse& launch_use() const { return launch_use_; }

  // By name, and sync for a copy call that returned only after its own copy had ended.
  HostState class_of_call(uint32_t call) const { return call_state_[call]; }

  using Segment = StateSegment;
  // Disjoint segments of a thread inside [lo, hi), clipped, in time order; time without any event
  // has no segment:  for (const HostStates::Segment s : host.states(thread, lo, hi)) ...
  class Segments {
   public:
    struct End {};
    class Iterator {
     public:
      explicit Iterator(Segments* of) : of_(of), on_(of->next(now_)) {}
      const Segment& operator*() const { return now_; }
      Iterator& operator++() {
        on_ = of_->next(now_);
        return *this;
      }
      bool operator!=(End) const { return on_; }

     private:
      Segments* of_;
      Segment now_;
      bool on_;
    };
    Segments(StateTracks::Cursor own, StateTracks::Cursor shared, Interval span)
        : own_(own), shared_(shared), span_(span) {}
    Iterator begin() { return Iterator(this); }
    End end() const { return {}; }
    size_t hint() const { return own_.row(); }

   private:
    bool next(Segment& out);
    StateTracks::Cursor own_, shared_;
    Interval span_;  // what is left
  };
  // hint: hint() of an earlier answer for the same thread makes the search short.
  Segments states(ThreadId thread, TimeNs lo, TimeNs hi, size_t hint = 0) const;
  // The same for code loading, allocation and profiler alone.
  Segments interruptions(ThreadId thread, TimeNs lo, TimeNs hi) const;
  bool busy_at(ThreadId thread, TimeNs t) const;
  // Begin of the first API call of the thread at or after t.
  std::optional<TimeNs> next_call(ThreadId thread, TimeNs t) const;
  // Earliest begin among events of the most urgent credited state with begin < t and
  // end >= t - slack.
  struct Straddle {
    HostState state{};
    TimeNs begin_ns = 0;
  };
  std::optional<Straddle> straddling(ThreadId thread, TimeNs t, TimeNs slack_ns) const;
  // First begin of any host event, INT64_MAX when there is none.
  TimeNs first_event_ns() const { return first_event_ns_; }

 private:
  struct StateRange {  // a host range with a state; track: thread, or process when shared
    size_t track;
    uint32_t range;
    HostState state;
  };
  void classify_calls(const OpLabels& labels);
  void group_calls();
  void build_threads(std::vector<StateRange> own);
  void build_processes(std::vector<StateRange> shared);
  bool makes_calls(size_t thread) const { return first_call_[thread] < first_call_[thread + 1]; }
  size_t process_of(ThreadId thread) const { return row(trace_->threads[row(thread)].process); }

  const Trace* trace_;
  LaunchUse launch_use_;
  std::vector<HostState> call_state_;
  std::vector<uint32_t> calls_by_thread_;  // rows of calls, thread by thread, in time order
  std::vector<size_t> first_call_;         // per thread, and the end
  StateTracks states_, interruptions_;     // per thread
  StateTracks shared_;                     // per process
  TimeNs first_event_ns_ = INT64_MAX;
};

}  // namespace ws
