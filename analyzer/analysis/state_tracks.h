#pragma once
// Host states over time, one track per thread (or per process), as disjoint segments.
//
// Events of a track come in order of begin, may nest, overlap and cross. A segment has the most
// urgent state among the events that cover it, so a question about [lo, hi) never meets a long
// event twice, however many gaps it spans. All tracks lie in one array: 16 bytes per segment.
// Tested by: host_states_test.cpp, partition_property_test.cpp
#include <array>
#include <optional>
#include <vector>

#include "analysis/host_state.h"
#include "base/time.h"

namespace ws {

struct StateSegment {
  Interval span;
  HostState state{};
};

class StateTracks {
 public:
  void reserve(size_t tracks, size_t segments);

  // Building: add() in order of begin, then end_track(); the first track is 0.
  void add(TimeNs begin_ns, TimeNs end_ns, HostState state);
  void end_track();

  // A run of segments; row() is where the next one stands, a good hint for a later question.
  class Cursor {
   public:
    Cursor() = default;
    Cursor(const StateTracks* tracks, size_t row, size_t last)
        : tracks_(tracks), row_(row), last_(last) {}
    bool at_end() const { return row_ == last_; }
    StateSegment get() const { return tracks_->unpack(row_); }
    void step() { ++row_; }
    size_t row() const { return row_; }

   private:
    const StateTracks* tracks_ = nullptr;
    size_t row_ = 0, last_ = 0;
  };
  // Segments of the track from the first that ends after t on; hint: any row, nearer is faster.
  Cursor from(size_t track, TimeNs t, size_t hint = 0) const;

  // Earliest begin among the events of a state with begin < t and end > after.
  std::optional<TimeNs> earliest(size_t track, HostState state, TimeNs t, TimeNs after) const;

 private:
  struct Packed {  // length in the upper 56 bits, state in the lower 8
    TimeNs begin_ns;
    uint64_t length_and_state;
  };
  struct Open {
    TimeNs end_ns;
    HostState state;
  };
  struct Event {
    TimeNs begin_ns, end_ns;
    HostState state;
  };
  struct Group {  // events of one credited state of one track, by begin
    HostState state;
    size_t first, last;
  };
  StateSegment unpack(size_t row) const;
  TimeNs end_of(size_t row) const;
  void advance(TimeNs t);
  void emit(TimeNs begin_ns, TimeNs end_ns);

  std::vector<Packed> segments_;
  std::vector<size_t> first_segment_{0};  // per track, and the end
  std::vector<Group> groups_;
  std::vector<size_t> first_group_{0};
  std::vector<TimeNs> event_begin_ns_, event_max_end_ns_;  // running maximum inside the group
  // state of the track being built
  std::vector<Open> open_;  // heap, earliest end first
  std::array<uint32_t, kHostStateCount> open_count_{};
  TimeNs now_ns_ = 0;
  std::vector<Event> credited_;
};

}  // namespace ws
