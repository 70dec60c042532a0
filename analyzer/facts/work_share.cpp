// Tested by: work_share_test.cpp
#include "facts/work_share.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/phrases.h"

namespace ws {
namespace {

constexpr const char* kInFp32 = "FP32";

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

struct Peaks {
  double bf16 = 0, fp8 = 0, fp4 = 0;  // TFLOPS, dense
};

// Of the recorded board; of one that no row knows, the highest of the table.
Peaks peaks_of(const FactInput& in) {
  Peaks out;
  const auto add = [&](const Platform& p) {
    out.bf16 = std::max(out.bf16, static_cast<double>(p.bf16_flops) / 1e12);
    out.fp8 = std::max(out.fp8, static_cast<double>(p.fp8_flops) / 1e12);
    out.fp4 = std::max(out.fp4, static_cast<double>(p.fp4_flops) / 1e12);
  };
  if (in.gpu.platform != nullptr)
    add(*in.gpu.platform);
  else
    for (const Platform& p : in.platforms.rows()) add(p);
  return out;
}

struct Bound {
  double tflops = 0;
  std::string in;  // "FP8"
};

Bound faster(Bound a, Bound b) { return b.tflops > a.tflops ? b : a; }

// TF32 runs at half the rate of 16 bits on every GPU that has it. Of FP32 no row knows the rate,
// but none is faster than the MI300X (datasheet: 163.4 TFLOPS, matrix).
Bound peak_of(const std::string& type, const Peaks& p) {
  constexpr double kFastestFp32 = 163.4;
  if (type == "fp32" && p.bf16 > kFastestFp32) return {kFastestFp32, kInFp32};
  if (type == "tf32") return {p.bf16 / 2, "TF32"};
  if (type == "nvfp4") return {p.fp4, "FP4"};
  if (type == "fp8" || type == "mxfp8") return {p.fp8, "FP8"};
  return {p.bf16, "16 bits"};
}

// Where names do not tell, anything may have run.
Bound fastest_peak(const Peaks& p, const ConfigShown& shown) {
  Bound out;
  if (shown.gemm_types_told)
    for (const std::string& type : shown.precisions) out = faster(out, peak_of(type, p));
  if (out.tflops > 0) return out;
  for (const char* type : {"bf16", "fp8", "nvfp4"}) out = faster(out, peak_of(type, p));
  return out;
}

// The link to the launches may be missing, the records not.
bool complete(const FactInput& in) {
  const auto lost = lost_records(in.run.ranks);
  return in.evidence.steady_steps > 0 && in.run.means.counted > 0 &&
         (!lost || lost->cause == Cause::unknown) &&
         std::none_of(in.run.ranks.begin(), in.run.ranks.end(), [](const RankAnalysis& rank) {
           return rank.graphs_as_a_whole || rank.step_origin == StepOrigin::whole;
         });
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
  return least_tflop > kClock * sure_peak_tflops * static_cast<double>(math_ns) / 1e9;
}

std::string WorkShare::work_words() const {
  return fmt::format(fmt::runtime(tflop < 10 ? "{:.2g} TFLOP" : "{:.0f} TFLOP"), tflop);
}

std::string WorkShare::time_words() const {
  if (math_ns == 0) return "no kernel that multiplies";
  const std::string head =
      fmt::format("{} of GEMM and attention kernels, in which that is {:.0f} %", duration(math_ns),
                  100 * share());
  if (peak_in == kInFp32)
    return fmt::format("{} of {:.0f} TFLOPS, which no GPU exceeds in FP32", head, peak_tflops);
  return fmt::format("{} of the dense peak of {}, {:.0f} TFLOPS in {}", head, platform, peak_tflops,
                     peak_in);
}

WorkShare WorkShare::held_against(const Platform& of, const std::string& precision) const {
  WorkShare out = *this;
  const double peak = static_cast<double>(peak_flops(of, precision)) / 1e12;
  if (peak <= 0 || peak >= peak_tflops) return out;
  out.peak_tflops = peak;
  out.peak_in = peak_of(precision, {}).in;
  return out;
}

std::optional<WorkShare> work_share(const FactInput& in, const ConfigStudy& study,
                                    const ConfigShown& shown) {
  const Layout& l = study.layout;
  if (!complete(in) || !study.model.shape || !l.global_batch || !l.seq_len) return std::nullopt;
  const Platform* platform = in.gpu.platform;
  const bool slice = platform != nullptr && platform->bf16_flops == 0;
  int64_t world = 0;
  for (const RankAnalysis& rank : in.run.ranks) world = std::max<int64_t>(world, rank.world_size);
  const int64_t gpus = l.gpus.value_or(world);
  WorkShare out;
  out.math_ns = math_per_step(in.run);
  const Peaks peaks = peaks_of(in);
  const Bound bound = fastest_peak(peaks, shown);
  out.peak_tflops = bound.tflops;
  out.peak_in = bound.in;
  out.sure_peak_tflops = std::max(out.peak_tflops, peaks.bf16);
  out.platform = platform == nullptr       ? "any GPU at this precision"
                 : platform->board.empty() ? platform->key
                                           : platform->board;
  if (gpus <= 0 || slice || out.peak_tflops <= 0) return std::nullopt;
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
