#pragma once
// Dependencies that the order of calls implies where no event ids were recorded (ALGORITHMS 6,
// "Inferring events"), and what synchronising calls wait for.
#include <map>
#include <vector>

#include "analysis/replay_graph.h"

namespace ws {

// Stream with most compute, kNoRow: none.
uint32_t main_stream(const ReplayRank& rank);

class EventInference {
 public:
  EventInference(ReplayGraph& graph, size_t rank_row, bool infer);
  void run();

 private:
  void on_launch(uint32_t call);
  void on_record();
  void on_wait();
  void on_wait_for_device(uint32_t call);
  void wait_for_pairs(uint32_t op);
  void wait_for_older(uint32_t op, int64_t waits);
  void keep_sync_order(uint32_t op);
  void remember(uint32_t op);
  void forget_through(size_t i);
  void add_event(uint32_t producer, uint32_t consumer);
  bool starts_unexplained(uint32_t op) const;
  const ReplayOp& op(uint32_t row) const { return rank_.ops[row]; }

  ReplayGraph& graph_;
  const size_t rank_row_;
  const ReplayRank& rank_;
  const bool infer_;
  const uint32_t main_;
  std::map<uint32_t, uint32_t> last_op_;  // per stream: op launched last
  std::vector<uint32_t> outstanding_;     // side-stream ops nobody waited for yet, oldest first
  std::vector<uint32_t>
      pairs_;  // recorded ops of record+wait pairs since the last launch; kNoRow: an older record
  bool after_record_ = false;
  uint32_t last_launch_ = kNoRow;  // op
  bool own_ = true;                // the next record is of the compute stream
  uint32_t recorded_ = kNoRow;     // op the last record stands for
  std::vector<uint32_t> synced_;   // ops the last synchronisation waited for
  std::vector<bool> sync_kept_;    // per stream: order after it is kept already
};

}  // namespace ws
