// Tested by: tests/unit/advise/frameworks_test.cpp
#include "advise/frameworks.h"

#include <algorithm>
#include <string_view>

namespace ws {
namespace {

std::string one_text(const FactDb& facts, std::string_view sql) {
  auto row = facts.db().prepare(sql);
  return row && row->step() && !row->is_null(0) ? std::string(row->text(0)) : std::string();
}

// Most of the time of all kernels is in those of names that neither a framework nor a library has.
bool runs_own_kernels(const FactDb& facts) {
  return one_text(facts,
                  "SELECT 2 * sum(total_ns * unclassified) > sum(total_ns) FROM fact_kernel WHERE "
                  "class NOT IN ('comm', 'p2p', 'h2d', 'd2h')") == "1";
}

bool starts_with(std::string_view s, std::string_view head) {
  return s.substr(0, head.size()) == head;
}

// Variables that PyTorch and Transformer Engine read.
bool is_of_pytorch(const Action& a) {
  return a.framework == "env" && (starts_with(a.set, "PYTORCH_") || starts_with(a.set, "TORCH_") ||
                                  starts_with(a.set, "NVTE_"));
}

bool is_neutral(const Action& a) {
  return a.framework == "any" || a.framework == "env" || a.framework == "nsys";
}

}  // namespace

namespace {

Frameworks named_in(const FactDb& facts) {
  using By = Frameworks::By;
  if (const std::string told = one_text(facts, "SELECT framework FROM fact_config"); !told.empty())
    return {By::configuration, {told}, {}};
  const std::string seen = one_text(facts, "SELECT framework FROM fact_run");
  const std::string by = one_text(facts, "SELECT framework_by FROM fact_run");
  if (!seen.empty() && (by == "program" || by == "operators")) return {By::names, {seen}, {}};
  if (by == "core") return {By::core, {"megatron_lm", "megatron_bridge"}, {}};
  const std::vector<std::string> all = {"pytorch", "megatron_lm", "megatron_bridge"};
  if (!seen.empty()) return {By::kernels, all, {}};
  if (runs_own_kernels(facts)) return {By::own_program, {}, {}};
  return {By::nothing, all, {}};
}

}  // namespace

Recorders recorders_of(const FactDb& facts) {
  return recorders_for(one_text(facts, "SELECT source_format FROM fact_run"),
                       one_text(facts, "SELECT gpu FROM fact_run"));
}

Frameworks frameworks_of(const FactDb& facts) {
  Frameworks out = named_in(facts);
  out.recorders = recorders_of(facts);
  return out;
}

std::vector<Action> actions_for(const std::vector<Action>& actions, const Frameworks& frameworks) {
  const auto& names = frameworks.names;
  const auto place = [&](const Action& a) {
    return std::find(names.begin(), names.end(), a.framework) - names.begin();
  };
  const auto unknown_name = static_cast<std::ptrdiff_t>(names.size());
  std::vector<Action> out, own, then;
  for (const Action& a : actions) {
    if (a.framework == "nsys" && !frameworks.recorders.nsys) continue;
    if (is_neutral(a)) {
      if (frameworks.by == Frameworks::By::own_program && is_of_pytorch(a)) continue;
      (own.empty() ? out : then).push_back(a);
    } else if (place(a) != unknown_name) {
      (frameworks.certain() ? out : own).push_back(a);
    }
  }
  std::stable_sort(own.begin(), own.end(),
                   [&](const Action& a, const Action& b) { return place(a) < place(b); });
  out.insert(out.end(), own.begin(), own.end());
  out.insert(out.end(), then.begin(), then.end());
  if (frameworks.recorders.torch_first)
    std::stable_partition(out.begin(), out.end(),
                          [](const Action& a) { return a.framework != "nsys"; });
  return out;
}

}  // namespace ws
