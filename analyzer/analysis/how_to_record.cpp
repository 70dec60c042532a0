// Nsight Systems and CUPTI's own settings are of no use on GPUs of AMD; torch.profiler is on all.
// Tested by: verdict_test (run_evidence_test.cpp)
#include "analysis/how_to_record.h"

#include <fmt/format.h>

#include "model/recommended_recording.h"

namespace ws {

Recorders recorders_of(std::span<const RankAnalysis> ranks) {
  std::string format, gpu;
  for (const RankAnalysis& rank : ranks) {
    if (&rank == &ranks.front()) format = rank.format;
    if (rank.format != format) format.clear();
    for (const DeviceAnalysis& device : rank.devices)
      if (gpu.empty()) gpu = device.gpu;
  }
  return recorders_for(format, gpu);
}

std::string how_to_record_peers(std::span<const RankAnalysis> ranks) {
  return fmt::format(
      "all ranks of the communicator in the same steps: {}, then `wallsight analyze` with all "
      "files together",
      recorders_of(ranks).either("torch.profiler on every rank",
                                 "`nsys profile --trace=cuda,nvtx -o rank%q{RANK} ...`"));
}

std::string how_to_record_steps(std::span<const RankAnalysis> ranks) {
  const std::string torch = fmt::format("{} and prof.step() every iteration", kProfilerSchedule);
  return fmt::format(
      "five steps or more after warm-up, with markers: {}; where a range of the recording is one "
      "step already, name it with --step-range",
      recorders_of(ranks).either(torch,
                                 "an NVTX range per iteration and `nsys profile "
                                 "--trace=cuda,nvtx --capture-range=cudaProfilerApi`"));
}

std::string how_to_record_host(std::span<const RankAnalysis> ranks) {
  const Recorders with = recorders_of(ranks);
  return fmt::format(
      "{} calls with correlation ids and host ranges, from before the first step: {}",
      with.nsys ? "CUDA API" : "HIP API",
      with.either("torch.profiler with ProfilerActivity.CPU and ProfilerActivity.CUDA",
                  "`nsys profile --trace=cuda,nvtx,osrt`"));
}

std::string how_to_record_waits(std::span<const RankAnalysis> ranks) {
  const Recorders with = recorders_of(ranks);
  const std::string how =
      with.either("torch.profiler with the experimental setting enable_cuda_sync_events=True",
                  "`nsys profile --trace=cuda,nvtx --cuda-event-trace=true`");
  return fmt::format(
      "what launched work waits for{}: the longest such stretch is in the table of idle time",
      with.nsys ? fmt::format(", CUDA events and stream waits ({})", how) : "");
}

std::string how_to_record_gpu(std::span<const RankAnalysis> ranks) {
  const Recorders with = recorders_of(ranks);
  return fmt::format("GPU activity: {}; check the capture range, and that no other tool holds {}",
                     with.either("torch.profiler with ProfilerActivity.CUDA",
                                 "`nsys profile --trace=cuda --trace-fork-before-exec=true`"),
                     with.nsys ? "CUPTI" : "the tracer");
}

std::string how_to_record_graphs(std::span<const RankAnalysis> ranks) {
  return recorders_of(ranks).nsys
             ? "the kernels inside CUDA graphs: `nsys profile --cuda-graph-trace=node`"
             : "the kernels inside graphs: the same steps without graphs";
}

}  // namespace ws
