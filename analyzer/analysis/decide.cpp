// Tested by: decide_test.cpp, which compares with a table made by the reference.
#include "analysis/decide.h"

#include <algorithm>
#include <string_view>

namespace ws {
namespace {

// Order of the reference: the first of equals wins.
constexpr LossGroup kOrder[] = {LossGroup::memory, LossGroup::host, LossGroup::communication,
                                LossGroup::imbalance, LossGroup::bubble};

class Rivals {
 public:
  Rivals(const PerGroup<LossShare>& shares, bool without_host) : shares_(shares) {
    for (LossGroup g : kOrder)
      if (!without_host || g != LossGroup::host) groups_.push_back(g);
  }
  const LossShare& of(LossGroup g) const { return at(shares_, g); }
  const std::vector<LossGroup>& groups() const { return groups_; }

  // First group with the largest key, `except` left out.
  template <class Key>
  LossGroup largest(Key key, LossGroup except = LossGroup::useful) const {
    LossGroup best = LossGroup::useful;
    for (LossGroup g : groups_)
      if (g != except && (best == LossGroup::useful || key(best) < key(g))) best = g;
    return best;
  }

 private:
  const PerGroup<LossShare>& shares_;
  std::vector<LossGroup> groups_;
};

bool host_is_the_late_ranks(const PerGroup<LossShare>& shares,
                            const std::optional<Prices>& prices) {
  if (!prices || !prices->host_and_imbalance) return false;
  const double joint = prices->host_and_imbalance->hi;
  const double host = at(shares, LossGroup::host).hi;
  const double imbalance = at(shares, LossGroup::imbalance).hi;
  return joint <= 1.15 * std::max(host, imbalance) && std::min(host, imbalance) >= 0.5 * joint;
}

}  // namespace

Decision decide(const PerGroup<LossShare>& shares, const std::optional<Prices>& prices) {
  Decision out;
  out.by_dependent_host = host_is_the_late_ranks(shares, prices);
  const Rivals rivals(shares, out.by_dependent_host);
  const auto lo = [&](LossGroup g) { return rivals.of(g).lo; };
  const auto hi = [&](LossGroup g) { return rivals.of(g).hi; };
  out.best = rivals.largest([&](LossGroup g) { return std::make_pair(lo(g), hi(g)); });
  out.second = rivals.largest(hi, out.best);

  if (hi(rivals.largest(hi)) < kFloor) return out;
  if (lo(out.best) >= kFloor && lo(out.best) >= kAhead * hi(out.second)) {
    out.kind = Decision::Kind::dominant;
    return out;
  }
  LossGroup open = LossGroup::useful;
  const auto width = [&](LossGroup g) { return std::make_pair(hi(g) - lo(g), name_of(g)); };
  for (LossGroup g : rivals.groups()) {
    const bool could_win = g == out.best ? lo(g) < kFloor : hi(g) > lo(out.best);
    if (rivals.of(g).open <= kSeen || hi(g) < kFloor || !could_win) continue;
    if (open == LossGroup::useful || width(open) < width(g)) open = g;
  }
  if (open != LossGroup::useful) {
    out.kind = Decision::Kind::undecided;
    out.second = open;
    return out;
  }
  if (lo(out.best) < kFloor) {
    out.kind = Decision::Kind::only_hi;
    return out;
  }
  const LossGroup second = rivals.largest(lo, out.best);
  if (lo(second) >= kFloor && lo(out.best) < kAhead * lo(second)) {
    out.kind = Decision::Kind::mixed;
    out.second = second;
    return out;
  }
  out.kind = Decision::Kind::best;
  return out;
}

}  // namespace ws
