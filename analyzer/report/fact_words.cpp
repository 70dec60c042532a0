// One table of names and units; what is not in it is said by its column. A rule may have any alias
// for a table with one row; of the others the clause that picks the row says what it is about.
// Tested by: fact_words_test.cpp
#include "report/fact_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "facts/fact_db.h"
#include "report/numbers.h"
#include "report/phrases.h"

namespace ws {
namespace {

enum class Unit { plain, share, flag, time, bytes };

struct Words {
  std::string_view fact;   // "share_lo", or "idle.share" where the alias matters
  std::string_view words;  // {} is what the row is about; "": not for readers
  Unit unit = Unit::plain;
};

constexpr Words kWords[] = {
    {"exposed_share", "exposed {} communication", Unit::share},
    {"4 * cfg.pp", ""},  // stand in the words of their rule
    {"4 * cfg.pp * lay.samples_per_pass", ""},
    {"round(col.bus_gbps)", "bus GB/s"},
    {"coalesce(cfg.moe_token_dispatcher_type, 'allgather')", "dispatcher"},
    {"transfer_share", "of it {} transfer", Unit::share},
    {"wait_share", "of it {} waiting", Unit::share},
    {"unsplit_share", "of it {} waiting or transfer", Unit::share},
    {"overlap_share", "{} communication under compute", Unit::share},
    {"total_share", "{} communication in all", Unit::share},
    {"main_op", "mostly {}"},
    {"share", "{} share", Unit::share},
    {"mean_ns", "mean {} kernel", Unit::time},
    {"count", "{} per step"},
    {"largest_ns", "longest {}", Unit::time},
    {"largest_rank", "on rank"},
    {"lo_share", "{} at least", Unit::share},
    {"hi_share", "{} at most", Unit::share},
    {"share_lo", "the loss takes at least", Unit::share},
    {"share_hi", "the loss takes at most", Unit::share},
    {"price_lo", "removing it gains at least", Unit::share},
    {"price_hi", "removing it gains at most", Unit::share},
    {"where_ranks", "ranks"},
    {"where_steps", "steps"},
    {"step_origin", "steps found by"},
    {"stage_max_over_mean", "busiest stage, of their mean", Unit::share},
    {"step_median_ns", "median step", Unit::time},
    {"step_count", "steps"},
    {"steady_count", "steps in the means"},
    {"rank_count", "ranks recorded"},
    {"device_count", "GPUs recorded"},
    {"world_size", "ranks in the job"},
    {"comm_exposed_share", "exposed communication", Unit::share},
    {"compute_share", "compute", Unit::share},
    {"idle_share", "idle", Unit::share},
    {"opaque_share", "inside graphs", Unit::share},
    {"unknown_share", "idle without a cause", Unit::share},
    {"profiler_share", "the profiler itself, of all steps, those left out of the means too,",
     Unit::share},
    {"linked_share", "kernels with their launch", Unit::share},
    {"platform", "GPU"},
    {"run.framework", ""},
    {"alloc_calls_per_step", "calls for memory per step"},
    {"api_calls_per_step", "API calls per step"},
    {"kernels_per_step", "kernels per step"},
    {"launches_per_step", "launches per step"},
    {"syncs_per_step", "synchronising calls per step"},
    {"small_d2h_per_step", "small copies to the host per step"},
    {"mean_kernel_ns", "mean kernel", Unit::time},
    {"launch_spacing_ns", "from launch to launch", Unit::time},
    {"sync_host_ns", "host time in synchronising calls", Unit::time},
    {"steps_with_pause", "steps with a pause of the host"},
    {"recompute_share", "recompute", Unit::share},
    {"recompute_estimated", ""},
    {"headroom_share", "free memory", Unit::share},
    {"fragmentation_share", "reserved but not allocated", Unit::share},
    {"alloc_share", "waiting for the allocator", Unit::share},
    {"offload_exposed_share", "exposed offload copies", Unit::share},
    {"offload_idle_share", "idle between the offload copies", Unit::share},
    {"pageable_exposed_share", "exposed pageable copies", Unit::share},
    {"pageable_copies_per_step", "pageable copies per step"},
    {"pageable_gbps", "their rate in GB/s"},
    {"pinned_gbps", "GB/s of large pinned copies"},
    {"host_link_gbps", "GB/s of the link"},
    {"pinned_link_share", "of the link to the host", Unit::share},
    {"os", "system"},
    {"h2d_exposed_share", "exposed copies to the device", Unit::share},
    {"d2h_exposed_share", "exposed copies to the host", Unit::share},
    {"h2d_bytes", "copied to the device per step", Unit::bytes},
    {"d2h_bytes", "copied to the host per step", Unit::bytes},
    {"peak_reserved_bytes", "peak reserved", Unit::bytes},
    {"peak_allocated_bytes", "peak allocated", Unit::bytes},
    {"capacity_bytes", "GPU memory", Unit::bytes},
    {"offload_bytes", "offloaded per step", Unit::bytes},
    {"pageable_bytes", "pageable bytes per step", Unit::bytes},
    {"memory_share", "estimate of the GPU's memory", Unit::share},
    {"memory_lo_share", "at least", Unit::share},
    {"memory_hi_share", "at most", Unit::share},
    {"memory_bytes", "estimate", Unit::bytes},
    {"memory_uncertainty_bytes", "give or take", Unit::bytes},
    {"recompute_cheap", ""},
    {"recompute_corrected", "accepted"},
    {"recompute_rejected", "not accepted"},
    {"bubble_share", "bubble of the ideal step", Unit::share},
    {"etp_used", "ETP as taken"},
    {"shard_arithmetic", ""},
    {"shard_gpus", ""},
    {"shard_product", "replicas x shards x TP x CP x PP"},
    {"fsdp_shard_size", "shards of FSDP"},
    {"fsdp_replicas", "replicas of FSDP"},
    {"attention_arithmetic", ""},  // stands in the reason
    {"expert_arithmetic", ""},
    {"gpus_nearest", ""},
    {"layout_nearest", ""},
    {"batch_arithmetic", ""},
    {"batch_nearest", ""},
    {"sequence_arithmetic", ""},
    {"sequence_nearest", ""},
    {"experts_arithmetic", ""},
    {"experts_nearest", ""},
    {"heads_arithmetic", ""},
    {"heads_nearest", ""},
    {"stages_nearest", ""},
    {"min_gpus", "smallest job"},
    {"attention_product", "TP x CP x PP"},
    {"expert_product", "ETP x EP x PP"},
    {"accumulation", "micro-batches per step"},
    {"samples_per_pass", "micro-batch x DP"},
    {"stages_given", "stages of the layout"},
    {"stages", "PP x VPP"},
    {"tokens_per_shard", "tokens per rank"},
    {"cp_suggested", "CP to start with"},
    {"fast_domain_gpus", "GPUs in an NVLink domain"},
    {"dp_asked", "DP as given"},
    {"tp", "TP"},
    {"pp", "PP"},
    {"cp", "CP"},
    {"ep", "EP"},
    {"etp", "ETP"},
    {"dp", "DP"},
    {"vpp", "VPP"},
    {"gpus", "GPUs"},
    {"seq_len", "sequence"},
    {"num_experts", "experts"},
    {"micro_batch", "micro-batch"},
    {"num_layers", "layers"},
    {"moe_top_k", "experts per token"},
    {"cuda_graphs", "CUDA graphs", Unit::flag},
    {"graphs_asked", "CUDA graphs asked for, not seen", Unit::flag},
    {"reduces_in_16_bits", "gradients reduced in 16 bits", Unit::flag},
    {"optimizer_seen", "optimizer"},
    {"ddp_seen", "DistributedDataParallel in use", Unit::flag},
    {"loader_workers_seen", "batches from worker processes", Unit::flag},
    {"bf16", "BF16", Unit::flag},
    {"fp16", "FP16", Unit::flag},
    {"global_batch", "global batch"},
    {"cuda_device_max_connections", "CUDA_DEVICE_MAX_CONNECTIONS"},
    {"moe_token_dispatcher_type", "dispatcher"},
    {"moe_flex_dispatcher_backend", "its backend"},
    {"dispatcher_asked", "dispatcher asked for"},
    {"precision_asked", "precision asked for"},
    {"CASE WHEN cfg.precision_asked IS NOT NULL THEN cfg.precision END", "precision recorded"},
    {"contradicted", "configured against recorded:"},
    {"denied", ""},
    {"sizes_contradicted", ""},
    {"clock_offset_ns", "clock offset", Unit::time},
    {"clock_error_ns", "clock error", Unit::time},
};

bool ends_with(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}

// A plain column, "c.exposed_share": the name without alias. Empty for anything more.
std::string_view column_of(std::string_view expression) {
  if (expression.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") !=
      std::string_view::npos)
    return {};
  const size_t dot = expression.rfind('.');
  return dot == std::string_view::npos ? expression : expression.substr(dot + 1);
}

const Words* words_of(std::string_view expression) {
  const std::string_view column = column_of(expression);
  const auto find = [](std::string_view name) {
    const auto* it = std::find_if(std::begin(kWords), std::end(kWords),
                                  [&](const Words& w) { return w.fact == name; });
    return it == std::end(kWords) ? nullptr : it;
  };
  const Words* exact = find(expression);
  return exact != nullptr || column.empty() ? exact : find(column);
}

// Columns whose comment says that they are 0 or 1.
bool is_flag(std::string_view column) {
  static const std::vector<FactColumn> kColumns = facts_columns();
  return std::any_of(kColumns.begin(), kColumns.end(), [&](const FactColumn& c) {
    return c.column == column &&
           (c.comment.rfind("0 or 1", 0) == 0 || c.comment.rfind("1:", 0) == 0);
  });
}

Unit unit_of(std::string_view column, const Words* words) {
  if (words != nullptr && words->unit != Unit::plain) return words->unit;
  if (ends_with(column, "_share")) return Unit::share;
  if (ends_with(column, "_ns")) return Unit::time;
  if (ends_with(column, "_bytes")) return Unit::bytes;
  return is_flag(column) ? Unit::flag : Unit::plain;
}

std::string spaced(std::string_view s) {
  std::string out(s);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

std::string upper(std::string s) {
  for (char& c : s)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return s;
}

// What the row of that alias is about, and by which of its columns: `idle.cause = 'launch'` is
// "idle for launch calls", `c.kind = 'dp'` DP.
struct Subject {
  std::string_view key;
  std::string value, words;
};

std::string idle_words(const std::string& cause) {
  if (cause == "kernel_gap") return "idle between kernels";
  if (cause == "dependency") return "idle with work launched";
  if (cause == "unknown") return "idle without a cause";
  return fmt::format("idle for {}", phrase_of_idle(cause));
}

std::string subject_words(std::string_view key, const std::string& value) {
  if (key == "cause") return idle_words(value);
  if (key == "kind" && value.size() == 2) return upper(value);
  if (value == "membound") return "memory-bound";
  return spaced(value);
}

Subject subject_of(std::string_view expression, const Finding& f) {
  const std::string_view alias = expression.substr(0, expression.find('.'));
  for (const ClauseValue& c : f.clauses) {
    for (const std::string_view key : {"kind", "cause", "class", "leaf", "loss"}) {
      const std::string head = fmt::format("{}.{} = '", alias, key);
      if (c.clause.rfind(head, 0) != 0) continue;
      const std::string value =
          c.clause.substr(head.size(), c.clause.find('\'', head.size()) - head.size());
      return {key, value, subject_words(key, value)};
    }
  }
  for (const std::string_view kind : {"tp", "ep", "dp", "pp", "cp"})
    if (alias == kind) return {"kind", std::string(kind), upper(std::string(kind))};
  return {};
}

// What is counted differs by table: idle stretches of the whole recording, collectives of all
// operations of a kind, kernels, and with memory-bound ones copies and fills on the device.
std::string column_template(std::string_view column, const Subject& about, std::string usual) {
  constexpr std::string_view kOfKind = "{} communication";
  const size_t kind =
      about.key == "kind" && about.value == "other" ? usual.find(kOfKind) : std::string::npos;
  if (kind != std::string::npos)
    return usual.replace(kind, kOfKind.size(), "communication of unknown groups");
  if (about.key == "cause" && column == "share") return "{}";
  if (about.key == "cause" && column == "count") return "stretches {}, in all";
  if (about.key == "kind" && column == "count")
    return about.value == "other" ? "collectives of unknown groups per step"
                                  : "{} collectives of every kind per step";
  const bool membound = about.key == "class" && about.value == "membound";
  if (membound && column == "count")
    return "memory-bound kernels, device copies and fills per step";
  if (membound && column == "mean_ns") return "mean of these";
  if (about.key == "class" && column == "count") return "{} kernels per step";
  return usual;
}

std::string shown(const EvidenceValue& e, Unit unit) {
  if (!e.number) {
    const size_t first = e.value.find_first_not_of(' ');  // ' moe_act layernorm '
    return first == std::string::npos
               ? ""
               : e.value.substr(first, e.value.find_last_not_of(' ') - first + 1);
  }
  const auto whole = static_cast<int64_t>(*e.number);
  switch (unit) {
    case Unit::share:
      return percent_text(*e.number);
    case Unit::flag:
      return whole != 0 ? "yes" : "no";
    case Unit::time:
      return duration_text(whole);
    case Unit::bytes:
      return bytes_text(whole);
    case Unit::plain:
      break;
  }
  return count_text(*e.number);
}

}  // namespace

std::optional<bool> visible_share(const EvidenceValue& e) {
  const std::string_view column = column_of(e.expression);
  if (!e.number || unit_of(column, words_of(e.expression)) != Unit::share) return std::nullopt;
  return *e.number >= 0.0005;
}

std::string column_words(std::string_view column) {
  const Words* words = words_of(column);
  if (words == nullptr || words->words.empty() || words->words.find("{}") != std::string::npos)
    return spaced(column);
  return std::string(words->words);
}

std::string config_words(const std::string& column, const std::string& value) {
  if (column == "framework") return fmt::format("framework {}", phrase_of_framework(value));
  const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
  const auto numeric = number ? std::optional(std::strtod(value.c_str(), nullptr)) : std::nullopt;
  return fact_words({"cfg." + column, value, numeric}, {});
}

std::string fact_words(const EvidenceValue& e, const Finding& f) {
  const std::string_view column = column_of(e.expression);
  const Words* words = words_of(e.expression);
  if (words != nullptr && words->words.empty()) return "";
  if (column.empty() && words == nullptr) return fmt::format("{} = {}", e.expression, e.value);
  const std::string value = shown(e, unit_of(column, words));
  if (value.empty() || (e.value == "unknown" && !e.number)) return "";
  if (column == "main_op") return "mostly " + spaced(value);
  if (column == "step_origin")
    return value == "whole" ? "no steps found"
                            : fmt::format("steps found by {}", phrase_of_origin(value));
  std::string out = words != nullptr ? std::string(words->words) : spaced(column);
  if (out.find("{}") != std::string::npos) {
    const Subject about = subject_of(e.expression, f);
    out = column_template(column, about, out);
    if (const size_t mark = out.find("{}"); mark != std::string::npos)
      out.replace(mark, 2, about.words);
    if (const size_t gap = out.find("  "); gap != std::string::npos) out.erase(gap, 1);
    if (!out.empty() && out[0] == ' ') out.erase(0, 1);
  }
  return out + ' ' + value;
}

}  // namespace ws
