// Rule 1 reads names. Without a telling name the collectives of a communicator vote:
//   all-to-all or send/recv beside expert work -> ep, beside attention -> cp, other send/recv -> pp
//   reductions in the forward pass of most layers -> tp: data parallelism reduces only gradients
//   reductions of the backward pass, before the optimizer, few per step, or gathers alone -> dp
//   tiny ones (norms, loss, flags) -> other, without a word
// Below 0.8 agreement the kind stays `other` and a note says so.
// Tested by: group_kinds_test.cpp
#include "analysis/group_kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "analysis/launch_order.h"
#include "analysis/range_names.h"

namespace ws {
namespace {

constexpr int64_t kTinyBytes = 64 << 10;
constexpr TimeNs kTinyNs = 50'000;
constexpr double kAgreement = 0.8;
constexpr size_t kMostVoters = 4096;  // per communicator, spread over the recording

bool contains(std::string_view s, std::string_view word) {
  return s.find(word) != std::string_view::npos;
}

bool is_exchange(CollectiveOp op) {
  return op == CollectiveOp::all_to_all || op == CollectiveOp::send_recv ||
         op == CollectiveOp::send || op == CollectiveOp::recv;
}

// How often each type of collective occurs, and what it is launched beside.
struct Pattern {
  std::vector<uint32_t> ops;  // not tiny, in order of launch
  std::array<size_t, 13> types{};
  TimeNs shortest_ns = INT64_MAX;
  size_t count = 0;    // tiny ones too
  double thinned = 1;  // each of ops stands for so many
  size_t of(CollectiveOp op) const { return types[static_cast<size_t>(op)]; }
};

class Votes {
 public:
  Votes(const Trace& trace, const PassRanges& ranges, const std::vector<PassHint>& passes,
        const Labels& labels)
      : trace_(trace),
        ranges_(ranges),
        passes_(passes),
        labels_(labels),
        orders_(trace.devices.size()) {
    std::set<StringId> names;
    for (size_t i = 0; i < trace.ranges.size(); ++i) {
      if (trace.ranges.source[i] == RangeSource::gpu_annotation ||
          trace.ranges.source[i] == RangeSource::cpu_op)
        continue;
      const StringId id = trace.ranges.name[i];
      if (trace.strings[id].size() < 64 && step_name(trace.strings[id])) names.insert(id);
    }
    steps_ = std::max<size_t>(1, names.size());
  }

  struct Vote {
    CommKind kind = CommKind::other;
    bool undecided = false;  // other for want of agreement, not because it is tiny
  };

  Vote vote(Pattern p) {
    const double per_step = static_cast<double>(p.count) / static_cast<double>(steps_);
    if (p.ops.empty() || (p.shortest_ns < kTinyNs && per_step <= 4 &&
                          p.of(CollectiveOp::send_recv) == 0 && sizes_unknown(p)))
      return {};
    sort_by_launch(p.ops);
    if (p.ops.size() > kMostVoters) {
      std::vector<uint32_t> some;
      for (size_t i = 0; i < kMostVoters; ++i)
        some.push_back(p.ops[i * p.ops.size() / kMostVoters]);
      p.thinned = static_cast<double>(p.ops.size()) / kMostVoters;
      p.ops = std::move(some);
      p.types = {};
      for (uint32_t op : p.ops) ++p.types[static_cast<size_t>(labels_.ops.coll[op])];
    }
    const double n = static_cast<double>(p.ops.size());
    size_t exchanges = 0;
    for (uint32_t op : p.ops) exchanges += is_exchange(labels_.ops.coll[op]) ? 1 : 0;
    const size_t reductions = p.of(CollectiveOp::all_reduce) + p.of(CollectiveOp::reduce_scatter);
    const size_t gathers = p.of(CollectiveOp::all_gather);
    if (static_cast<double>(exchanges) >= kAgreement * n) return exchange(p);
    if (static_cast<double>(reductions + gathers + p.of(CollectiveOp::broadcast)) < kAgreement * n)
      return {CommKind::other, true};
    if (gathers > 0 && before_attention(p.ops, CollectiveOp::all_gather)) return {CommKind::cp};
    if (reductions == 0) {
      return gathers > 0 ? Vote{CommKind::dp} : Vote{CommKind::other, true};
    }
    return reduction(p);
  }

 private:
  const LaunchOrder& order(DeviceId device) {
    auto& o = orders_[row(device)];
    if (!o) o.emplace(trace_, passes_, labels_.ops, device);
    return *o;
  }
  const LaunchOrder& order_of(uint32_t op) { return order(trace_.device_of(op)); }

