// Tested by: replay_test.cpp
#include "analysis/what_if.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "analysis/what_if_changes.h"

namespace ws {
namespace {

using change::bit;

// Groups are the parts of ALGORITHMS 4 "Prices before shares", removed in one run.
struct Combined {
  std::string_view id, parts;
};
constexpr std::array<Combined, 4> kGroups = {{
    {"communication_zero", "ep_zero+tp_zero+cp_zero+pp_zero+dp_zero+other_zero"},
    {"memory_zero", "recompute_zero+offload_zero+alloc_zero"},
    {"host_zero", "launch_zero+sync_zero+dataload_zero+gc_zero+copy_zero"},
    {"imbalance_fixed", "straggler_fixed+experts_balanced"},
}};

constexpr std::array<std::string_view, 29> kIds = {
    "ep_zero",          "ep_removed",         "tp_zero",     "tp_removed",
    "dp_zero",          "dp_removed",         "pp_zero",     "pp_removed",
    "cp_zero",          "cp_removed",         "network_x2",  "launch_zero",
    "sync_zero",        "dataload_zero",      "alloc_zero",  "gc_zero",
    "recompute_zero",   "offload_zero",       "copy_zero",   "straggler_fixed",
    "experts_balanced", "dp_overlapped",      "gemm_x2",     "attention_x2",
    "membound_x2",      "communication_zero", "memory_zero", "host_zero",
    "imbalance_fixed"};

// Then the gaps between kernels are what binds.
bool removes_launches(std::string_view id) {
  return id.find("launch_zero") != std::string_view::npos ||
         id.find("host_zero") != std::string_view::npos;
}

}  // namespace

WhatIf::WhatIf(const ReplayGraph& graph, const WhatIfContext& context)
    : graph_(graph), peers_(peer_times(graph, context.late_ranks)) {
  const std::vector<TimeNs> unchanged = graph_.run(graph_.recorded(true));
  recorded_step_ns_ = std::max(1.0, graph_.mean_step_ns(unchanged));
  for (size_t i = 0; i < graph_.nodes().size(); ++i) {
    replay_error_ns_ =
        std::max({replay_error_ns_, std::abs(unchanged[2 * i] - graph_.nodes()[i].start_ns),
                  std::abs(unchanged[2 * i + 1] - graph_.nodes()[i].end_ns)});
  }
  bare_step_ns_ = graph_.mean_step_ns(graph_.run(graph_.recorded(false)));
  for (uint32_t i = 0; i < graph_.nodes().size(); ++i) {
    const Node& n = graph_.nodes()[i];
    if (n.kind == NodeKind::op && graph_.op(n).cls == OpClass::comm && !graph_.is_matched(i))
      unmatched_.push_back(i);
  }
  look_for_parts();
}

// Most runs have little of what could be changed: one look at all rows saves a simulation each.
void WhatIf::look_for_parts() {
  std::set<CommKind> kinds;
  std::set<OpClass> classes;
  std::set<HostState> states;
  std::array<bool, kCoverKinds> covered{};
  bool recompute = false, offload = false, copies = false, grouped = false;
  for (const Node& n : graph_.nodes()) {
    if (n.kind == NodeKind::call) {
      states.insert(n.state);
      const auto& ns = graph_.call(n).covered_ns;
      for (size_t k = 0; k < kCoverKinds; ++k) covered[k] = covered[k] || ns[k] > 0;
    } else if (n.kind == NodeKind::op) {
      const ReplayOp& o = graph_.op(n);
      classes.insert(o.cls);
      if (is_comm(o.cls)) kinds.insert(o.kind);
      recompute = recompute || (o.flags & kFlagRecompute) != 0;
      offload = offload || (o.flags & kFlagOffload) != 0;
      copies = copies || (is_copy(o.cls) && (o.flags & kFlagOffload) == 0);
      grouped = grouped || (o.flags & kFlagGrouped) != 0;
    }
  }
  const auto need = [&](bool present, std::string_view id) {
    if (!present) absent_.insert(id);
  };
  const auto cover = [&](CoverKind kind) { return covered[static_cast<size_t>(kind)]; };
  for (const std::string_view id : kIds) {
    const size_t end = id.find('_');
    for (const CommKind kind :
         {CommKind::ep, CommKind::tp, CommKind::cp, CommKind::pp, CommKind::dp})
      if (id.substr(0, end) == name_of(kind)) need(kinds.count(kind) > 0, id);
  }
  need(kinds.count(CommKind::other) > 0, "other_zero");
  need(classes.count(OpClass::comm) > 0, "network_x2");
  need(states.count(HostState::sync) > 0, "sync_zero");
  need(states.count(HostState::alloc) > 0, "alloc_zero");
  need(cover(CoverKind::dataload), "dataload_zero");
  need(cover(CoverKind::gc), "gc_zero");
  need(recompute, "recompute_zero");
  need(offload, "offload_zero");
  need(copies, "copy_zero");
  need(!peers_.empty(), "straggler_fixed");
  need(grouped && graph_.ranks().size() > 1, "experts_balanced");
  for (const OpClass cls : {OpClass::gemm, OpClass::attention, OpClass::membound})
    for (const std::string_view id : kIds)
      if (id == std::string(name_of(cls)) + "_x2") need(classes.count(cls) > 0, id);
}

bool WhatIf::has_part(std::string_view id) const { return absent_.count(id) == 0; }

bool WhatIf::has_any_part(std::string_view id) const {
  const std::vector<std::string_view> parts = parts_of(id);
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return has_part(part); });
}

