#pragma once
// What must hold of a rank before anything works on it: rows that exist, times in order and near
// the recording, sums that fit into TimeNs however many ranks are added up. A writer asks as well,
// so that no partial is written that nobody can read.
// Tested by: partial_damage_test.cpp
#include <cmath>
#include <string_view>
#include <vector>

#include "analysis/rank_analysis.h"

namespace ws::partial {

inline constexpr TimeNs kLargest = TimeNs{1} << 53;       // sums, and lengths: 104 days
inline constexpr TimeNs kFurthestTime = TimeNs{1} << 61;  // of a clock, either way: 73 years

// Remembers the first thing that does not hold.
class Check {
 public:
  explicit Check(const RankAnalysis& rank) : capture_(rank.capture) {}

  void need(bool holds, std::string_view otherwise) {
    if (!holds && why_.empty()) why_ = otherwise;
  }
  void amount(int64_t v) { need(v >= 0 && v <= kLargest, "an amount that is out of range"); }
  void amount(double v) {
    need(std::isfinite(v) && v >= 0 && v <= 1e15, "an amount that is out of range");
  }
  void known_amount(int64_t v) { amount(v == -1 ? 0 : v); }  // -1: not known
  void time(TimeNs t) {
    need(t >= capture_.begin_ns - kLargest && t <= capture_.end_ns + kLargest,
         "a time far from its recording");
  }
  void span(Interval s) {
    time(s.begin_ns);
    time(s.end_ns);
    need(s.begin_ns <= s.end_ns, "an end before its begin");
  }
  void row(uint32_t v, size_t rows, std::string_view otherwise) { need(v < rows, otherwise); }
  void row_or_none(uint32_t v, size_t rows, std::string_view otherwise) {
    need(v == kNoRow || v < rows, otherwise);
  }
  // Adds to a sum that stays in range.
  void add(TimeNs v, TimeNs& sum) {
    amount(v);
    if (!why_.empty()) return;
    sum += v;
    amount(sum);
  }
  void amounts(const std::vector<TimeNs>& all, size_t count) {
    need(all.size() == count, "lists of different lengths");
    TimeNs sum = 0;
    for (TimeNs v : all) add(v, sum);
  }
  bool ok() const { return why_.empty(); }
  std::string_view why() const { return why_; }

 private:
  Interval capture_;
  std::string_view why_;
};

// "" when all is well.
std::string_view wrong_with(const RankAnalysis& rank);

void check_comms(const DeviceAnalysis& device, size_t communicators, Check& check);
void check_replay(const ReplayRank& replay, size_t comm_records, size_t devices, Check& check);

// What a partial leaves out because it follows: what each call launched, and its lag. False when
// the rows that it follows from are not there.
bool complete_replay(ReplayRank& replay);

}  // namespace ws::partial