  void sort_by_launch(std::vector<uint32_t>& ops) const {
    std::vector<std::pair<TimeNs, uint32_t>> order;
    order.reserve(ops.size());
    for (uint32_t op : ops) order.emplace_back(LaunchOrder::order_of(trace_, op), op);
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < ops.size(); ++i) ops[i] = order[i].second;
  }

  bool sizes_unknown(const Pattern& p) const {
    return std::none_of(p.ops.begin(), p.ops.end(), [&](uint32_t op) {
      const auto it = std::lower_bound(labels_.comm_ops.begin(), labels_.comm_ops.end(), op,
                                       [](const CommOp& c, uint32_t o) { return c.op < o; });
      return it->bytes >= 0;
    });
  }

  template <class Test>
  double share(const std::vector<uint32_t>& ops, const Test& test) {
    size_t yes = 0;
    for (uint32_t op : ops) yes += test(op) ? 1 : 0;
    return static_cast<double>(yes) / static_cast<double>(ops.size());
  }

  bool before_attention(const std::vector<uint32_t>& ops, CollectiveOp type) {
    std::vector<uint32_t> some;
    for (uint32_t op : ops) {
      if (labels_.ops.coll[op] == type) some.push_back(op);
    }
    return !some.empty() && share(some, [&](uint32_t op) {
                              return order_of(op).before_class(LaunchOrder::order_of(trace_, op),
                                                               OpClass::attention, 2);
                            }) >= kAgreement;
  }

  Vote exchange(const Pattern& p) {
    const auto at = [&](uint32_t op) { return LaunchOrder::order_of(trace_, op); };
    const double expert = share(p.ops, [&](uint32_t op) {
      return order_of(op).beside_flags(at(op), kFlagGrouped | kFlagMoe, 3);
    });
    if (expert >= 0.6) return {CommKind::ep};
    const double attention = share(p.ops, [&](uint32_t op) {
      return order_of(op).beside_class(at(op), OpClass::attention, 2);
    });
    if (attention >= kAgreement) return {CommKind::cp};
    const double all_to_all =
        static_cast<double>(p.of(CollectiveOp::all_to_all)) / static_cast<double>(p.ops.size());
    if (all_to_all <= 1 - kAgreement) return {CommKind::pp};
    return {CommKind::other, true};
  }

  // Do ranges around the launches say that gradients are reduced?
  bool of_gradients(const std::vector<uint32_t>& reductions) {
    return share(reductions, [&](uint32_t op) {
             const uint32_t call = trace_.ops.launch[op];
             if (call == kNoRow) return false;
             const ThreadId thread = trace_.calls.thread[call];
             const TimeNs at = trace_.calls.begin_ns[call];
             return ranges_.gradients_at(thread, at);
           }) >= kAgreement;
  }
  bool in_backward(const std::vector<uint32_t>& reductions) {
    return share(reductions, [&](uint32_t op) {
             const uint32_t call = trace_.ops.launch[op];
             return call != kNoRow &&
                    ranges_.backward_at(trace_.calls.thread[call], trace_.calls.begin_ns[call]);
           }) >= kAgreement;
  }

  // Share of the reductions in the forward pass decides: tensor parallelism reduces there too, in
  // most layers; a few reductions among many forward kernels are gradients of a short recording.
  Vote reduction(const Pattern& p) {
    std::vector<uint32_t> reductions;
    for (uint32_t op : p.ops) {
      const CollectiveOp type = labels_.ops.coll[op];
      if (type == CollectiveOp::all_reduce || type == CollectiveOp::reduce_scatter)
        reductions.push_back(op);
    }
    if (of_gradients(reductions)) return {CommKind::dp};
    size_t forward = 0, known = 0, early = 0, placed = 0;
    for (uint32_t op : reductions) {
      const TimeNs at = LaunchOrder::order_of(trace_, op);
      const auto phase = order_of(op).phase_at(at);
      known += phase != LaunchOrder::Phase::unknown ? 1 : 0;
      forward += phase == LaunchOrder::Phase::forward ? 1 : 0;
      const double position = order_of(op).position_between_optimizers(at);
      placed += position >= 0 ? 1 : 0;
      early += position >= 0 && position < 0.3 ? 1 : 0;
    }
    if (known > 0) {
      const auto layers = static_cast<double>(order_of(reductions.front()).layers());
      if (2 * p.thinned * static_cast<double>(forward) < layers) return {CommKind::dp};
      return by_share(forward, known);
    }
    if (in_backward(reductions)) return {CommKind::dp};
    if (placed > 0) return by_share(early, placed);
    // No sign of phases: tensor parallelism with sequence parallelism alternates its two types.
    const double per_step = static_cast<double>(p.count) / static_cast<double>(steps_);
    size_t runs = 1;
    for (size_t i = 1; i < p.ops.size(); ++i)
      runs += labels_.ops.coll[p.ops[i]] != labels_.ops.coll[p.ops[i - 1]] ? 1 : 0;
    const bool two = p.of(CollectiveOp::all_gather) > 0 && p.of(CollectiveOp::reduce_scatter) > 0;
    if (two && 2 * runs > p.ops.size() && per_step >= 4) return {CommKind::tp};
    return {CommKind::other, true};
  }