// Changes of the transfer alone. Where the peers are not known the time of a collective may be all
// waiting, which stays: the lower bound of the gain leaves it as it was.
bool WhatIf::apply_transfer(std::string_view id, bool keep, Scenario& s) const {
  std::vector<TimeNs> before;
  for (uint32_t node : unmatched_) before.push_back(s.duration_ns[node]);
  bool any = false;
  if (id == "network_x2") any = change::network_faster(graph_, 2, keep, s);
  for (const CommKind kind :
       {CommKind::ep, CommKind::tp, CommKind::cp, CommKind::pp, CommKind::dp, CommKind::other}) {
    const std::string_view name = name_of(kind);
    if (id.substr(0, name.size()) == name && id.substr(name.size()) == "_zero")
      any = change::comm_zero(graph_, bit(kind), keep, s);
  }
  for (size_t i = 0; keep && i < unmatched_.size(); ++i) s.duration_ns[unmatched_[i]] = before[i];
  return any;
}

// Where the peers are not known, waiting for a rank that is fixed may be any of it: at the most all
// but the shortest that the same exchange took.
void WhatIf::end_waits(Scenario& s) const {
  using Exchange = std::tuple<uint32_t, CommKind, CollectiveOp, int64_t>;  // rank, what, bytes
  const auto exchange_of = [&](uint32_t node) {
    const ReplayOp& o = graph_.op(graph_.nodes()[node]);
    return Exchange{graph_.nodes()[node].rank, o.kind, o.coll, o.bytes};
  };
  std::map<Exchange, TimeNs> shortest;
  for (uint32_t node : unmatched_) {
    const TimeNs d = graph_.nodes()[node].duration_ns;
    const auto it = shortest.try_emplace(exchange_of(node), d).first;
    it->second = std::min(it->second, d);
  }
  for (uint32_t node : unmatched_)
    s.duration_ns[node] = std::min(s.duration_ns[node], shortest.at(exchange_of(node)));
}

