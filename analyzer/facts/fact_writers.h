#pragma once
// The groups of tables; write_facts() calls each once. Private to facts/.
#include "analysis/run_evidence.h"
#include "facts/config_merge.h"
#include "facts/fact_table.h"
#include "facts/write_facts.h"

namespace ws {

// Of the first device with a name; smallest_bytes: of all devices, where GPUs differ. 0: not known.
struct RecordedGpu {
  std::string name;
  int64_t memory_bytes = 0, smallest_bytes = 0;
  const Platform* platform = nullptr;
};
RecordedGpu recorded_gpu(const RunAnalysis& run, const Platforms& platforms);

// What the file asks of one GPU in a step, and the time that it had: see facts/work_share.h.
struct WorkShare {
  double tflop = 0;  // of one GPU and step, by the file
  // The least that the file can mean: weights that learn nothing (two of three passes), attention
  // over short windows, one micro-batch where steps may be micro-batches, a rank with half the work
  // of the mean where others are not in the recording.
  double least_tflop = 0;
  TimeNs math_ns = 0;  // per step and device, of all kernels that may multiply; parallel ones add
  double peak_tflops = 0;       // dense, of the fastest precision that kernel names tell
  double sure_peak_tflops = 0;  // the same or that of 16 bits: kernels without a type may have it
  std::string peak_in;          // of which type: "FP8"
  std::string platform;         // whose peak it is

  double share() const { return tflop / (static_cast<double>(math_ns) / 1e9 * peak_tflops); }
  // The same against the peak of this precision where that is lower: no rate is printed of which
  // the kernels would exceed the peak that is printed beside it.
  WorkShare held_against(const Platform& of, const std::string& precision) const;
  // Beyond any clock: no run of this file.
  bool impossible() const;
  std::string work_words() const;  // "27 TFLOP"
  // "45 ms of GEMM and attention kernels, in which that is 194 % of the dense peak of a100, ..."
  std::string time_words() const;
};

struct FactInput {
  const RunAnalysis& run;
  const Platforms& platforms;
  const FactOptions& options;
  RunEvidence evidence;
  RecordedGpu gpu;
  ConfigShown shown = {};                 // what the recording says of the configuration
  std::optional<ConfigMerge> merge = {};  // there where options.config is
  std::optional<WorkShare> work = {};     // where it and the recording say enough
  // The framework of the file or the command line is not the one that ran.
  std::optional<Contradiction> other_framework = {};
};

// What the records alone show of the configuration, under the names of fact_config's columns.
FactRowValues recorded_config(const RunAnalysis& run);

Result<void> write_run(const Database& db, const FactInput& in);      // fact_run, fact_source
Result<void> write_config(const Database& db, const FactInput& in);   // fact_config
Result<void> write_layout(const Database& db, const FactInput& in);   // fact_layout, _throughput
Result<void> write_ranks(const Database& db, const FactInput& in);    // fact_rank, fact_rank_leaf
Result<void> write_steps(const Database& db, const FactInput& in);    // fact_step, fact_step_leaf
Result<void> write_losses(const Database& db, const FactInput& in);   // fact_leaf, fact_loss, texts
Result<void> write_kernels(const Database& db, const FactInput& in);  // fact_kernel, its classes
Result<void> write_collectives(const Database& db,
                               const FactInput& in);                 // fact_collective, fact_comm
Result<void> write_idle(const Database& db, const FactInput& in);    // fact_idle
Result<void> write_host(const Database& db, const FactInput& in);    // fact_host
Result<void> write_memory(const Database& db, const FactInput& in);  // fact_memory, fact_copy
Result<void> write_what_if(const Database& db,
                           const FactInput& in);  // fact_what_if, fact_replay, fact_path
Result<void> write_across(const Database& db, const FactInput& in);  // fact_across, fact_late_cause
Result<void> write_recorder(const Database& db, const FactInput& in);  // fact_recorder
Result<void> write_notes(const Database& db, const FactInput& in);     // fact_note

// f(rank, device, its means) for every device in the means.
template <class F>
void for_each_device(const RunAnalysis& run, F f) {
  for (const DeviceMeans& means : run.means.devices)
    f(run.ranks[means.rank_row], run.ranks[means.rank_row].devices[means.device_row], means);
}

// Names as the run's facts show them.
std::string shown_path(const FactInput& in, const RankAnalysis& rank);
std::optional<std::string> shown_host(const FactInput& in, const RankAnalysis& rank);

}  // namespace ws
