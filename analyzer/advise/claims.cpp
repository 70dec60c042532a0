// Tested by: tests/unit/advise/claims_test.cpp; rules_catalogue_test (every gain has a time)
#include "advise/claims.h"

#include <algorithm>
#include <set>
#include <utility>

#include "advise/sql_text.h"

namespace ws {
namespace {

constexpr double kLeastGain = 0.0005;  // what is printed as 0.0 % is no gain

using Times = std::vector<std::string>;
using Row = std::pair<std::string_view, std::string_view>;  // name, its times with blanks between

// Without waits the host's own work runs beside the device's: what it idles for that goes as well.
constexpr Row kChanges[] = {
    {"ep_zero", "comm.ep"},
    {"ep_removed", "comm.ep"},
    {"tp_zero", "comm.tp"},
    {"tp_removed", "comm.tp"},
    {"dp_zero", "comm.dp"},
    {"dp_removed", "comm.dp"},
    {"dp_overlapped", "comm.dp"},
    {"pp_zero", "comm.pp"},
    {"pp_removed", "comm.pp"},
    {"cp_zero", "comm.cp"},
    {"cp_removed", "comm.cp"},
    {"network_x2", "comm.ep comm.tp comm.dp comm.pp comm.cp"},
    {"communication_zero", "comm.ep comm.tp comm.dp comm.pp comm.cp"},
    {"launch_zero", "idle.launch"},
    {"sync_zero", "idle.sync idle.host idle.launch idle.dataload idle.gc"},
    {"dataload_zero", "idle.dataload"},
    {"alloc_zero", "idle.alloc"},
    {"gc_zero", "idle.gc"},
    {"recompute_zero", "recompute"},
    {"offload_zero", "copy.offload"},
    {"copy_zero", "copy.h2d copy.d2h"},
    {"straggler_fixed", "straggler"},
    {"experts_balanced", "experts"},
    {"bubble_halved", "bubble"},
    {"gemm_x2", "gemm"},
    {"attention_x2", "attention"},
    {"membound_x2", "membound"},
    {"memory_zero", "recompute copy.offload idle.alloc"},
    {"host_zero", "idle.launch idle.sync idle.dataload idle.gc copy.h2d copy.d2h"},
    {"imbalance_fixed", "straggler experts"}};

// Of the verdict, whose share a rule may name as its gain.
constexpr Row kCauses[] = {{"launch_bound", "idle.launch"},
                           {"host_sync", "idle.sync"},
                           {"input_pipeline", "idle.dataload"},
                           {"gc_pause", "idle.gc"},
                           {"allocator", "idle.alloc"},
                           {"recompute", "recompute"},
                           {"offload", "copy.offload"},
                           {"pageable_copy", "copy.h2d copy.d2h"},
                           {"ep_all_to_all", "comm.ep"},
                           {"tp_collective", "comm.tp"},
                           {"dp_gradient", "comm.dp"},
                           {"dp_parameter", "comm.dp"},
                           {"cp_exchange", "comm.cp"},
                           {"pp_transfer", "comm.pp"},
                           {"comm_contention", "contention"},
                           {"straggler_gpu", "straggler"},
                           {"straggler_host", "straggler"},
                           {"expert_imbalance", "experts"},
                           {"pipeline_bubble", "bubble"},
                           {"membound_kernels", "membound"},
                           {"gemm_bound", "gemm"},
                           {"attention_bound", "attention"},
                           {"compute_bound", "compute"}};

constexpr Row kMemory[] = {{"recompute_share", "recompute"},
                           {"offload_exposed_share", "copy.offload"},
                           {"offload_idle_share", "copy.offload"},
                           {"alloc_share", "idle.alloc"},
                           {"h2d_exposed_share", "copy.h2d"},
                           {"d2h_exposed_share", "copy.d2h"},
                           {"pageable_exposed_share", "copy.h2d copy.d2h"}};

template <size_t N>
Times lookup(const Row (&table)[N], std::string_view name) {
  Times out;
  for (const auto& [key, times] : table) {
    if (key != name) continue;
    for (size_t at = 0; at < times.size();) {
      const size_t end = std::min(times.find(' ', at), times.size());
      out.emplace_back(times.substr(at, end - at));
      at = end + 1;
    }
  }
  return out;
}

// The key of the row that a clause picks: "dp" of `dp.kind = 'dp'` for that alias.
std::string key_of_row(const Rule& rule, const std::string& alias) {
  for (const Clause& c : rule.when) {
    for (const std::string_view key : {"kind", "cause", "leaf", "class", "loss", "id"}) {
      const std::string head = alias + "." + std::string(key) + " = '";
      if (c.sql.rfind(head, 0) == 0)
        return c.sql.substr(head.size(), c.sql.find('\'', head.size()) - head.size());
    }
  }
  return "";
}

// Leaves of one communication or copy are parts of one time.
std::string time_of_leaf(const std::string& leaf) {
  return leaf.rfind("comm.", 0) == 0 ? leaf.substr(0, leaf.find('.', 5)) : leaf;
}

// What `alias.column` of a share stands for; a column that is no time stands for nothing.
Times times_of(const Rule& rule, const TableRef& table, const std::string& column,
               const VerdictFacts& verdict) {
  const bool share = column.find("share") != std::string::npos;
  if (table.table == "fact_memory") return lookup(kMemory, column);
  if (table.table == "fact_run") {
    const bool of_verdict = column.rfind("share_", 0) == 0 || column.rfind("price_", 0) == 0;
    const bool answered = std::count(rule.causes.begin(), rule.causes.end(), verdict.cause) > 0;
    return of_verdict && answered ? lookup(kCauses, verdict.cause) : Times{};
  }
  const std::string key = key_of_row(rule, table.alias);
  if (!share || key.empty()) {
    // Kernels by name are parts of no class that another gain is computed from.
    return share && table.table == "fact_kernel" ? Times{"kernels of " + rule.id} : Times{};
  }
  if (table.table == "fact_what_if") return times_of_change(key);
  if (table.table == "fact_comm") return {"comm." + key};
  if (table.table == "fact_idle") return {"idle." + key};
  return {time_of_leaf(key)};
}

// Every fact that the share adds; what it takes away (`- x`) is none of it.
Times times_of_share(const Rule& rule, const std::string& sql, const VerdictFacts& verdict) {
  std::vector<SqlToken> tokens;
  scan_expression(sql, tokens);
  Times out;
  for (size_t i = 0; i + 2 < tokens.size(); ++i) {
    if (tokens[i].kind != SqlToken::Kind::word || tokens[i + 1].text != ".") continue;
    if (i > 0 && tokens[i - 1].text == "-") continue;
    for (const TableRef& t : rule.from) {
      if (t.alias != tokens[i].text) continue;
      for (std::string& time : times_of(rule, t, tokens[i + 2].text, verdict))
        out.push_back(std::move(time));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> times_of_change(std::string_view id) {
  Times out;
  for (size_t at = 0; at < id.size();) {
    const size_t end = std::min(id.find('+', at), id.size());
    for (std::string& time : lookup(kChanges, id.substr(at, end - at)))
      out.push_back(std::move(time));
    at = end + 1;
  }
  return out;
}

std::vector<std::string> change_ids() {
  std::vector<std::string> out;
  for (const auto& [id, times] : kChanges) out.emplace_back(id);
  return out;
}

bool is_change(std::string_view id) {
  for (size_t at = 0; at <= id.size();) {
    const size_t end = std::min(id.find('+', at), id.size());
    if (lookup(kChanges, id.substr(at, end - at)).empty()) return false;
    at = end + 1;
  }
  return true;
}

std::vector<std::string> gain_times(const Rule& rule, const Finding& finding,
                                    const VerdictFacts& verdict) {
  if (!rule.gain) return {};
  Times out = finding.from_what_if ? times_of_change(finding.from_what_if->id)
                                   : times_of_share(rule, rule.gain->hi_share, verdict);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void note_shared_gains(std::vector<Finding>& findings) {
  std::vector<const Finding*> earlier;
  for (Finding& f : findings) {
    if (f.status != FindingStatus::fires || f.gain_hi_share.value_or(0) < kLeastGain) continue;
    const auto shares = [&](const Finding* e) {
      return std::any_of(e->gain_of.begin(), e->gain_of.end(), [&](const std::string& time) {
        return std::count(f.gain_of.begin(), f.gain_of.end(), time) > 0;
      });
    };
    const auto first = std::find_if(earlier.begin(), earlier.end(), shares);
    if (first != earlier.end()) f.same_time_as = (*first)->rule;
    earlier.push_back(&f);
  }
}

}  // namespace ws
