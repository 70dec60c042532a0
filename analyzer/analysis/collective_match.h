#pragma once
// Which records of different ranks are one collective (ALGORITHMS 5.1).
#include <optional>
#include <vector>

#include "analysis/comm_record.h"

namespace ws {

// Per row of CommSet::ranks: subtract to reach the reference clock; nullopt: can not be told.
using Offsets = std::vector<std::optional<TimeNs>>;

struct Member {
  uint32_t rank = 0;    // row of CommSet::ranks
  uint32_t record = 0;  // row of its records
};
struct Instance {
  uint32_t communicator = 0;
  // Members that should be there as far as the recordings tell by themselves; 0: not told.
  uint32_t expected = 0;
  std::vector<Member> members;  // by rank row
};

// Ends of one instance agree this well where the members had to be guessed (D).
inline constexpr TimeNs kEndToleranceNs = 20'000;
// A ring lets its members go one after the other: ends of large groups spread further (D).
inline constexpr TimeNs kWidestSpreadNs = 100'000;

// By sequence number, else zipped by position in order of enqueue. Needs no clock.
std::vector<Instance> match_by_position(const CommSet& set);

// By sequence number, else merged by presence: members of an instance are inside it together. One
// lost record costs one instance, not all that follow. Sends pair with the n-th receive of their
// pair.
std::vector<Instance> match_by_presence(const CommSet& set, const Offsets& offsets);

// Same operation on every rank (sends and receives count as one).
bool is_consistent(const CommSet& set, const Instance& instance);

}  // namespace ws
