#pragma once
// What every device record of a Trace does: the answer of label_ops (label_ops.h), and the input
// of the partition. One row per row of Trace::ops.
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/names.h"
#include "model/notes.h"

namespace ws {

enum OpFlag : uint8_t {
  kFlagRecompute = 1,  // forward work repeated in the backward pass
  kFlagOffload = 2,    // copy of activations, parameters or optimizer state to or from the host
  kFlagFusedComm = 4,  // GEMM that communicates as well
  kFlagGrouped = 8,    // grouped GEMM of MoE experts
  kFlagOptimizer = 16,
  kFlagMoe = 32,           // routing, permute, expert bookkeeping
  kFlagUnclassified = 64,  // no row of the kernel table matched
  kFlagEpLibrary = 128     // DeepEP / HybridEP: expert parallel by name
};

struct OpLabels {
  std::vector<OpClass> cls;
  std::vector<CommKind> kind;          // comm only, else other
  std::vector<CollectiveOp> coll;      // comm only, else unknown
  std::vector<uint8_t> flags;          // OpFlag bits
  std::vector<uint32_t> communicator;  // row of communicators, kNoRow for everything else
};

// A communicator as far as the source tells: hash or group name + members, else the stream.
struct Communicator {
  std::string name;              // shown: group description, else name, else "stream 20"
  std::string key;               // equal on all ranks of the job that are members
  std::vector<int64_t> members;  // world ranks, empty: not known
  int64_t size = 0;              // 0: not known
  CommKind kind = CommKind::other;
  bool named = false;    // false: the stream stands for it
  bool guessed = false;  // kind comes from patterns, not from a name
};

// One communication op: what the source says of it beyond the columns of OpLabels.
struct CommOp {
  uint32_t op = 0;               // row of Trace::ops
  uint32_t collective = kNoRow;  // row of Trace::collectives: its own, or of the enclosing range
  int64_t bytes = -1;            // payload: max(in, out) elements x dtype size, -1: not known
};

struct Labels {
  OpLabels ops;
  std::vector<Communicator> communicators;
  std::vector<CommOp> comm_ops;              // class comm only, in order of op
  bool recompute_would_show = false;         // flag_recompute() can tell that there is none
  bool recompute_ranges_would_show = false;  // ... of any module
  Notes notes;
};

}  // namespace ws