  static Vote by_share(size_t in_forward, size_t of) {
    const double f = static_cast<double>(in_forward) / static_cast<double>(of);
    if (f >= 0.2) return {CommKind::tp};
    if (f <= 0.05) return {CommKind::dp};
    return {CommKind::other, true};
  }

  const Trace& trace_;
  const PassRanges& ranges_;
  const std::vector<PassHint>& passes_;
  const Labels& labels_;
  std::vector<std::optional<LaunchOrder>> orders_;
  size_t steps_ = 1;
};

// Per communicator: exchanges and the rest apart.
struct PatternPair {
  Pattern exchanges, others;
};

std::vector<PatternPair> patterns(const Trace& trace, const Labels& labels) {
  std::vector<PatternPair> out(labels.communicators.size());
  for (const CommOp& c : labels.comm_ops) {
    PatternPair& pair = out[labels.ops.communicator[c.op]];
    Pattern& p = is_exchange(labels.ops.coll[c.op]) ? pair.exchanges : pair.others;
    ++p.count;
    p.shortest_ns = std::min(p.shortest_ns, trace.ops.end_ns[c.op] - trace.ops.begin_ns[c.op]);
    if (c.bytes >= 0 && c.bytes < kTinyBytes) continue;
    p.ops.push_back(c.op);
    ++p.types[static_cast<size_t>(labels.ops.coll[c.op])];
  }
  return out;
}

}  // namespace

CommKind kind_of_group(std::string_view text) {
  const std::string s = small_letters(text);
  const bool expert = contains(s, "expert") || has_word(s, "ep");
  const bool data = contains(s, "data");
  if ((expert && data) || (data && contains(s, "parallel")) || has_word(s, "dp") ||
      has_word(s, "edp") || contains(s, "ddp") || contains(s, "fsdp") || contains(s, "hsdp") ||
      contains(s, "shard") || contains(s, "replicate"))
    return CommKind::dp;
  if (expert && contains(s, "tensor") && !contains(s, "model")) return CommKind::tp;
  if (expert) return CommKind::ep;
  if (contains(s, "context") || has_word(s, "cp") || contains(s, "ulysses") || has_word(s, "ring"))
    return CommKind::cp;
  if (contains(s, "pipeline") || has_word(s, "pp")) return CommKind::pp;
  if (contains(s, "tensor") || has_word(s, "tp")) return CommKind::tp;
  return CommKind::other;
}

void set_kinds(const Trace& trace, const PassRanges& ranges, const std::vector<PassHint>& passes,
               Labels& labels) {
  const std::vector<PatternPair> pattern = patterns(trace, labels);
  struct Kinds {
    CommKind exchanges{}, others{};
  };
  std::vector<Kinds> kinds(labels.communicators.size());
  std::optional<Votes> votes;
  int64_t guessed = 0, unknown = 0;
  for (size_t i = 0; i < labels.communicators.size(); ++i) {
    Communicator& c = labels.communicators[i];
    if (c.kind == CommKind::other && c.named) c.kind = kind_of_group(c.name);
    kinds[i] = {c.kind, c.kind};
    if (c.kind != CommKind::other) continue;
    if (!votes) votes.emplace(trace, ranges, passes, labels);
    const auto exchanges = votes->vote(pattern[i].exchanges);
    const auto others = votes->vote(pattern[i].others);
    kinds[i] = {exchanges.kind, others.kind};
    if (pattern[i].exchanges.ops.empty()) c.kind = others.kind;
    if (pattern[i].others.ops.empty()) c.kind = exchanges.kind;
    if (exchanges.kind == others.kind) c.kind = others.kind;
    c.guessed = exchanges.kind != CommKind::other || others.kind != CommKind::other;
    guessed += c.guessed ? 1 : 0;
    unknown += exchanges.undecided || others.undecided ? 1 : 0;
  }
  if (guessed > 0) labels.notes.add(NoteCode::kinds_guessed, {}, guessed);
  if (unknown > 0) labels.notes.add(NoteCode::kinds_unknown, {}, unknown);
  for (const CommOp& c : labels.comm_ops) {
    const Kinds& k = kinds[labels.ops.communicator[c.op]];
    labels.ops.kind[c.op] = is_exchange(labels.ops.coll[c.op]) ? k.exchanges : k.others;
  }
}

}  // namespace ws
