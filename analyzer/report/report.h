#pragma once
// Report: every value the renderers print, made once from the facts and the findings. Renderers
// only format, so text, Markdown and JSON can not disagree. Plain data, no behaviour.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "advise/finding.h"
#include "advise/frameworks.h"
#include "report/missing_facts.h"

namespace ws {

using LeafTimes =
    std::vector<std::pair<std::string, int64_t>>;  // leaf, ns; in leaf order, no zeros

struct ReportSource {
  std::string path, format;
  std::optional<std::string> tool_version;
  int64_t rank = 0;
};

// Where a run configuration says how many tokens a step takes.
struct ReportThroughput {
  int64_t tokens_per_step = 0;
  double tokens_per_s_per_gpu = 0;
  std::optional<double> tflops_per_gpu;    // model operations, without recompute
  std::optional<double> peak_tflops, mfu;  // dense datasheet peak of peak_precision
  std::optional<std::string> peak_precision;
};

// What our own recorder cost, of the rank where it cost most.
struct ReportRecorder {
  int64_t rank = 0;
  std::optional<double> writer_share, tool_share, slowdown_share;
  std::optional<int64_t> bare_step_ns, recorded_step_ns;
};

struct ReportRun {
  std::string id, tool_version;
  std::vector<ReportSource> sources;
  int64_t rank_count = 0, device_count = 0;
  std::optional<int64_t> world_size, gpu_memory_bytes;
  bool single_rank_of_job = false;
  std::optional<std::string> gpu, platform, framework, selection;
  Frameworks frameworks;        // whose settings the findings have
  Supply supply;                // of what rules could not know
  bool clocks_aligned = false;  // every rank has an offset to the run's clock
  std::optional<int64_t> clock_max_error_ns;
  std::vector<std::pair<std::string, std::string>> config;  // what is known of it
  bool config_given = false;                                // some of it from --config
  std::optional<ReportThroughput> throughput;
  std::optional<ReportRecorder> recorder;
};

struct ReportStep {
  int64_t rank = 0, device = 0, index = 0;
  std::string name;
  int64_t begin_ns = 0, end_ns = 0;
  bool steady = false, complete = false, outlier = false;
  std::optional<std::string> note;
  LeafTimes partition;
};

struct ReportSteps {
  std::string origin, window;
  int64_t count = 0, steady = 0;
  std::optional<int64_t> mean_ns, median_ns, min_ns, max_ns, critical_rank;
  std::optional<double> spread_share;
  std::vector<ReportStep> rows;
  std::vector<std::pair<std::string, int64_t>> left_out;  // reason, how many rows
};

struct ReportLeaf {
  std::string leaf;
  int64_t ns = 0, total_ns = 0;
  double share = 0;
};

// Unit in which one table prints all its times.
struct TimeUnit {
  std::string name = "ms";
  int64_t ns = 1'000'000;
  int decimals = 1;
};

// The partition in loss groups. Both printed columns add up to their sum line exactly.
struct WhereRow {
  std::string group;
  int64_t ns = 0;
  int64_t idle_ns = 0;       // of ns: device idle, whatever its cause
  int64_t share_tenths = 0;  // tenths of a percent; the rows sum to 1000
  int64_t time_shown = 0;    // in the last printed digit of the unit; the rows sum to sum_shown
  std::vector<std::pair<std::string, int64_t>> details;  // label, ns; largest first
};
struct WhereTable {
  TimeUnit unit;
  int64_t sum_ns = 0, sum_shown = 0;
  std::vector<WhereRow> rows;
};

struct ReportLoss {
  std::string loss, cause;
  int64_t lo_ns = 0, hi_ns = 0;
  double lo_share = 0, hi_share = 0;
  std::optional<double> price_lo_share, price_hi_share;
};

struct ReportVerdict {
  std::string kind, cause, confidence;
  std::optional<std::string> loss, wall, also, also_cause;
  std::optional<double> share_lo, share_hi, price_lo, price_hi;
  std::vector<int64_t> where_ranks;      // empty: everybody
  std::vector<std::string> where_steps;  // empty: all steps
  std::vector<std::string> why, missing;
  std::string headline;  // "communication wall: EP all-to-all; communication takes ..."
};

struct ReportRank {
  int64_t rank = 0, device = 0;
  std::string host, rank_source;  // host "": no file names one
  std::optional<std::string> gpu;
  std::optional<int64_t> clock_offset_ns, clock_error_ns, step_mean_ns, late_ns;
  int64_t launch_latency_ns = 0, kernel_gap_ns = 0, ops = 0, ops_with_launch = 0;
  LeafTimes partition;
  std::optional<int64_t> stage_idle_ns;
};

struct ReportKernel {
  std::string name, cls;
  int64_t count = 0, total_ns = 0, mean_ns = 0, p50_ns = 0, p99_ns = 0;
  double share = 0;
  bool unclassified = false;
};

struct ReportCollective {
  std::string group, kind, op;
  std::optional<int64_t> bytes, late_rank;
  int64_t count = 0, total_ns = 0, wait_ns = 0, transfer_ns = 0, unsplit_ns = 0, hidden_ns = 0;
  int64_t min_ns = 0;
  std::optional<double> bus_gbps;
};

struct ReportGap {
  int64_t rank = 0, begin_ns = 0, ns = 0;
  std::optional<int64_t> device;
  std::string before, after;
  std::string step;  // name of the step it begins in, "" when in none
  int64_t since_step_begin_ns = 0;
};
struct ReportIdle {
  std::string cause;
  int64_t ns = 0, count = 0;
  double share = 0;
  std::optional<ReportGap> largest;
};

struct ReportCopies {                  // per steady step and device
  std::string direction, host_memory;  // host_memory "": not told, or between devices
  int64_t bytes = 0, busy_ns = 0;
  std::optional<double> gbps;
};

struct ReportMemory {
  std::optional<int64_t> capacity_bytes, peak_allocated_bytes, peak_reserved_bytes;
  std::optional<double> headroom_share, fragmentation_share, pageable_gbps;
  std::optional<double> pinned_gbps, host_link_gbps, pinned_link_share;
  std::vector<ReportCopies> copies;
  double recompute_share = 0, offload_exposed_share = 0, offload_idle_share = 0, alloc_share = 0;
  double h2d_exposed_share = 0, d2h_exposed_share = 0, pageable_exposed_share = 0;
  double pageable_copies_per_step = 0;
  bool recompute_estimated = false;
  int64_t offload_bytes = 0, h2d_bytes = 0, d2h_bytes = 0, pageable_bytes = 0;
  std::optional<int64_t> latent_wall;  // 1: memory is paid through choices
};

struct ReportLateCause {
  int64_t rank = 0, ns = 0, collectives = 0, steps = 0;
  std::string category, cause;
  double share = 0;
};
struct ReportAcross {  // what several ranks tell together
  int64_t ranks = 0, instances = 0, split = 0, inconsistent = 0, incomplete = 0;
  std::string clock_method, straggler;
  int64_t clock_error_ns = 0, clock_samples = 0, steps = 0, late_steps = 0;
  std::optional<int64_t> straggler_rank, expert_hot_ranks, stages, bubble_micro_batches;
  std::optional<std::string> straggler_step, late_ranks;
  std::optional<double> slower_kernels_share, expert_max_over_mean, expert_max_over_min;
  std::optional<double> stage_max_over_mean, stage_idle_share;
  std::optional<double> load_balance, communication_efficiency, parallel_efficiency,
      host_efficiency;
  std::vector<ReportLateCause> causes;
};

struct ReportWhatIf {
  std::string id;
  int64_t step_lo_ns = 0, step_hi_ns = 0;
  double saved_lo_share = 0, saved_hi_share = 0;
  std::optional<std::string> next_loss, next_cause;
  bool asked = false;  // with --what-if: shown whatever it saves
};

struct ReportReplay {
  int64_t steps = 0;  // step lengths behind every gain
  std::optional<double> unexplained_share;
  std::optional<int64_t> recorded_edges, inferred_edges, dropped_edges;
  bool prices_used = false;
  std::optional<std::string> why_no_gains, why_no_prices;
};
struct ReportPathPart {
  int64_t rank = 0;
  std::string leaf;
  int64_t ns = 0;
  double share = 0;
};

// A finding as printed: the rule's own words and what they rest on.
struct ReportFinding {
  Finding finding;
  std::vector<std::string> missing_facts;  // of an unknown one: "fact_config.ep"
  std::string because;                     // evidence in words: "exposed share 45.1 %"
  std::string gain;                        // "at most 47 %", "" when nothing is promised
  std::vector<std::string> instead_of;     // number and title of earlier findings it excludes
  std::string after;                       // title of the finding that holds it back
  std::string
      ahead_of;  // "4 (phase scale): this one answers the verdict", "" in the order of phases
  // One line per framework: "Megatron-LM", "--flag value"; notes apart.
  struct Line {
    std::string framework, text, note;
  };
  std::vector<Line> actions;
  std::vector<std::string> only_for;  // no action is for this run, these frameworks have some
  std::vector<std::string> with{};    // "--moe-grouped-gemm of item 2": told there already
  std::string to_know{};              // what supplies the missing facts
};

struct ReportNote {
  std::string code, severity, first_place, text, advice;
  int64_t count = 0;
};

struct Report {
  ReportRun run;
  ReportSteps steps;
  std::vector<ReportLeaf> partition;
  int64_t partition_total_ns = 0;
  WhereTable where;
  std::vector<ReportLoss> losses;
  ReportVerdict verdict;
  std::vector<ReportRank> ranks;
  std::vector<ReportKernel> kernels;
  std::vector<ReportCollective> collectives;
  std::vector<ReportIdle> idle;
  std::optional<ReportMemory> memory;
  std::optional<ReportAcross> across;  // nullopt: one device
  std::vector<ReportWhatIf> what_if;
  ReportReplay replay;
  std::vector<ReportPathPart> path;     // critical path, by rank and leaf
  std::vector<ReportFinding> findings;  // those that fire, then the unknown ones, each in order
  std::vector<std::string>
      not_offered;  // "pipeline bubble: interleave the stages (bubble at most 0.4 %)"
  std::vector<std::string> held_back;  // "TITLE (after item 1: TITLE)": a setting is in its way
  struct LaterRelease {
    std::string rule, title, needs;  // needs: "--new-flag came with core 0.18"
    std::string set = {};            // one setting of advice that stands without it; "": all of it
    std::string words() const;       // "--new-flag of TITLE (--new-flag came with core 0.18)"
  };
  std::vector<LaterRelease> later_releases;  // would be offered, but the stated release lacks it
  std::vector<ReportNote> notes;             // worst first
  double opaque_share = 0;  // of the step: in CUDA graphs recorded as a whole, among other kernels
  bool whole_window = false;  // no steps were found: one window, not a step
};

}  // namespace ws
