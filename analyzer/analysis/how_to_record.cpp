// Nsight Systems and CUPTI's own settings are of no use on GPUs of AMD; torch.profiler is on all.
// Tested by: verdict_test (run_evidence_test.cpp)
#include "analysis/how_to_record.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/recommended_recording.h"

namespace ws {
namespace {

// Known to be of AMD; a GPU without a name may be anybody's.
bool of_amd(std::span<const RankAnalysis> ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankAnalysis& rank) {
    return std::any_of(rank.devices.begin(), rank.devices.end(), [](const DeviceAnalysis& d) {
      return d.gpu.find("AMD") != std::string::npos;
    });
  });
}

}  // namespace

std::string how_to_record_peers(std::span<const RankAnalysis> ranks) {
  return fmt::format(
      "all ranks of the communicator in the same steps: {}torch.profiler on every rank, then "
      "`wallsight analyze` with all files together",
      of_amd(ranks) ? "" : "`nsys profile --trace=cuda,nvtx -o rank%q{RANK} ...` or ");
}

std::string how_to_record_steps(std::span<const RankAnalysis> ranks) {
  return fmt::format(
      "five steps or more after warm-up, with markers: {} and prof.step() every iteration{}; where "
      "a range of the recording is one step already, name it with --step-range",
      kProfilerSchedule,
      of_amd(ranks) ? ""
                    : ", or an NVTX range per iteration and `nsys profile --trace=cuda,nvtx "
                      "--capture-range=cudaProfilerApi`");
}

std::string how_to_record_host(std::span<const RankAnalysis> ranks) {
  return fmt::format(
      "{} calls with correlation ids and host ranges, from before the first step: "
      "{}torch.profiler with ProfilerActivity.CPU and ProfilerActivity.CUDA",
      of_amd(ranks) ? "HIP API" : "CUDA API",
      of_amd(ranks) ? "" : "`nsys profile --trace=cuda,nvtx,osrt` or ");
}

std::string how_to_record_waits(std::span<const RankAnalysis> ranks) {
  return fmt::format(
      "what launched work waits for{}: the longest such stretch is in the table of idle time",
      of_amd(ranks) ? ""
                    : ", CUDA events and stream waits (`nsys profile --trace=cuda,nvtx "
                      "--cuda-event-trace=true`, or torch.profiler with the experimental setting "
                      "enable_cuda_sync_events=True)");
}

std::string how_to_record_gpu(std::span<const RankAnalysis> ranks) {
  return of_amd(ranks)
             ? "GPU activity: torch.profiler with ProfilerActivity.CUDA; check the capture range, "
               "and that no other tool holds the tracer"
             : "GPU activity: torch.profiler with ProfilerActivity.CUDA, or `nsys profile "
               "--trace=cuda --trace-fork-before-exec=true`; check the capture range, and that no "
               "other tool holds CUPTI";
}

std::string how_to_record_graphs(std::span<const RankAnalysis> ranks) {
  return of_amd(ranks) ? "the kernels inside graphs: the same steps without graphs"
                       : "the kernels inside CUDA graphs: `nsys profile --cuda-graph-trace=node`";
}

}  // namespace ws
