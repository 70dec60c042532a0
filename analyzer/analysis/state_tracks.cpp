#include "analysis/state_tracks.h"

#include <algorithm>

#include "base/check.h"

namespace ws {
namespace {
constexpr TimeNs kMaxLength = (TimeNs{1} << 56) - 1;
}

void StateTracks::reserve(size_t tracks, size_t segments) {
  first_segment_.reserve(tracks + 1);
  first_group_.reserve(tracks + 1);
  segments_.reserve(segments);  // pages that are never written cost nothing
}

StateSegment StateTracks::unpack(size_t row) const {
  const Packed& p = segments_[row];
  return {{p.begin_ns, end_of(row)}, static_cast<HostState>(p.length_and_state & 0xff)};
}

TimeNs StateTracks::end_of(size_t row) const {
  const Packed& p = segments_[row];
  return p.begin_ns + static_cast<TimeNs>(p.length_and_state >> 8);
}

// Extends the last segment where it touches and means the same.
void StateTracks::emit(TimeNs begin_ns, TimeNs end_ns) {
  HostState state{};
  while (open_count_[static_cast<size_t>(state)] == 0)
    state = static_cast<HostState>(static_cast<size_t>(state) + 1);
  if (segments_.size() > first_segment_.back()) {
    const StateSegment last = unpack(segments_.size() - 1);
    if (last.state == state && last.span.end_ns == begin_ns &&
        end_ns - last.span.begin_ns <= kMaxLength) {
      begin_ns = last.span.begin_ns;
      segments_.pop_back();
    }
  }
  while (begin_ns < end_ns) {
    const TimeNs length = std::min(end_ns - begin_ns, kMaxLength);
    segments_.push_back(
        {begin_ns, (static_cast<uint64_t>(length) << 8) | static_cast<uint64_t>(state)});
    begin_ns += length;
  }
}

void StateTracks::advance(TimeNs t) {
  const auto later = [](const Open& a, const Open& b) { return a.end_ns > b.end_ns; };
  while (!open_.empty()) {
    const Open next = open_.front();
    const TimeNs until = std::min(next.end_ns, t);
    if (until > now_ns_) emit(now_ns_, until);
    now_ns_ = until;
    if (next.end_ns > t) break;
    std::pop_heap(open_.begin(), open_.end(), later);
    open_.pop_back();
    --open_count_[static_cast<size_t>(next.state)];
  }
  now_ns_ = t;
}

void StateTracks::add(TimeNs begin_ns, TimeNs end_ns, HostState state) {
  advance(begin_ns);
  if (is_credited(state)) credited_.push_back({begin_ns, end_ns, state});
  if (end_ns <= begin_ns) return;
  open_.push_back({end_ns, state});
  std::push_heap(open_.begin(), open_.end(),
                 [](const Open& a, const Open& b) { return a.end_ns > b.end_ns; });
  ++open_count_[static_cast<size_t>(state)];
}

void StateTracks::end_track() {
  advance(INT64_MAX);
  WS_CHECK(open_.empty());
  first_segment_.push_back(segments_.size());
  std::stable_sort(credited_.begin(), credited_.end(),
                   [](const Event& a, const Event& b) { return a.state < b.state; });
  for (size_t i = 0; i < credited_.size(); ++i) {
    const Event& e = credited_[i];
    const bool fresh = i == 0 || credited_[i - 1].state != e.state;
    const size_t at = event_begin_ns_.size();
    if (fresh) groups_.push_back({e.state, at, at});
    event_begin_ns_.push_back(e.begin_ns);
    event_max_end_ns_.push_back(fresh ? e.end_ns : std::max(event_max_end_ns_.back(), e.end_ns));
    groups_.back().last = at + 1;
  }
  first_group_.push_back(groups_.size());
  credited_.clear();
}

// Gallops from the hint, since questions mostly move forward by a little.
StateTracks::Cursor StateTracks::from(size_t track, TimeNs t, size_t hint) const {
  const size_t first = first_segment_[track], last = first_segment_[track + 1];
  size_t lo = first, hi = last;  // the answer lies in [lo, hi]
  if (hint > first && hint < last) {
    if (end_of(hint) > t) {
      hi = hint;
      for (size_t step = 1; hi - first >= step; step *= 2) {
        if (end_of(hi - step) <= t) {
          lo = hi - step + 1;
          break;
        }
        hi -= step;
      }
    } else {
      lo = hint + 1;
      for (size_t step = 1; last - lo > step; step *= 2) {
        if (end_of(lo + step) > t) {
          hi = lo + step;
          break;
        }
        lo += step + 1;
      }
    }
  }
  while (lo < hi) {
    const size_t mid = lo + (hi - lo) / 2;
    if (end_of(mid) <= t) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return {this, lo, last};
}

// The first event that raises the running maximum above `after` is itself the one that ends there.
std::optional<TimeNs> StateTracks::earliest(size_t track, HostState state, TimeNs t,
                                            TimeNs after) const {
  for (size_t g = first_group_[track]; g < first_group_[track + 1]; ++g) {
    if (groups_[g].state != state) continue;
    const auto begin = event_max_end_ns_.begin();
    const auto last = begin + static_cast<ptrdiff_t>(groups_[g].last);
    const auto it = std::upper_bound(begin + static_cast<ptrdiff_t>(groups_[g].first), last, after);
    if (it == last) return std::nullopt;
    const TimeNs event_begin_ns = event_begin_ns_[static_cast<size_t>(it - begin)];
    if (event_begin_ns < t) return event_begin_ns;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ws
