// Tested by: plan_test.cpp, render_plan_test.cpp, tests/checks/plan_recipes.py
#include <fmt/format.h>

#include <algorithm>

#include "advise/evaluate.h"
#include "advise/order.h"
#include "config/key_table.h"
#include "facts/config_facts.h"
#include "plan/plan.h"
#include "plan/plan_parts.h"
#include "report/numbers.h"

namespace ws {
namespace {

void put_grids(const Layout& l, Plan& plan) {
  const auto size = [&](const char* key, int64_t v) {
    return from_outside(l, key) ? std::nullopt : std::optional(v);
  };
  const auto known = [](bool is, int64_t v) { return is ? std::optional(v) : std::nullopt; };
  plan.grids.push_back(
      {"attention",
       {{"TP", size("tp", l.tp)}, {"CP", size("cp", l.cp)}, {"PP", size("pp", l.pp)}},
       "DP",
       known(l.attention_known, l.attention_product),
       l.gpus,
       l.gpus ? l.dp : std::nullopt});
  if (l.shard_product) {
    const bool both = one_world_only(l);
    std::vector<std::pair<std::string, PlanGrid::Size>> sizes;
    if (l.replicas) sizes.emplace_back("replicas", l.replicas);
    if (l.shards) sizes.emplace_back("shards", l.shards);
    for (const auto& of_attention : plan.grids[0].sizes) sizes.push_back(of_attention);
    plan.grids.push_back({"sharding", std::move(sizes),
                          both       ? ""
                          : l.shards ? "replicas"
                                     : "shards",
                          l.shard_product, l.gpus,
                          l.gpus && *l.gpus % *l.shard_product == 0
                              ? std::optional(*l.gpus / *l.shard_product)
                              : std::nullopt});
  }
  if (l.experts) {
    const bool etp_is_tp = std::count(l.assumed.begin(), l.assumed.end(), "etp") > 0;
    plan.grids.push_back({"experts",
                          {{"ETP", size(etp_is_tp ? "tp" : "etp", l.etp)},
                           {"EP", size("ep", l.ep)},
                           {"PP", size("pp", l.pp)}},
                          "EDP",
                          known(l.expert_known, l.expert_product),
                          l.gpus,
                          l.edp});
  }
  plan.min_gpus = l.min_gpus;
  const std::string attention = l.shard_product || !l.experts
                                    ? stage_ranks(l)
                                    : fmt::format("TP x CP {}", saturating_product(l.tp, l.cp));
  plan.min_gpus_arithmetic =
      !l.min_gpus ? fmt::format("not known: {} come{} from outside the file",
                                fmt::join(l.outside, ", "), l.outside.size() == 1 ? "s" : "")
      : l.experts ? fmt::format("PP {} x lcm({}, ETP x EP {}) = {}", l.pp, attention,
                                saturating_product(l.etp, l.ep), *l.min_gpus)
                  : fmt::format("PP {} x {} = {}", l.pp, attention, *l.min_gpus);
  plan.gpus = l.gpus;
  plan.dp = l.dp;
  plan.edp = l.edp;
  plan.micro_batch = l.micro_batch;
  plan.global_batch = l.global_batch;
  plan.accumulation = l.accumulation;
  plan.bubble_share = l.bubble_share;
  plan.context.cp = size("cp", l.cp);
  plan.context.tp = size("tp", l.tp);
  plan.context.seq_len = l.seq_len;
  plan.context.suggested = l.cp_suggested;
  if (l.seq_len && plan.context.cp && plan.context.tp)
    plan.context.tokens_per_rank = *l.seq_len / saturating_product(l.tp, l.cp);
}

std::optional<PlanMemory> memory_of(const ConfigStudy& study) {
  if (!study.memory) return std::nullopt;
  const MemoryEstimate& m = *study.memory;
  PlanMemory out;
  out.rank = m.worst;
  out.parts = m.ranks[m.worst].parts;
  for (const RankMemory& r : m.ranks) out.rank_totals.push_back(r.total_bytes);
  out.total_bytes = m.ranks[m.worst].total_bytes;
  out.uncertainty_bytes = m.uncertainty_bytes;
  out.least_bytes = m.least_bytes;
  if (study.capacity_bytes > 0) {
    out.capacity_bytes = study.capacity_bytes;
    out.capacity_of = study.platform == nullptr       ? "as its name says"
                      : study.platform->board.empty() ? study.platform->key
                                                      : study.platform->board;
  }
  out.assumed = m.assumed;
  out.excluded = m.excluded;
  return out;
}

std::optional<PlanNearest> nearest_of(const RunConfig& config, const Layout& l,
                                      const std::string& platform, const KnownRuns& known) {
  const KnownRun* run = nearest_run(config, l, platform, known);
  if (run == nullptr) return std::nullopt;
  PlanNearest out{*run, {}};
  const auto differs = [&](const char* name, int64_t there, std::optional<int64_t> here) {
    if (here && *here != there)
      out.differences.push_back(fmt::format("{} {} there, {} here", name, there, *here));
  };
  differs("GPUs", run->gpus, l.gpus);
  differs("sequence", run->seq_len, l.seq_len);
  const auto size = [&](const char* key, int64_t v) {
    return from_outside(l, key) ? std::nullopt : std::optional(v);
  };
  differs("TP", run->tp, size("tp", l.tp));
  differs("CP", run->cp, size("cp", l.cp));
  differs("EP", run->ep, size("ep", l.ep));
  if (l.expert_known) differs("ETP", run->etp, l.etp);
  differs("PP", run->pp, size("pp", l.pp));
  differs("VPP", run->vpp, l.vpp.value_or(1));
  if (!platform.empty() && run->platform != platform)
    out.differences.push_back(run->platform + " there, " + platform + " here");
  return out;
}

bool reads_configuration_only(const Rule& rule) {
  return std::all_of(rule.from.begin(), rule.from.end(), [](const TableRef& t) {
    return t.table == "fact_config" || t.table == "fact_layout";
  });
}

RuleSet errors_of(const RuleSet& rules) {
  RuleSet out;
  for (const Rule& r : rules.rules)
    if (r.kind == "error" && reads_configuration_only(r)) out.rules.push_back(r);
  return out;
}

// What fires stays; what of it, or instead of it, the stated releases can not follow is told among
// the notes.
void put_not_offered(std::vector<Finding>& findings, std::vector<std::string>& notes) {
  const auto tell = [&](const std::string& what, const std::string& needs) {
    notes.push_back(fmt::format("not offered, since the stated release does not have it: {} ({})",
                                what, needs));
  };
  const auto stands = [](const Finding& f) { return f.status == FindingStatus::fires; };
  const auto end = std::stable_partition(findings.begin(), findings.end(), stands);
  for (auto f = findings.begin(); f != end; ++f)
    for (const Finding::LeftOut& l : f->left_out) tell(l.set + " of: " + f->title, l.needs);
  for (auto f = end; f != findings.end(); ++f)
    if (!f->later_release.empty() && f->applies()) tell(f->title, f->later_release);
  findings.erase(end, findings.end());
}

Result<std::vector<Finding>> findings_of(const FactDb& facts, const RuleSet& rules,
                                         const std::string& framework) {
  RuleSet asked;
  for (const Rule& r : rules.rules)
    if (reads_configuration_only(r)) asked.rules.push_back(r);
  const OwnKeys keys = own_keys(facts, rules.flag_table);  // the sandbox lets rules read alone
  const auto floors = floor_texts(facts, rules.flag_table);
  const std::string version = core_version(facts), spelled = config_value(facts, "spelled");
  const Settings in_use = settings_in_use(facts, rules.flag_table);
  const RuleSandbox sandbox(facts);
  std::vector<Finding> all;
  for (const Rule& r : asked.rules) {
    auto finding = evaluate(sandbox, r);
    if (!finding) return finding.error();
    all.push_back(std::move(*finding));
  }
  drop_settings_in_use(all, in_use);
  spell_for_version(all, rules.flag_table, version, keys, framework);
  drop_below_floors(all, rules.flag_table, floors, framework);
  VerdictFacts none;
  none.framework = framework;
  none.faults_first = true;
  std::vector<Finding> out = order_findings(std::move(all), asked, none);
  say_floors(out, rules.flag_table, floors);
  write_lists(out);
  spell_for_torchtitan(out, rules.flag_table, spelled);
  return out;
}

// One line per value, with the value.
void put_assumed(const Layout& l, std::vector<std::string>& notes) {
  const std::pair<const char*, std::pair<const char*, int64_t>> sizes[] = {
      {"tp", {"TP", l.tp}}, {"pp", {"PP", l.pp}},    {"cp", {"CP", l.cp}},
      {"ep", {"EP", l.ep}}, {"etp", {"ETP", l.etp}},
  };
  for (const std::string& key : l.assumed) {
    for (const auto& [of, size] : sizes) {
      if (key != of) continue;
      const bool as_tp = key == "etp";  // Megatron's default
      if (as_tp && from_outside(l, "tp"))
        notes.emplace_back("ETP is not given: taken as TP, which comes from outside the file");
      else
        notes.push_back(fmt::format("{} is not given: taken as {}{}", size.first,
                                    as_tp ? "TP, " : "", size.second));
    }
  }
  if (l.gpus_from_degrees)
    notes.push_back(
        fmt::format("GPUs are not given: taken as {}, the product of all degrees", *l.gpus));
  if (l.batch_from_ranks)
    notes.push_back(
        fmt::format("global batch is not given: taken as {}, what the ranks of DP take at once",
                    *l.global_batch));
}

// A key stands for its largest board: what fits there may not fit here.
void put_smaller_boards(const RunConfig& config, const ConfigStudy& study,
                        std::vector<std::string>& notes) {
  const std::string name = text(config, "platform").value_or("");
  if (study.platform == nullptr || !study.platform->board.empty() || memory_in_name(name) > 0)
    return;
  for (const Platform& board : study.platform->boards)
    if (board.by_memory && board.memory_bytes < study.platform->memory_bytes)
      notes.push_back(fmt::format(
          "{} is taken as the GPU of {}; that of {} is named by its size: --platform {}-{}",
          study.platform->key, bytes_text(study.platform->memory_bytes),
          bytes_text(board.memory_bytes), study.platform->key, board.match.front()));
}

// Rules look for it under its name, though no key of the table stands for it.
bool judged_by_name(const RuleSet& rules, const std::string& shown) {
  const std::vector<std::string> names = plain_names(shown);
  const std::string wanted = fmt::format("spelled LIKE '% {} %'", fmt::join(names, " "));
  return std::any_of(rules.rules.begin(), rules.rules.end(), [&](const Rule& r) {
    return std::any_of(r.when.begin(), r.when.end(), [&](const Clause& clause) {
      return clause.sql.find(wanted) != std::string::npos;
    });
  });
}

void put_unknown(const RunConfig& config, const RuleSet& rules, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  for (const UnknownSetting& u : config.unknown) {
    if (judged_by_name(rules, u.name)) continue;
    names.push_back(u.name);
    if (const std::string meant = key_table().nearest(u.name); !meant.empty())
      notes.push_back(fmt::format("`{}` ({}) is no setting that is known: is `{}` meant?", u.name,
                                  u.place, meant));
  }
  if (!names.empty())
    notes.push_back(
        fmt::format("settings that no rule reads ({}): {}", names.size(), fmt::join(names, ", ")));
}

void put_notes(const RunConfig& config, const ConfigStudy& study, const RuleSet& rules,
               Plan& plan) {
  plan.notes = config.notes;
  if (!study.layout.gpus && !plan.model_only)
    plan.notes.emplace_back("gpus is not given: neither grid can be checked (--gpus N)");
  put_smaller_boards(config, study, plan.notes);
  if (study.platform == nullptr && study.capacity_bytes == 0)
    plan.notes.emplace_back(
        "the platform is not known: no capacity to compare with (--platform P)");
  if (plan.model_only) {
    plan.notes.emplace_back(
        "the file is one of a model: keys of schemas/run_config.schema.json beside its own make it "
        "one of a run (framework, gpus, tp, pp, ep, seq_len, micro_batch, global_batch)");
  } else {
    for (const std::string& l : study.limits) plan.notes.push_back(l);
    put_assumed(study.layout, plan.notes);
  }
  put_unknown(config, rules, plan.notes);
}

}  // namespace

Result<Plan> build_plan(const RunConfig& config, const Platforms& platforms, const KnownRuns& known,
                        const RuleSet& rules) {
  const ConfigStudy study = study_config(config, platforms, nullptr);
  Plan out;
  out.source = config.source;
  out.format = config.format;
  out.framework = text(config, "framework").value_or("");
  out.framework_version = text(config, "framework_version").value_or("");
  out.model_only = config.format == kModelCardFormat;
  if (study.platform != nullptr) out.platform = study.platform->key;
  for (const ConfigEntry& e : config.entries) out.config.emplace_back(e.key, shown_value(e.value));
  if (!out.model_only) put_grids(study.layout, out);
  out.memory = memory_of(study);
  out.flops_per_token = study.flops_per_token;
  out.nearest = nearest_of(config, study.layout, out.platform, known);
  if (out.model_only) {
    out.gpus = study.layout.gpus;
    out.min_gpus_arithmetic = "not known: the file has no parallel sizes";
    if (out.nearest) out.nearest->differences = {"the file has no layout to compare"};
  } else {
    out.dry_run = dry_run(config, study.layout);
    out.profile_first = profile_first(config, study, platforms.profile_first());
  }
  const auto facts = config_facts(config, study);
  if (!facts) return facts.error();
  auto findings = findings_of(*facts, rules, out.framework);
  if (!findings) return findings.error();
  out.findings = std::move(*findings);
  put_notes(config, study, rules, out);
  put_not_offered(out.findings, out.notes);
  const auto proven = prove_findings(out.findings, out.notes, config, platforms, errors_of(rules));
  if (!proven) return proven.error();
  return out;
}

}  // namespace ws
