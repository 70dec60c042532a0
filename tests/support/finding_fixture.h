#pragma once
// Findings made by hand for tests of report/: what a rules engine hands over.
#include <vector>

#include "advise/finding.h"

namespace ws::test {

inline Finding firing(std::string rule, std::string title) {
  Finding f;
  f.rule = std::move(rule);
  f.title = std::move(title);
  f.wall = "communication";
  f.phase = "retune";
  f.status = FindingStatus::fires;
  f.why = "the exchange is on the critical path";
  f.safety = "speed_only";
  f.clauses = {{"ep.exposed_share > 0.10", true, {}}};
  f.evidence = {{"ep.exposed_share", "0.45", 0.45},
                {"ep.main_op", "all_to_all", std::nullopt},
                {"cfg.ep", "unknown", std::nullopt}};
  f.actions = {
      {"megatron_lm", "--moe-token-dispatcher-type", "flex", ""},
      {"megatron_lm", "--moe-flex-dispatcher-backend", "deepep", ""},
      {"megatron_bridge", "cfg.model.moe_token_dispatcher_type", "\"flex\"", "needs EP > 1"}};
  f.gain_lo_share = 0;
  f.gain_hi_share = 0.45;
  f.gain_basis = "ceiling";
  f.published = {"16 x H100: 24.7 -> 21.0 s (conditions differ)"};
  f.pitfalls = {"the router must stay in FP32"};
  f.verify = {"wallsight diff before.wsdb after.wsdb"};
  f.sources = {"a guide"};
  return f;
}

inline std::vector<Finding> exchange_findings() {
  std::vector<Finding> out = {firing("communication/flex", "Try the flex dispatcher"),
                              firing("communication/overlap", "Overlap the expert exchange")};
  out[0].leads = true;
  out[1].conflicts = {"communication/flex"};
  Finding unknown = firing("communication/pad", "Pad the experts");
  unknown.status = FindingStatus::unknown;
  unknown.clauses = {
      {"config.overlap_grad_reduce = 0", std::nullopt, {"fact_config.overlap_grad_reduce"}}};
  Finding no = firing("communication/tp_overlap", "Overlap TP collectives");
  no.status = FindingStatus::no;
  no.evidence = {{"tp.exposed_share", "0.004", 0.004}};
  no.clauses = {{"tp.kind = 'tp'", true, {}}, {"tp.exposed_share > 0.10", false, {}}};
  out.push_back(unknown);
  out.push_back(no);
  return out;
}

}  // namespace ws::test
