// Tested by: work_share_test.cpp
#include "facts/work_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/phrases.h"

namespace ws {
namespace {

// Kernels of no known class may be fused matrix multiplications.
bool may_multiply(const std::string& cls) {
  return cls == "gemm" || cls == "attention" || cls == "compute_other";
}

TimeNs math_per_step(const RunAnalysis& run) {
  TimeNs sum = 0;
  for_each_device(run, [&](const RankAnalysis&, const DeviceAnalysis& device, const DeviceMeans&) {
    for (const KernelRow& k : device.kernels) sum += may_multiply(k.cls) ? k.total_ns : 0;
  });
  return sum / std::max<int64_t>(1, run.means.counted);
}

// FP32 and TF32 are slower than 16 bits, whose peak bounds them.
double fastest_peak(const Platform& p, const ConfigShown& shown) {
  int64_t peak = 0;
  if (shown.gemm_types_told)
    for (const std::string& type : shown.precisions) {
      const int64_t of_type = peak_flops(p, type);
      peak = std::max(peak, of_type > 0 ? of_type : p.bf16_flops);
    }
  if (peak == 0) peak = std::max({p.bf16_flops, p.fp8_flops, p.fp4_flops});
  return static_cast<double>(peak) / 1e12;
}

// What repeats may be less than a micro-batch.
bool cut_by_repeats(const RunAnalysis& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(), [](const RankAnalysis& r) {
    return r.step_origin == StepOrigin::kernel_period;
  });
}

double least_samples(const FactInput& in, const Layout& l, const ConfigShown& shown) {
  const auto of_step = static_cast<double>(*l.global_batch);
  if (shown.steps_are_updates) return of_step;
  if (cut_by_repeats(in.run)) return 0;
  const int64_t of_pass = saturating_product(l.dp.value_or(1), l.micro_batch.value_or(1));
  return std::min(of_step, static_cast<double>(of_pass));
}

}  // namespace

bool WorkShare::impossible() const {
  constexpr double kClock = 1.1;  // boards may clock above what the datasheet counts with
  return least_tflop > kClock * peak_tflops * static_cast<double>(math_ns) / 1e9;
}

std::string WorkShare::work_words() const {
  return fmt::format(fmt::runtime(tflop < 10 ? "{:.2g} TFLOP" : "{:.0f} TFLOP"), tflop);
}

std::string WorkShare::time_words() const {
  return fmt::format(
      "{} of GEMM and attention kernels, in which that is {:.0f} % of the dense peak of {}, {:.0f} "
      "TFLOPS",
      duration(math_ns), 100 * share(), platform, peak_tflops);
}

std::optional<WorkShare> work_share(const FactInput& in, const ConfigStudy& study,
                                    const ConfigShown& shown) {
  const Layout& l = study.layout;
  const Platform* platform = in.gpu.platform;
  if (!shown.whole || platform == nullptr || !study.model.shape || !l.global_batch || !l.seq_len)
    return std::nullopt;
  int64_t world = 0;
  for (const RankAnalysis& rank : in.run.ranks) world = std::max<int64_t>(world, rank.world_size);
  const int64_t gpus = l.gpus.value_or(world);
  WorkShare out;
  out.math_ns = math_per_step(in.run);
  out.peak_tflops = fastest_peak(*platform, shown);
  out.platform = platform->board.empty() ? platform->key : platform->board;
  if (gpus <= 0 || out.math_ns <= 0 || out.peak_tflops <= 0) return std::nullopt;
  const double tokens = static_cast<double>(*l.seq_len) / static_cast<double>(gpus) / 1e12;
  out.tflop = static_cast<double>(*l.global_batch) * tokens *
              flops_per_token(*study.model.shape, *l.seq_len);
  out.least_tflop =
      least_samples(in, l, shown) * tokens * flops_per_token(*study.model.shape, 0) * 2 / 3;
  const bool all = static_cast<int64_t>(in.run.means.devices.size()) >= gpus;
  if (!all && (l.pp > 1 || l.ep > 1)) out.least_tflop /= 2;
  return out;
}

std::optional<Contradiction> work_against_time(const std::optional<WorkShare>& work) {
  if (!work || !work->impossible()) return std::nullopt;
  return Contradiction{"work of a step", work->work_words() + " per GPU", work->time_words(),
                       false};
}

}  // namespace ws
