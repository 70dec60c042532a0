#pragma once
// The recorded dependency graph of all ranks and its exact replay (ALGORITHMS 6). Every op and
// outermost call has a start and an end event; an event's time = max over its edges (+ lag) +
// residual. Residuals make the baseline exact; a what-if changes durations, lags and residuals of a
// Scenario and runs it again in the same order.
#include <array>
#include <cstdint>
#include <vector>

#include "analysis/collective_match.h"
#include "analysis/replay_input.h"

namespace ws {

enum class EdgeTag : uint8_t {
  thread,
  launch,
  stream,
  overlap,
  event,
  queue,
  // Streams of a recording without event calls: a dependency that nothing excludes, and one that
  // records speak for, since such work was never seen beside what stands on its other end.
  possible,
  presumed,
  sync,
  collective,
  own
};

struct Edge {
  uint32_t from = 0;       // event: 2 * node (start) or 2 * node + 1 (end)
  uint32_t next = kNoRow;  // next edge into the same event
  TimeNs lag_ns = 0;
  EdgeTag tag{};
};

enum class NodeKind : uint8_t { call, op, rendezvous };
struct Node {
  TimeNs start_ns = 0, end_ns = 0;  // reference clock
  TimeNs duration_ns = 0;           // own time: 0 where others set the end
  uint32_t rank = 0;                // row of ReplayGraph::ranks
  uint32_t row = 0;                 // of its calls or ops; instance for a rendezvous
  NodeKind kind{};
  HostState state = HostState::other;  // calls: by name, or sync when they proved blocking
  EdgeTag bound_by = EdgeTag::own;     // tag of the edge that set the start in the recording
};

// Floors, not causes: they bind only when a change makes them, and residuals do not come on top.
constexpr bool is_floor(EdgeTag t) {
  return t == EdgeTag::queue || t == EdgeTag::possible || t == EdgeTag::presumed;
}

inline constexpr TimeNs kDropped = INT64_MIN;  // lag of an edge that a change removes

// What a what-if changes. Starts as the recording; changes compose by being applied in turn.
struct Scenario {
  std::vector<TimeNs> duration_ns;  // per node
  std::vector<TimeNs> lag_ns;       // per edge, kDropped: gone
  std::vector<uint8_t> keep;        // per node: residuals kept
};

struct GraphOptions {
  uint32_t queue_depth = 1024;  // launches outstanding per stream before the host waits (D)
  bool infer_events = true;
};

class ReplayGraph {
 public:
  // instances: members as (row of ranks, row of that rank's comm records); ranks in the same order.
  ReplayGraph(std::vector<ReplayRank> ranks, const Offsets& offsets,
              const std::vector<Instance>& instances,
              const std::vector<CommIdentity>& communicators, const GraphOptions& options = {});

  const std::vector<ReplayRank>& ranks() const { return ranks_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<Edge>& edges() const { return edges_; }
  TimeNs offset_of(size_t rank_row) const { return offsets_[rank_row]; }
  uint32_t first_edge(uint32_t event) const { return head_[event]; }
  uint32_t node_of_call(size_t rank_row, size_t call) const {
    return call_base_[rank_row] + static_cast<uint32_t>(call);
  }
  uint32_t node_of_op(size_t rank_row, size_t op) const {
    return op_base_[rank_row] + static_cast<uint32_t>(op);
  }
  const ReplayOp& op(const Node& n) const { return ranks_[n.rank].ops[n.row]; }
  const ReplayCall& call(const Node& n) const { return ranks_[n.rank].calls[n.row]; }
  // A collective whose members are known: its end waits for a rendezvous.
  bool is_matched(uint32_t node) const;
  uint32_t destination(uint32_t edge) const { return to_[edge]; }  // event

  // Nothing changed.
  Scenario recorded(bool keep_residuals) const {
    return keep_residuals ? as_recorded_ : without_residuals_;
  }
  // Event times under a scenario, indexed like Edge::from; reference clock.
  std::vector<TimeNs> run(const Scenario& scenario) const;
  // Latest end over ranks of the compute and copy ops launched in each priced step.
  std::vector<TimeNs> step_ends(const std::vector<TimeNs>& events) const;
  // Mean of differences of step ends; one step: its end minus the first event.
  double mean_step_ns(const std::vector<TimeNs>& events) const;
  TimeNs makespan(const std::vector<TimeNs>& events) const;

  int64_t violated_edges() const { return violated_; }
  int64_t inferred_edges() const { return inferred_; }
  int64_t recorded_waits() const { return recorded_; }
  int64_t meetings() const { return meetings_; }
  // Fewer gaps between kernels of a queue were seen than tell what is usual.
  bool assumes_gap() const { return assumes_gap_; }
  size_t step_count() const { return step_ops_.size(); }
  // Step of an op by its launch, -1: outside all.
  int32_t step_of(uint32_t node) const { return step_of_[node]; }

 private:
  friend class EventInference;
  void add_edge(uint32_t to_event, uint32_t from_event, TimeNs lag_ns, EdgeTag tag);
  void add_nodes(const Offsets& offsets);
  void add_host_edges(size_t rank_row);
  void add_device_edges(size_t rank_row, uint32_t queue_depth);
  void bound_by_full_queue(uint32_t node, const std::vector<uint32_t>& queue, uint32_t queue_depth,
                           TimeNs usual_ns);
  void add_collectives(const std::vector<Instance>& instances,
                       const std::vector<CommIdentity>& communicators);
  void bind_unexplained(size_t rank_row);
  void add_possible();  // replay_possible.cpp
  void drop_violated();
  void set_loose_stream_lags();
  void order_events();
  void calibrate();
  void mark_steps();
  Scenario scenario(bool keep_residuals) const;
  TimeNs observed(uint32_t event) const {
    const Node& n = nodes_[event / 2];
    return event % 2 == 0 ? n.start_ns : n.end_ns;
  }
  // Latest time that the edges into an event explain; kDropped: there is none.
  TimeNs explained(uint32_t event) const;

  std::vector<ReplayRank> ranks_;
  std::vector<TimeNs> offsets_;
  std::vector<uint32_t> call_base_, op_base_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> to_;           // per edge: event it leads to
  std::vector<uint32_t> head_, tail_;  // per event: list of edges into it
  std::vector<uint32_t> order_;        // events, topological
  std::vector<TimeNs> residual_ns_;    // per event
  std::vector<int32_t> step_of_;       // per node
  std::vector<std::vector<uint32_t>> step_ops_;
  Scenario as_recorded_, without_residuals_;
  TimeNs origin_ns_ = 0;
  int64_t violated_ = 0, inferred_ = 0, recorded_ = 0, meetings_ = 0;
  bool assumes_gap_ = false;
};

}  // namespace ws