bool WhatIf::apply_one(std::string_view id, bool keep, Scenario& s) const {
  if (!has_part(id)) return false;
  for (const CommKind kind :
       {CommKind::ep, CommKind::tp, CommKind::cp, CommKind::pp, CommKind::dp, CommKind::other}) {
    const std::string_view name = name_of(kind);
    if (id.substr(0, name.size()) != name) continue;
    if (id.substr(name.size()) == "_zero") return apply_transfer(id, keep, s);
    if (id.substr(name.size()) == "_removed")
      return change::comm_removed(graph_, bit(kind), keep, s);
  }
  if (id == "network_x2") return apply_transfer(id, keep, s);
  if (id == "launch_zero") return change::launch_zero(graph_, keep, s);
  if (id == "sync_zero") return change::sync_zero(graph_, s);
  if (id == "alloc_zero") return change::alloc_zero(graph_, s);
  if (id == "dataload_zero") return change::cover_zero(graph_, CoverKind::dataload, s);
  if (id == "gc_zero") return change::cover_zero(graph_, CoverKind::gc, s);
  if (id == "recompute_zero") return change::recompute_zero(graph_, s);
  if (id == "offload_zero") return change::offload_zero(graph_, s);
  if (id == "copy_zero") return change::copy_zero(graph_, s);
  if (id == "straggler_fixed" || id == "experts_balanced") {
    const bool any = id == "straggler_fixed" ? change::straggler_fixed(graph_, peers_, keep, s)
                                             : change::experts_balanced(graph_, keep, s);
    if (any && !keep) end_waits(s);
    return any;
  }
  if (id == "gemm_x2") return change::class_faster(graph_, OpClass::gemm, 2, s);
  if (id == "attention_x2") return change::class_faster(graph_, OpClass::attention, 2, s);
  if (id == "membound_x2") return change::class_faster(graph_, OpClass::membound, 2, s);
  for (const Combined& g : kGroups) {
    if (id == g.id) return apply(g.parts, keep, s);
  }
  return false;
}

// How much overlap hides depends on how long the passes are: it comes after all other changes.
bool WhatIf::apply(std::string_view id, bool keep, Scenario& s) const {
  constexpr std::string_view kLast = "dp_overlapped";
  bool any = false, last = false;
  while (!id.empty()) {
    const size_t plus = id.find('+');
    const std::string_view part = id.substr(0, plus);
    last = last || part == kLast;
    if (part != kLast) any = apply_one(part, keep, s) || any;
    id = plus == std::string_view::npos ? std::string_view() : id.substr(plus + 1);
  }
  return (last && change::dp_overlapped(graph_, keep, s)) || any;
}

std::optional<std::vector<TimeNs>> WhatIf::simulate(std::string_view id,
                                                    bool keep_residuals) const {
  if (!has_any_part(id)) return std::nullopt;
  Scenario s = graph_.recorded(keep_residuals);
  if (!apply(id, keep_residuals, s)) return std::nullopt;
  return graph_.run(s);
}

std::optional<Gain> WhatIf::gain(std::string_view id, std::vector<TimeNs>* events) const {
  constexpr double kNextToNothing = 0.01;
  auto kept = simulate(id, true);
  if (!kept) return std::nullopt;
  const double a = (recorded_step_ns_ - graph_.mean_step_ns(*kept)) / recorded_step_ns_;
  if (events != nullptr) *events = std::move(*kept);
  auto bare = simulate(id, false);
  const double b = (bare_step_ns_ - graph_.mean_step_ns(*bare)) / recorded_step_ns_;
  if (events != nullptr && a < kNextToNothing) *events = std::move(*bare);
  Gain out{std::min(a, b), std::max(a, b)};
  if (graph_.assumes_gap() && removes_launches(id)) {
    Scenario s = graph_.recorded(false);
    apply(id, false, s);
    change::longer_gaps(graph_, s);
    const double c = (bare_step_ns_ - graph_.mean_step_ns(graph_.run(s))) / bare_step_ns_;
    out.lo_share = std::min(out.lo_share, c);
  }
  return out;
}

std::vector<std::string> WhatIf::applicable() const {
  std::vector<std::string> out;
  for (const std::string_view id : kIds) {
    Scenario s = graph_.recorded(true);
    if (apply(id, true, s)) out.emplace_back(id);
  }
  return out;
}

std::vector<std::string_view> parts_of(std::string_view id) {
  std::vector<std::string_view> out;
  while (!id.empty()) {
    const size_t plus = id.find('+');
    const std::string_view part = id.substr(0, plus);
    const auto group = std::find_if(kGroups.begin(), kGroups.end(),
                                    [&](const Combined& g) { return g.id == part; });
    if (group == kGroups.end()) {
      out.push_back(part);
    } else {
      for (const std::string_view inner : parts_of(group->parts)) out.push_back(inner);
    }
    id = plus == std::string_view::npos ? std::string_view() : id.substr(plus + 1);
  }
  return out;
}

std::vector<std::string_view> replayed_ids() { return {kIds.begin(), kIds.end()}; }

}  // namespace ws
