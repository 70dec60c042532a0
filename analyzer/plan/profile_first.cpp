// Which walls a configuration makes likely, by its own numbers. Tested by: profile_first_test.cpp
#include <fmt/format.h>

#include <map>

#include "plan/plan.h"
#include "plan/plan_parts.h"
#include "plan/render_plan.h"

namespace ws {
namespace {

constexpr double kBubbleSeen = 0.05;       // of the ideal step
constexpr int64_t kLongSequence = 65'536;  // from here on attention leads (arXiv 2603.07685: 69 %)
constexpr int64_t kBlackwell = 10;         // compute capability from which kernels are that short
constexpr size_t kMostSteps = 3;

using Figures = std::map<std::string, std::string>;

bool is_blackwell(const Platform& p) {
  return std::atoi(p.compute_capability.c_str()) >= kBlackwell;
}

// Groups of so many neighbours against the GPUs that reach each other over the fast link.
void put_group(const char* name, int64_t ranks, const ConfigStudy& study, Figures& out) {
  if (ranks <= 1) return;
  const int64_t domain = study.platform == nullptr ? 0 : study.platform->fast_domain_gpus;
  const char* where = domain == 0 ? "_somewhere" : ranks > domain ? "_across" : "_inside";
  out[name + std::string(where)] = "";
}

void put_groups(const Layout& l, const ConfigStudy& study, Figures& out) {
  if (l.experts && !from_outside(l, "ep") && l.ep > 1)
    put_group("experts", saturating_product(l.ep, l.etp), study, out);
  if (!from_outside(l, "tp")) put_group("tp", l.tp, study, out);
  if (!from_outside(l, "cp") && !from_outside(l, "tp") && l.cp > 1)
    put_group("cp", saturating_product(l.tp, l.cp), study, out);
  out["expert_ranks"] = fmt::format("{}", saturating_product(l.ep, l.etp));
  out["sequence_ranks"] = fmt::format("{}", saturating_product(l.tp, l.cp));
}

// Every name that holds, and the figures of the marks.
Figures figures_of(const RunConfig& config, const ConfigStudy& study) {
  const Layout& l = study.layout;
  Figures out;
  put_groups(l, study, out);
  const auto hold = [&](const char* name, bool holds) {
    if (holds) out[name] = "";
  };
  hold("full_recompute", text(config, "recompute_granularity") == "full");
  hold("optimizer_on_host", boolean(config, "optimizer_cpu_offload").value_or(false));
  hold("bubble", l.bubble_share.value_or(0) >= kBubbleSeen);
  hold("long_context", l.seq_len.value_or(0) >= kLongSequence);
  hold("gradients_open", l.dp.value_or(1) > 1 && boolean(config, "overlap_grad_reduce") == false);
  hold("dp_groups", l.dp.value_or(1) > 1 && boolean(config, "overlap_grad_reduce") != false);
  hold("one_gpu", l.gpus == 1);
  const bool graphs = text(config, "cuda_graph_impl").value_or("none") != "none";
  if (const Platform* p = study.platform) {
    hold("short_kernels", is_blackwell(*p) && l.micro_batch == 1 && !graphs);
    hold("bf16_where_fp8", study.precision == "bf16" && p->fp8_flops > 0);
    out["domain"] = gpus_words(p->fast_domain_gpus);
  }
  const auto figure = [&](const char* name, std::optional<int64_t> v) {
    if (v) out[name] = fmt::format("{}", *v);
  };
  figure("tp", l.tp);
  figure("cp", l.cp);
  figure("dp", l.dp);
  figure("seq_len", l.seq_len);
  figure("micro_batch", l.micro_batch);
  out["bubble_percent"] = fmt::format("{:.1f}", 100 * l.bubble_share.value_or(0));
  return out;
}

std::string filled(std::string what, const Figures& figures) {
  for (const auto& [name, value] : figures) {
    const std::string mark = "{" + name + "}";
    for (size_t at = what.find(mark); at != std::string::npos; at = what.find(mark, at))
      what.replace(at, mark.size(), value);
  }
  return what;
}

}  // namespace

std::string profile_first(const RunConfig& config, const ConfigStudy& study,
                          const std::vector<ProfileStep>& steps) {
  const Figures figures = figures_of(config, study);
  std::string out;
  size_t count = 0;
  for (const ProfileStep& step : steps) {
    if (count == kMostSteps || figures.count(step.when) == 0) continue;
    out += (count++ == 0 ? "" : "; then ") + filled(step.what, figures);
  }
  return out;
}

}  // namespace ws
