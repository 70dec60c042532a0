#pragma once
// What cross-rank analysis keeps of a rank: its communication, without the trace. A rank's partial
// (ALGORITHMS 7): small, so that all ranks fit in memory when no trace does.
#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/names.h"

namespace ws {

struct CommRecord {  // one communication op of one rank
  TimeNs begin_ns = 0, end_ns = 0;
  TimeNs order_ns = 0;        // enqueue time (launch call); unknown: not after what follows
  uint32_t communicator = 0;  // row of CommSet::communicators
  CollectiveOp op = CollectiveOp::unknown;
  CommKind kind = CommKind::other;
  int64_t bytes = -1;     // -1: not known
  int64_t sequence = -1;  // number inside the communicator, -1: not recorded
  int32_t root = -1;      // world rank, -1: none or not known
  int32_t peer = -1;      // world rank of a send or receive, -1: not known
};

struct RankComms {
  int32_t rank = 0;
  std::vector<CommRecord> records;
};

struct CommIdentity {
  std::string key;    // equal on all members
  bool named = true;  // false: the stream number stands for the communicator
  int64_t size = 0;   // members, 0: not known
};

struct CommSet {
  std::vector<CommIdentity> communicators;
  std::vector<RankComms> ranks;  // by rank
};

// Types at whose end all members agree in time.
constexpr bool synchronises(CollectiveOp op) {
  return op == CollectiveOp::all_reduce || op == CollectiveOp::all_gather ||
         op == CollectiveOp::reduce_scatter || op == CollectiveOp::barrier;
}
constexpr bool is_point_to_point(CollectiveOp op) {
  return op == CollectiveOp::send || op == CollectiveOp::recv || op == CollectiveOp::send_recv;
}

// Nobody leaves before everybody is there. All-to-alls without metadata are grouped sends and
// receives of a dimension that is no pipeline.
constexpr bool everybody_meets(const CommRecord& r) {
  const bool exchange =
      r.op == CollectiveOp::send_recv && r.kind != CommKind::pp && r.kind != CommKind::other;
  return synchronises(r.op) || r.op == CollectiveOp::all_to_all || exchange;
}

}  // namespace ws
