// Tested by: report_test, tests/golden
#include "report/across_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "report/numbers.h"
#include "report/table_rows.h"

namespace ws {
namespace {

// "expert_gemm" as a reader says it.
std::string category_words(const ReportLateCause& c) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"gemm", "GEMM"},
      {"expert_gemm", "expert GEMM"},
      {"membound", "memory-bound kernels"},
      {"compute_other", "other kernels"},
      {"copy", "copies"},
      {"offload", "offload copies"},
      {"launch", "launching"},
      {"host", "host without launches"},
      {"sync", "synchronisation"},
      {"alloc", "allocator"},
      {"dataload", "data loading"},
      {"gc", "garbage collection"},
      {"jit", "code loading"},
      {"transfer", "slower transfers"},
      {"unknown", "not recorded"}};
  for (const auto& [id, words] : kWords)
    if (id == c.category) return std::string(words);
  return c.category;
}

}  // namespace

Table late_table(const Report& report, bool all) {
  Table t{"WHY RANKS WERE LATE",
          "what took the last to arrive longer than the others, " +
              (report.steps.steady > 1 ? "per step" : steps_word(report)),
          {{"rank", true},
           {"reason"},
           {"delay", true},
           {"of all", true},
           {"collectives", true},
           {"steps", true}},
          {},
          {}};
  if (!report.across) return t;
  int64_t delay = 0;
  for (const ReportLateCause& c : report.across->causes) delay += c.ns;
  if (200 * delay < report.steps.mean_ns.value_or(0)) return t;  // jitter needs no reasons
  fill(t, report.across->causes, all, "those of most delay", [](const ReportLateCause& c) {
    return std::vector<std::string>{fmt::format("{}", c.rank),
                                    category_words(c),
                                    duration_text(c.ns),
                                    percent_text(c.share),
                                    fmt::format("{}", c.collectives),
                                    fmt::format("{}", c.steps)};
  });
  return t;
}

Table across_table(const Report& report) {
  Table t{"ACROSS RANKS", "", {{"what"}, {"value", true}, {"", false, true}}, {}, {}};
  if (!report.across) return t;
  const ReportAcross& a = *report.across;
  const auto row = [&](std::string what, std::string value, std::string words) {
    t.rows.push_back({std::move(what), std::move(value), std::move(words)});
  };
  if (a.instances > 0) {
    row("collectives matched", fmt::format("{} of {}", a.split, a.instances),
        a.clock_samples == 0
            ? "no common ends: clocks taken as recorded"
            : fmt::format("clocks {} to {} ({} common end{})",
                          a.clock_method == "shared" ? "agree as recorded" : "aligned",
                          duration_text(a.clock_error_ns), a.clock_samples,
                          a.clock_samples == 1 ? "" : "s"));
  }
  if (a.expert_max_over_mean) {
    row("expert balance", fmt::format("{:.2f}", *a.expert_max_over_mean),
        fmt::format("most expert work over the mean; {} hot rank{}", a.expert_hot_ranks.value_or(0),
                    a.expert_hot_ranks == 1 ? "" : "s"));
  }
  if (a.stages) {
    row("pipeline stages", fmt::format("{}", *a.stages),
        a.stage_max_over_mean
            ? fmt::format("busiest over mean {:.2f}", *a.stage_max_over_mean) +
                  (a.bubble_micro_batches ? fmt::format("; bubble of 1F1B with {} micro-batches",
                                                        *a.bubble_micro_batches)
                                          : "")
            : "");
  }
  if (a.parallel_efficiency && a.load_balance && a.communication_efficiency && a.host_efficiency) {
    row("parallel efficiency", percent_text(*a.parallel_efficiency),
        fmt::format("balance {} x busiest rank computing {}; host {}",
                    percent_text(*a.load_balance), percent_text(*a.communication_efficiency),
                    percent_text(*a.host_efficiency)));
    // An ideal network leaves what ranks wait for each other (POP: serialisation).
    const auto ideal = std::find_if(report.what_if.begin(), report.what_if.end(),
                                    [](const auto& w) { return w.id == "communication_zero"; });
    if (a.communication_efficiency && a.split > 0 && ideal != report.what_if.end() &&
        ideal->saved_hi_share < 1) {
      const double transfer = 1 - ideal->saved_hi_share;
      row("busiest rank computing", percent_text(*a.communication_efficiency),
          fmt::format("serialisation {} x transfer {} (a network without delay)",
                      percent_text(std::min(1.0, *a.communication_efficiency / transfer)),
                      percent_text(transfer)));
    }
  }
  return t;
}

}  // namespace ws
