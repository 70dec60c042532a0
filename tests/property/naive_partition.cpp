#include "property/naive_partition.h"

#include <algorithm>
#include <string>

namespace ws::test {
namespace {

// Order of host states; kGraphLaunch stands behind other calls, as in the reference.
enum : int {
  kAlloc,
  kSync,
  kJit,
  kGc,
  kProfiler,
  kDataload,
  kGraphBuild,
  kLaunch,
  kOther,
  kGraphLaunch,
  kNothing
};

int rank_of_name(const std::string& name) {
  if (name == "cudaGraphLaunch") return kGraphLaunch;
  if (name == "cudaLaunchKernel" || name == "cuLaunchKernel" || name == "cudaMemcpyAsync")
    return kLaunch;
  if (name == "cudaStreamSynchronize" || name == "cudaMemcpy") return kSync;
  if (name == "cudaMalloc" || name == "cudaFree") return kAlloc;
  if (name == "cuModuleLoadData") return kJit;
  if (name == "cudaGraphInstantiate") return kGraphBuild;
  return kOther;
}

int rank_of_range(const std::string& kind) {
  if (kind == "dataload") return kDataload;
  if (kind == "gc") return kGc;
  if (kind == "jit") return kJit;
  if (kind == "profiler") return kProfiler;
  return kNothing;
}

Leaf leaf_of_state(int rank) {
  static constexpr Leaf kLeaves[] = {
      Leaf::idle_alloc,    Leaf::idle_sync,     Leaf::idle_jit,          Leaf::idle_gc,
      Leaf::idle_profiler, Leaf::idle_dataload, Leaf::idle_graph_launch, Leaf::idle_launch,
      Leaf::idle_host,     Leaf::idle_launch,   Leaf::idle_host};
  return kLeaves[rank];
}

bool is_copy_cls(const ScenarioOp& o) { return o.cls == "h2d" || o.cls == "d2h"; }
bool is_comm_cls(const ScenarioOp& o) { return o.cls == "comm" || o.cls == "p2p"; }

// Among compute: the smaller is charged.
int compute_order(const ScenarioOp& o) {
  if (o.cls == "gemm") return 0;
  if (o.cls == "attention") return 1;
  if (o.cls == "membound" || o.cls == "d2d" || o.cls == "memset") return 3;
  return 2;
}

int kind_order(const ScenarioOp& o) {
  if (is_copy_cls(o)) return 100;
  static const std::string order[] = {"ep", "tp", "cp", "pp", "dp", "other"};
  const std::string kind = o.cls == "comm" ? o.kind : "other";
  return static_cast<int>(std::find(std::begin(order), std::end(order), kind) - std::begin(order));
}

Leaf leaf_named(const std::string& name) { return leaf_from(name).value(); }

}  // namespace

NaivePartition::NaivePartition(const ScenarioInput& input, int32_t device, NaiveConstants constants)
    : in_(input), c_(constants) {
  for (const ScenarioOp& o : input.ops) {
    if (o.dev == device && o.e > o.s) ops_.push_back(o);
  }
  std::sort(ops_.begin(), ops_.end(), [](const ScenarioOp& a, const ScenarioOp& b) {
    return a.s != b.s ? a.s < b.s : a.id < b.id;
  });
  for (const ScenarioCall& c : input.calls)
    events_.push_back({c.pid, c.tid, c.s, c.e, call_rank(c), true});
  const size_t calls = events_.size();
  for (const ScenarioRange& r : input.ranges) {
    const int rank = rank_of_range(r.kind);
    if (rank == kNothing) continue;
    std::vector<std::pair<int64_t, int64_t>> threads;  // that it counts for
    for (size_t i = 0; i < calls; ++i) {
      const std::pair key{events_[i].pid, events_[i].tid};
      if (key.first == r.pid && std::find(threads.begin(), threads.end(), key) == threads.end())
        threads.push_back(key);
    }
    const std::pair own{r.pid, r.tid};
    if (rank != kProfiler || std::find(threads.begin(), threads.end(), own) != threads.end())
      threads = {own};
    for (const auto& [pid, tid] : threads) events_.push_back({pid, tid, r.s, r.e, rank, false});
  }
}

// The outermost of the calls that share process and correlation.
const ScenarioCall* NaivePartition::launch_of(const ScenarioOp* op) const {
  if (op == nullptr || !op->corr) return nullptr;
  const ScenarioCall* best = nullptr;
  for (const ScenarioCall& c : in_.calls) {
    if (c.pid != op->pid || c.corr != op->corr) continue;
    if (best == nullptr || c.s < best->s || (c.s == best->s && c.e > best->e)) best = &c;
  }
  return best;
}

// A copy call that returned at or after the end of its own copy blocked the host.
int NaivePartition::call_rank(const ScenarioCall& call) const {
  for (const ScenarioOp& o : in_.ops) {
    if (is_copy_cls(o) && o.e > o.s && launch_of(&o) == &call && call.e >= o.e) return kSync;
  }
  return rank_of_name(call.name);
}

NaivePartition::Ops NaivePartition::active(TimeNs t) const {
  Ops out;
  for (const ScenarioOp& o : ops_) {
    if (o.s <= t && t < o.e) out.push_back(&o);
  }
  return out;
}

bool NaivePartition::compute_at(TimeNs t) const {
  return std::any_of(ops_.begin(), ops_.end(), [&](const ScenarioOp& o) {
    return o.s <= t && t < o.e && !is_copy_cls(o) && !is_comm_cls(o);
  });
}

// Backwards from the compute op that ends the stretch without compute around t.
const ScenarioOp* NaivePartition::blocker(TimeNs t) const {
  TimeNs lo = INT64_MAX, hi = INT64_MIN;
  for (const ScenarioOp& o : ops_) lo = std::min(lo, o.s), hi = std::max(hi, o.e);
  TimeNs stretch_end = t, stretch_begin = t;
  while (stretch_end < hi && !compute_at(stretch_end)) ++stretch_end;
  if (stretch_end == hi) return nullptr;
  while (stretch_begin >= lo && !compute_at(stretch_begin - 1)) --stretch_begin;
  for (TimeNs released = stretch_end;;) {
    const ScenarioOp* last = nullptr;
    for (const ScenarioOp& o : ops_) {
      if (!is_copy_cls(o) && !is_comm_cls(o)) continue;
      if (o.e > released || released - o.e >= c_.launch_latency || o.e <= stretch_begin) continue;
      if (last == nullptr || o.e > last->e) last = &o;  // of equal ends the first began first
    }
    if (last == nullptr) return nullptr;
    if (last->s <= t && t < last->e) return last;
    released = last->s;
    if (released <= stretch_begin) return nullptr;
  }
}

Leaf NaivePartition::comm_leaf_of(const ScenarioOp& op, TimeNs t) const {
  const std::string prefix = "comm." + (op.cls == "p2p" ? std::string("p2p") : op.kind) + ".";
  const auto arrival = in_.arrivals.find(op.id);
  if (arrival == in_.arrivals.end()) return leaf_named(prefix + "unsplit");
  return leaf_named(prefix + (t < arrival->second ? "wait" : "transfer"));
}

Leaf NaivePartition::busy_leaf(TimeNs t, const Ops& running) const {
  const ScenarioOp* work = nullptr;
  bool any_compute = false;
  for (const ScenarioOp* o : running) {
    if (is_copy_cls(*o) || is_comm_cls(*o)) continue;
    any_compute = true;
    if (!o->recompute && (work == nullptr || compute_order(*o) < compute_order(*work))) work = o;
  }
  if (work != nullptr) {
    static constexpr Leaf kWork[] = {Leaf::gemm, Leaf::attention, Leaf::compute_other,
                                     Leaf::membound};
    return kWork[compute_order(*work)];
  }
  if (any_compute) return Leaf::recompute;
  const ScenarioOp* who = blocker(t);
  if (who == nullptr) {
    who = *std::min_element(running.begin(), running.end(),
                            [](const ScenarioOp* a, const ScenarioOp* b) {
                              if (a->e != b->e) return a->e < b->e;
                              if (kind_order(*a) != kind_order(*b))
                                return kind_order(*a) < kind_order(*b);
                              return a->id < b->id;
                            });
  }
  if (is_comm_cls(*who)) return comm_leaf_of(*who, t);
  return who->offload ? Leaf::copy_offload : leaf_named("copy." + who->cls);
}

int NaivePartition::state(int64_t pid, int64_t tid, TimeNs t) const {
  int best = kNothing;
  for (const Event& e : events_) {
    if (e.pid == pid && e.tid == tid && e.s <= t && t < e.e) best = std::min(best, e.rank);
  }
  return best;
}

// [g0, p): the queue is empty and the host has not come to the launch.
Leaf NaivePartition::host_phase_leaf(TimeNs t, TimeNs g0, TimeNs p, const Event& launch,
                                     const ScenarioCall* previous) const {
  TimeNs handover = g0;
  const bool other_thread =
      previous != nullptr && (previous->pid != launch.pid || previous->tid != launch.tid);
  if (other_thread && state(launch.pid, launch.tid, g0) == kNothing) {
    handover = p;
    for (const Event& e : events_) {
      if (e.is_call && e.pid == launch.pid && e.tid == launch.tid && e.s >= g0)
        handover = std::min(handover, e.s);
    }
  }
  const auto answers = [&](TimeNs at) {
    return at < handover ? state(previous->pid, previous->tid, at)
                         : state(launch.pid, launch.tid, at);
  };
  const Leaf leaf = leaf_of_state(answers(t));
  if (leaf != Leaf::idle_host) return leaf;
  const int64_t pid = handover > g0 ? previous->pid : launch.pid;
  const int64_t tid = handover > g0 ? previous->tid : launch.tid;
  const Event* blocking = nullptr;
  for (const Event& e : events_) {
    const bool credited = e.rank <= kGraphBuild && e.rank != kProfiler;
    if (!credited || e.pid != pid || e.tid != tid) continue;
    if (e.s >= g0 || e.e < g0 - c_.straddle_eps) continue;
    if (blocking == nullptr || e.rank < blocking->rank ||
        (e.rank == blocking->rank && e.s < blocking->s))
      blocking = &e;
  }
  if (blocking == nullptr) return leaf;
  TimeNs later_residual = 0;  // residual ticks behind this one
  for (TimeNs at = t + 1; at < p; ++at)
    later_residual += leaf_of_state(answers(at)) == Leaf::idle_host ? 1 : 0;
  return later_residual < g0 - blocking->s ? leaf_of_state(blocking->rank) : leaf;
}

Leaf NaivePartition::idle_leaf(TimeNs t, TimeNs horizon) const {
  TimeNs first_record = INT64_MAX;
  for (const ScenarioOp& o : ops_) first_record = std::min(first_record, o.s);
  for (const Event& e : events_) first_record = std::min(first_record, e.s);
  if (t < first_record) return Leaf::idle_unknown;
  TimeNs g0 = first_record, g1 = horizon;
  for (const ScenarioOp& o : ops_) {
    if (o.e <= t) g0 = std::max(g0, o.e);
  }
  const ScenarioOp *ender = nullptr, *previous = nullptr;
  for (const ScenarioOp& o : ops_) {
    if (o.e == g0 && (previous == nullptr || o.s > previous->s)) previous = &o;
    if (o.s <= t || (ender != nullptr && o.s > ender->s)) continue;
    const ScenarioCall *now = launch_of(ender), *mine = launch_of(&o);
    if (ender == nullptr || (mine != nullptr && (now == nullptr || mine->s < now->s))) ender = &o;
  }
  const ScenarioCall *launch = launch_of(ender), *before = launch_of(previous);
  if (ender == nullptr) {
    if (before == nullptr) return Leaf::idle_unknown;
    const Leaf leaf = leaf_of_state(state(before->pid, before->tid, t));
    return leaf == Leaf::idle_host ? Leaf::idle_unknown : leaf;
  }
  g1 = ender->s;
  if (launch == nullptr)
    return g1 - g0 <= c_.kernel_gap ? Leaf::idle_kernel_gap : Leaf::idle_unknown;
  const TimeNs p = std::clamp(launch->s, g0, g1);
  const Event call{launch->pid, launch->tid, launch->s, launch->e, call_rank(*launch), true};
  if (t < p) return host_phase_leaf(t, g0, p, call, before);
  TimeNs q = std::clamp(std::max(launch->e, launch->s + c_.launch_latency), p, g1);
  if (previous != nullptr && ender->graph != 0 && ender->graph == previous->graph &&
      ender->corr == previous->corr && ender->pid == previous->pid)
    q = p;
  if (t >= q) return g1 - q <= c_.kernel_gap ? Leaf::idle_kernel_gap : Leaf::idle_dependency;
  int interrupt = kNothing;
  for (const Event& e : events_) {
    if (e.rank != kAlloc && e.rank != kJit && e.rank != kProfiler) continue;
    if (e.pid == call.pid && e.tid == call.tid && e.s <= t && t < e.e)
      interrupt = std::min(interrupt, e.rank);
  }
  if (interrupt != kNothing) return leaf_of_state(interrupt);
  if (call.rank == kGraphLaunch) return Leaf::idle_graph_launch;
  return call.rank == kSync ? Leaf::idle_sync : Leaf::idle_launch;
}

Leaf NaivePartition::leaf_at_tick(TimeNs t, TimeNs horizon) const {
  const Ops running = active(t);
  return running.empty() ? idle_leaf(t, horizon) : busy_leaf(t, running);
}

}  // namespace ws::test
