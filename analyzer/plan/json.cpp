// schemas/plan.schema.json, keys in the order of the contract; null where nothing is known.
// Tested by: render_plan_test.cpp, tests/cli/schema_check.py
#include <nlohmann/json.hpp>

#include "plan/render_plan.h"
#include "report/escape.h"

namespace ws {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kPlanSchema = 1;

template <class T>
Json maybe(const std::optional<T>& v) {
  return v ? Json(*v) : Json(nullptr);
}
Json told(const std::string& s) { return s.empty() ? Json(nullptr) : Json(escape_text(s)); }
Json words(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const std::string& s : list) out.push_back(escape_text(s));
  return out;
}

Json result_json(const Plan& p) {
  const PlanResult r = result_of(p);
  return {{"status", r.status}, {"violations", r.violations},    {"silent", r.silent},
          {"memory", r.memory}, {"not_known", words(r.unknown)}, {"text", result_words(p)}};
}

Json grid_json(const PlanGrid& g) {
  Json sizes = Json::object();
  for (const auto& [name, size] : g.sizes) sizes[name] = maybe(size);
  if (!g.rest_name.empty()) sizes[g.rest_name] = maybe(g.rest);
  return {{"name", g.name},
          {"sizes", sizes},
          {"product", maybe(g.product)},
          {"world", maybe(g.world)},
          {"fits", g.world && g.product ? Json(g.fits()) : Json(nullptr)},
          {"arithmetic", grid_arithmetic(g)}};
}

Json memory_json(const std::optional<PlanMemory>& memory) {
  if (!memory) return nullptr;
  Json parts = Json::array();
  for (const MemoryPart& p : memory->parts) {
    parts.push_back({{"kind", std::string(name_of(p.kind))},
                     {"name", p.name},
                     {"bytes", p.bytes},
                     {"formula", p.formula},
                     {"source", p.source}});
  }
  return {{"parts", parts},
          {"total_bytes", memory->total_bytes},
          {"least_bytes", maybe(memory->least_bytes)},
          {"capacity_bytes", maybe(memory->capacity_bytes)},
          {"uncertainty",
           {{"bytes", memory->uncertainty_bytes},
            {"assumed", words(memory->assumed)},
            {"not_included", words(memory->excluded)}}},
          {"pipeline_rank", memory->rank},
          {"rank_totals_bytes", memory->rank_totals}};
}

Json finding_json(const Finding& f) {
  Json evidence = Json::object();
  for (const EvidenceValue& e : f.evidence) {
    evidence[e.expression] = e.value == "unknown" ? Json(nullptr)
                             : e.number           ? Json(*e.number)
                                                  : Json(escape_text(e.value));
  }
  Json actions = Json::array();
  for (const Action& a : f.actions) {
    actions.push_back({{"framework", a.framework},
                       {"set", escape_text(a.set)},
                       {"to", escape_text(a.to)},
                       {"note", escape_text(a.note)}});
  }
  Json with = Json::array();
  for (const Finding::With& w : f.with)
    with.push_back({{"set", escape_text(w.set)}, {"rule", w.rule}});
  return {{"rule", f.rule},
          {"title", escape_text(f.title)},
          {"kind", f.kind},
          {"wall", f.wall},
          {"phase", f.phase},
          {"held_back_by", f.held_back_by.empty() ? Json(nullptr) : Json(f.held_back_by)},
          {"evidence", evidence},
          {"actions", actions},
          {"with", with},
          {"why", escape_text(f.why)},
          {"pitfalls", words(f.pitfalls)},
          {"published", words(f.published)},
          {"sources", words(f.sources)}};
}

Json nearest_json(const std::optional<PlanNearest>& n) {
  if (!n) return nullptr;
  return {{"name", n->run.name},
          {"platform", n->run.platform},
          {"gpus", n->run.gpus},
          {"seq_len", n->run.seq_len},
          {"tp", n->run.tp},
          {"cp", n->run.cp},
          {"ep", n->run.ep},
          {"etp", n->run.etp},
          {"pp", n->run.pp},
          {"vpp", n->run.vpp},
          {"precision", n->run.precision},
          {"dispatcher", n->run.dispatcher},
          {"recompute", n->run.recompute},
          {"graphs", n->run.graphs},
          {"tflops_per_gpu", n->run.tflops_per_gpu},
          {"differences", words(n->differences)},
          {"source", n->run.source},
          {"note", n->run.note}};
}

}  // namespace

void render_plan_json(const Plan& p, std::ostream& out) {
  Json config = Json::object();
  for (const auto& [key, value] : p.config) config[key] = escape_text(value);
  Json grids = Json::array();
  for (const PlanGrid& g : p.grids) grids.push_back(grid_json(g));
  Json findings = Json::array();
  for (const Finding& f : p.findings) findings.push_back(finding_json(f));
  const Json plan = {{"schema", kPlanSchema},
                     {"source", escape_text(p.source)},
                     {"format", p.format},
                     {"result", result_json(p)},
                     {"gpus", maybe(p.gpus)},
                     {"platform", told(p.platform)},
                     {"framework", told(p.framework)},
                     {"framework_version", told(p.framework_version)},
                     {"config", config},
                     {"grids", grids},
                     {"min_gpus", maybe(p.min_gpus)},
                     {"min_gpus_arithmetic", p.min_gpus_arithmetic},
                     {"cp",
                      {{"size", maybe(p.context.cp)},
                       {"seq_len", maybe(p.context.seq_len)},
                       {"tokens_per_rank", maybe(p.context.tokens_per_rank)},
                       {"suggested", maybe(p.context.suggested)}}},
                     {"dp", maybe(p.dp)},
                     {"edp", maybe(p.edp)},
                     {"batch",
                      {{"micro_batch", maybe(p.micro_batch)},
                       {"global_batch", maybe(p.global_batch)},
                       {"accumulation", maybe(p.accumulation)},
                       {"bubble_share", maybe(p.bubble_share)}}},
                     {"memory", memory_json(p.memory)},
                     {"flops_per_token", maybe(p.flops_per_token)},
                     {"findings", findings},
                     {"nearest", nearest_json(p.nearest)},
                     {"dry_run", words(p.dry_run)},
                     {"profile_first", escape_text(p.profile_first)},
                     {"notes", words(p.notes)}};
  out << plan.dump(2) << "\n";
}

}  // namespace ws
