#pragma once
// What the records of a run say of settings: how its kernels multiply, how each kind of parallelism
// talks, whether the forward pass runs again. merge_config() holds a configuration against it.
#include <set>
#include <string>

#include "analysis/run_analysis.h"
#include "analysis/run_evidence.h"

namespace ws {

// Collectives of one kind, per counted step and device.
struct KindTraffic {
  double all_reduces = 0;  // of the size of gradients or activations: losses and norms go beside
  // Of any size. User buffers of Transformer Engine are sends and operations without a name.
  double gathers = 0, reduce_scatters = 0, all_to_alls = 0, sends = 0;
  double records = 0;
  double ns = 0, hidden_ns = 0;  // hidden: under compute
  double gather_ns = 0, gather_hidden_ns = 0, reduce_ns = 0, reduce_hidden_ns = 0;
  bool unclear = false;  // operations that no name tells, or the kind was guessed
};

struct ConfigShown {
  // Whole steps of complete records, no graph recorded as one piece: what is not there, did not
  // run.
  bool whole = false;
  double step_ns = 0;
  KindTraffic tp, dp, cp;
  double stage_transfers = 0;  // sends and receives per step of the rank that has fewest; 0: none
  bool no_recompute = false;   // looked for where it would show, and not there
  bool no_checkpoint = false;  // likewise, of any module
  bool recompute = false;      // every rank has it, by ranges, for a share of the step
  bool recompute_of_layers = false;  // for more of it than norms and activations of any layer
  bool user_buffers = false;         // kernels of Transformer Engine's overlap of TP
  bool steps_are_updates = false;    // of the optimizer, surely
  bool lone = false;                 // one GPU that never communicates, and no sign of another
  bool experts = false;              // kernels, collectives or groups of experts
  bool no_experts = false;           // looked for on every rank, and nothing that could be some
  std::set<std::string> precisions;  // of the GEMMs
  bool gemm_types_told = true;       // by the names of most of them
  // Of all ranks by names that nothing else has; sign: what shows that it is no program of
  // Megatron.
  enum class Program : uint8_t {
    unknown,
    no_megatron,
    megatron_core,
    megatron_lm,
    megatron_bridge
  };
  Program program = Program::unknown;
  std::string sign;
};

// Nothing says that the recording is a part of a job: whole steps of one GPU without communication.
bool lone_gpu(const RunAnalysis& run, const RunEvidence& evidence);

ConfigShown config_shown(const RunAnalysis& run, const RunEvidence& evidence);

}  // namespace ws
