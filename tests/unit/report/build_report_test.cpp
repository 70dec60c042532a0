#include "report/build_report.h"

#include <algorithm>

#include "report/numbers.h"
#include "support/fact_fixture.h"
#include "support/finding_fixture.h"

using namespace ws;
using namespace ws::test;

namespace {

Report build(const FactDb& facts, const std::vector<Finding>& findings = {}) {
  auto report = build_report(facts, findings);
  REQUIRE(report);
  return std::move(report.value());
}

const WhereRow& row_of(const Report& report, std::string_view group) {
  for (const WhereRow& w : report.where.rows) {
    if (w.group == group) return w;
  }
  FAIL("no row " << group);
  return report.where.rows.front();
}

}  // namespace

TEST_CASE("the table of groups sums to the step in ns, in percent and in print") {
  const Report report = build(exchange_facts());
  int64_t ns = 0, share = 0, time = 0;
  for (const WhereRow& w : report.where.rows) {
    ns += w.ns;
    share += w.share_tenths;
    time += w.time_shown;
    int64_t details = 0;
    for (const auto& d : w.details) details += d.second;
    CHECK(details == w.ns);
  }
  CHECK(ns == 10'000'000);
  CHECK(report.where.sum_ns == ns);
  CHECK(share == 1000);
  CHECK(time == report.where.sum_shown);
  CHECK(row_of(report, "compute").ns == 4'666'667);
  CHECK(row_of(report, "communication").ns == 4'500'000);
  CHECK(row_of(report, "host").ns == 433'333);
  CHECK(row_of(report, "not explained").ns == 400'000);
  CHECK(report.partition_total_ns == 60'000'000);
}

TEST_CASE("whole CUDA graphs are told apart from kernels: what is in them was not recorded") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_leaf SET leaf = 'compute_other' WHERE leaf = 'membound'");
  const auto details = [&] { return row_of(build(facts), "compute").details; };
  const auto before = details();
  exec(facts, "UPDATE fact_run SET opaque_share = 1.0");
  int64_t opaque = 0, other = 0;
  for (const auto& [label, ns] : details())
    if (label.find("contents not recorded") != std::string::npos) opaque = ns;
  for (const auto& [label, ns] : before)
    if (label == "other kernels") other = ns;
  CHECK(opaque == other);
  CHECK(opaque > 0);
  CHECK(row_of(build(facts), "compute").ns == 4'666'667);
  exec(facts, "UPDATE fact_run SET opaque_share = 0.0");
  CHECK(details() == before);
}

TEST_CASE("memory that findings speak of is rounded in the table as it is there") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_leaf SET ns = CASE leaf WHEN 'gemm' THEN 30142 WHEN 'recompute' THEN 7449 WHEN "
       "'comm.ep.unsplit' THEN 61900 WHEN 'idle.dependency' THEN 506 WHEN 'idle.launch' THEN 2 "
       "ELSE 0 END");
  exec(facts, "UPDATE fact_run SET latent_memory_wall = 0");
  CHECK(row_of(build(facts), "memory").share_tenths == 75);  // makes up the sum
  exec(facts, "UPDATE fact_run SET latent_memory_wall = 1");
  CHECK(row_of(build(facts), "memory").share_tenths == 74);
  CHECK(row_of(build(facts), "communication").share_tenths == 619);
}

TEST_CASE("idle of an offload round trip moves from host to memory and the sum stays") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_memory SET offload_idle_share = 0.02");
  const Report report = build(facts);
  CHECK(row_of(report, "memory").ns == 200'000);
  CHECK(row_of(report, "host").ns == 233'333);
  for (const auto& [label, ns] : row_of(report, "host").details) CHECK(ns > 0);
  CHECK(row_of(report, "host").details.front().second == 233'333);
  CHECK(report.where.sum_ns == 10'000'000);
}

TEST_CASE("more offload idle than host time moves no more than there is") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_memory SET offload_idle_share = 0.9");
  const Report report = build(facts);
  CHECK(row_of(report, "memory").ns == 433'333);
  CHECK(row_of(report, "host").ns == 0);
  CHECK(row_of(report, "host").details.empty());
}

TEST_CASE("the verdict in words") {
  const struct {
    const char *sql, *headline;
  } rows[] = {
      {"UPDATE fact_run SET loss = 'host', wall = 'compute_host', cause = 'host_sync'",
       "compute and host wall: host synchronisation; the host takes 45.0 % of the step"},
      {"UPDATE fact_run SET loss = 'host', wall = 'compute_host', cause = 'unknown'",
       "compute and host wall: launch calls (no single cause); the host takes 45.0 % of the step"},
      {"UPDATE fact_run SET loss = 'host', wall = 'compute_host', cause = 'unknown'; "
       "UPDATE fact_leaf SET ns = CASE leaf WHEN 'copy.h2d' THEN 233333 WHEN 'copy.d2h' THEN "
       "200000 ELSE 0 END WHERE leaf IN ('idle.launch', 'copy.h2d', 'copy.d2h')",
       "compute and host wall: copies to device and copies to host (no single cause); the host "
       "takes 45.0 % of the step"},
      {"UPDATE fact_run SET loss = 'bubble', cause = 'unknown'",
       "communication wall: no single cause; the pipeline bubble takes 45.0 % of the step"},
      {"UPDATE fact_run SET cause = 'unknown'",
       "communication wall: collectives of unknown groups; communication takes 45.0 % of the step"},
      {"UPDATE fact_run SET verdict_kind = 'insufficient', loss = NULL, wall = NULL, cause = "
       "'unknown'",
       "not enough evidence: too much of the step is not explained"},
      {"SELECT 1", "communication wall: EP all-to-all; communication takes 45.0 % of the step"},
      {"UPDATE fact_run SET share_lo = 0.3",
       "communication wall: EP all-to-all; communication takes 30.0 to 45.0 % of the step"},
      {"UPDATE fact_run SET where_ranks = '2,3', where_steps = 'ProfilerStep#7'",
       "communication wall: EP all-to-all on ranks 2, 3 in ProfilerStep#7; communication takes "
       "45.0 % of the step"},
      {"UPDATE fact_run SET verdict_kind = 'mixed', also = 'imbalance', also_cause = "
       "'straggler_gpu'",
       "no single wall: communication (EP all-to-all, 45.0 %) and imbalance (a slow GPU, 0.0 to "
       "45.0 %)"},
      {"UPDATE fact_run SET verdict_kind = 'mixed', also = 'imbalance'; UPDATE fact_loss SET "
       "lo_share = 0.0 WHERE loss = 'communication'",
       "exposed communication takes 45.0 % of the step, all of it EP all-to-all; transfer or "
       "waiting for late ranks, one can not tell"},
      {"UPDATE fact_run SET verdict_kind = 'mixed', also = 'imbalance'; UPDATE fact_loss SET "
       "lo_share = 0.0 WHERE loss = 'communication'; INSERT INTO fact_collective VALUES ('', 'dp', "
       "'all_reduce', 64, 2, 9, 0, 0, 9, 0, 4, NULL, NULL)",
       "exposed communication takes 45.0 % of the step, mostly EP all-to-all; transfer or waiting "
       "for late ranks, one can not tell"},
      {"UPDATE fact_run SET verdict_kind = 'mixed', also = 'imbalance', cause = 'dp_gradient'; "
       "UPDATE fact_loss SET lo_share = 0.0 WHERE loss = 'communication'; UPDATE fact_collective "
       "SET kind = 'dp', op = 'all_reduce'; INSERT INTO fact_collective VALUES ('', 'dp', "
       "'broadcast', 64, 2, 9, 0, 0, 9, 0, 4, NULL, NULL)",
       "exposed communication takes 45.0 % of the step, mostly DP gradient reduction; transfer or "
       "waiting for late ranks, one can not tell"},
      {"UPDATE fact_run SET verdict_kind = 'none', loss = 'useful', wall = 'compute_host', cause = "
       "'gemm_bound', "
       "share_lo = 0.9, share_hi = 0.9",
       "no wall: compute bound by matrix multiplication; compute takes 90.0 % of the step"},
      {"UPDATE fact_run SET verdict_kind = 'insufficient', loss = NULL, wall = NULL, cause = "
       "'only_warmup'",
       "not enough evidence: only warm-up was recorded"},
      {"UPDATE fact_run SET step_count = 0",
       "communication wall: EP all-to-all; communication takes 45.0 % of the window"},
  };
  for (const auto& row : rows) {
    const FactDb facts = exchange_facts();
    auto ok = facts.db().exec(row.sql);
    REQUIRE(ok);
    CHECK(build(facts).verdict.headline == row.headline);
  }
}

TEST_CASE("where of the verdict becomes lists") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_run SET where_ranks = '2,13', where_steps = 'ProfilerStep#7, ProfilerStep#9'");
  const Report report = build(facts);
  CHECK(report.verdict.where_ranks == std::vector<int64_t>{2, 13});
  CHECK(report.verdict.where_steps == std::vector<std::string>{"ProfilerStep#7", "ProfilerStep#9"});
}

TEST_CASE("steps keep their partitions and say why they are left out") {
  const Report report = build(exchange_facts());
  REQUIRE(report.steps.rows.size() == 8);
  for (const ReportStep& s : report.steps.rows) {
    int64_t sum = 0;
    for (const auto& leaf : s.partition) sum += leaf.second;
    CHECK(sum == s.end_ns - s.begin_ns);
  }
  REQUIRE(report.steps.left_out.size() == 1);
  CHECK(report.steps.left_out[0] == std::pair<std::string, int64_t>("first of several", 2));
}

TEST_CASE("the longest gap is placed in its step") {
  const Report report = build(exchange_facts());
  REQUIRE(report.idle.size() == 2);
  REQUIRE(report.idle[0].largest);
  CHECK(report.idle[0].largest->step == "ProfilerStep#5");
  CHECK(report.idle[0].largest->since_step_begin_ns == 2'000'000);
  CHECK(!report.idle[1].largest);
}

TEST_CASE("findings in words") {
  const Report report = build(exchange_facts(), exchange_findings());
  REQUIRE(report.findings.size() == 3);
  const ReportFinding& first = report.findings[0];
  CHECK(first.because == "exposed EP communication 45.0 %, mostly all to all");
  CHECK(first.gain == "at most 45.0 %");
  REQUIRE(first.actions.size() == 2);
  CHECK(first.actions[0].framework == "Megatron-LM");
  CHECK(first.actions[0].text ==
        "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep");
  CHECK(first.actions[1].text == "cfg.model.moe_token_dispatcher_type = \"flex\"");
  CHECK(first.actions[1].note == "needs EP > 1");
  CHECK(first.instead_of.empty());
  CHECK(report.findings[1].instead_of == std::vector<std::string>{"1 (Try the flex dispatcher)"});
  CHECK(report.findings[2].missing_facts ==
        std::vector<std::string>{"fact_config.overlap_grad_reduce"});
  CHECK(report.not_offered ==
        std::vector<std::string>{"if Overlap TP collectives (exposed TP communication 0.4 %)"});
}

TEST_CASE("what re-simulation says is worth much is not called next to nothing") {
  std::vector<Finding> findings = exchange_findings();
  for (Finding& f : findings) {
    if (f.rule != "communication/tp_overlap") continue;
    f.from_what_if = Finding::FromWhatIf{"tp_overlapped", 1, 1};
    f.gain_hi_share = 0.38;
  }
  CHECK(build(exchange_facts(), findings).not_offered.empty());
  for (Finding& f : findings) f.gain_hi_share = 0.01;
  CHECK(build(exchange_facts(), findings).not_offered.size() == 1);
}

TEST_CASE("what is said of the configuration is not a loss of the step, however small its share") {
  std::vector<Finding> findings = exchange_findings();
  for (Finding& f : findings)
    if (f.rule == "communication/tp_overlap") f.kind = "error";
  CHECK(build(exchange_facts(), findings).not_offered.empty());
}

TEST_CASE("what the run has no such group for is not even told") {
  std::vector<Finding> findings = exchange_findings();
  for (Finding& f : findings)
    if (f.rule == "communication/tp_overlap") f.evidence[0].number = 0.0;
  CHECK(build(exchange_facts(), findings).not_offered.empty());
  const FactDb with_tp = exchange_facts();
  exec(with_tp, "UPDATE fact_collective SET kind = 'tp'");
  CHECK(build(with_tp, findings).not_offered ==
        std::vector<std::string>{"if Overlap TP collectives (exposed TP communication 0.0 %)"});
}

TEST_CASE("evidence names what its alias stands for and leaves out what says nothing") {
  Finding f = firing("compute_host/graphs", "Replay as graphs");
  f.clauses = {{"idle.cause = 'graph_launch'", true, {}}, {"att.class = 'attention'", true, {}}};
  f.evidence = {{"idle.share", "0.12", 0.12},
                {"att.share", "0.0", 0.0},
                {"att.count", "3.0", 3.0},
                {"mem.recompute_estimated", "0", 0.0},
                {"cfg.ep", "unknown", std::nullopt},
                {"host.mean_kernel_ns", "4849", 4849.0},
                {"mem.peak_reserved_bytes", "512", 512.0},
                {"100 * idle.share", "12.0", 12.0}};
  const Report report = build(exchange_facts(), {f});
  CHECK(report.findings[0].because ==
        "idle for graph launches 12.0 %, attention kernels per step 3, mean kernel 4.8 us, peak "
        "reserved 512 B, 100 * (idle for graph launches) = 12.0");
}

TEST_CASE("a part is 'of it' only behind what it is a part of") {
  Finding f = firing("a/b", "Something");
  f.clauses = {{"ep.kind = 'ep'", true, {}}};
  f.evidence = {{"ep.wait_share", "0.3", 0.3}, {"ep.exposed_share", "0.45", 0.45}};
  const auto because = [&] { return build(exchange_facts(), {f}).findings[0].because; };
  CHECK(because() == "EP waiting 30.0 %, exposed EP communication 45.0 %");
  std::swap(f.evidence[0], f.evidence[1]);
  CHECK(because() == "exposed EP communication 45.0 %, of it EP waiting 30.0 %");
}

TEST_CASE("the two ends of an interval are told as one") {
  Finding f = firing("a/b", "Something");
  f.evidence = {{"run.share_lo", "0.182", 0.182},
                {"run.step_count", "4", 4.0},
                {"run.share_hi", "0.273", 0.273}};
  CHECK(build(exchange_facts(), {f}).findings[0].because ==
        "the loss takes 18.2 to 27.3 %, steps 4");
  f.evidence[2].number = 0.182;
  CHECK(build(exchange_facts(), {f}).findings[0].because == "the loss takes 18.2 %, steps 4");
}

TEST_CASE("settings are written as one would type them") {
  Finding f = firing("a/b", "Something");
  f.actions = {{"env", "CUDA_DEVICE_MAX_CONNECTIONS", "8", ""},
               {"env", "NCCL_MAX_CTAS", "4 to 8, measured", ""},
               {"megatron_lm", "--recompute-modules", "one module less at a time", ""},
               {"pytorch", "checkpoint", "on fewer blocks", ""},
               {"any", "look at the log", "", ""}};
  const Report report = build(exchange_facts(), {f});
  const auto& lines = report.findings[0].actions;
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].text == "CUDA_DEVICE_MAX_CONNECTIONS=8; NCCL_MAX_CTAS: 4 to 8, measured");
  CHECK(lines[2].text == "--recompute-modules: one module less at a time");
  CHECK(lines[1].text == "checkpoint: on fewer blocks");
  CHECK(lines[3].framework == "any framework");
}

TEST_CASE("notes come worst first") {
  const Report report = build(exchange_facts());
  REQUIRE(report.notes.size() == 3);
  CHECK(report.notes[0].code == "records_lost");
  CHECK(report.notes[1].code == "peers_missing");
  CHECK(report.notes[2].count == 3);
}

TEST_CASE("a fact file without a run is refused in one line") {
  auto facts = FactDb::in_memory();
  REQUIRE(facts);
  const auto report = build_report(*facts, {});
  REQUIRE(!report);
  CHECK(report.error().message.find("expected one row in fact_run") != std::string::npos);
}

TEST_CASE("reasons are sentences; names at their head keep their spelling") {
  const struct {
    const char *fact, *printed;
  } rows[] = {{"the host waits", "The host waits."},
              {"12 launches", "12 launches."},
              {"idle.gc is large", "idle.gc is large."},
              {"It ends already.", "It ends already."},
              {"memory takes 3 %", "Memory takes 3 %."}};
  for (const auto& row : rows) {
    const FactDb facts = exchange_facts();
    exec(facts,
         std::string("UPDATE fact_verdict_text SET text = '") + row.fact + "' WHERE kind = 'why'");
    CHECK(build(facts).verdict.why == std::vector<std::string>{row.printed});
  }
}

TEST_CASE("a configuration that tells the framework gets its settings only") {
  Finding f = firing("a/b", "Something"), foreign = firing("a/c", "Something else");
  f.actions = {{"megatron_lm", "--a", "", ""}, {"pytorch", "p", "", ""}, {"env", "E", "1", ""}};
  foreign.actions = {{"megatron_lm", "--a", "", ""}};
  const FactDb facts = exchange_facts();
  CHECK(build(facts, {f}).findings[0].actions.size() == 3);
  exec(facts, "UPDATE fact_config SET framework = 'pytorch'");
  const Report report = build(facts, {f, foreign});
  REQUIRE(report.findings[0].actions.size() == 2);
  CHECK(report.findings[0].actions[0].text == "p");
  CHECK(report.findings[0].actions[1].text == "E=1");
  REQUIRE(report.findings[1].actions.size() == 1);
  CHECK(report.findings[1].actions[0].text.empty());
  CHECK(report.findings[1].finding.actions.empty());
  CHECK(report.findings[1].only_for == std::vector<std::string>{"megatron_lm"});
}

TEST_CASE("a gain says which change it is of, and how much of it") {
  Finding f = firing("a/b", "Something");
  f.gain_lo_share = 0.1;
  f.gain_basis = "what_if";
  const auto gain = [&](const Finding::FromWhatIf& from) {
    f.from_what_if = from;
    return build(exchange_facts(), {f}).findings[0].gain;
  };
  CHECK(gain({"ep_zero", 1, 1}) == "10.0 to 45.0 %, re-simulated");
  CHECK(gain({"ep_zero", 0.25, 1}) ==
        "10.0 to 45.0 %, a quarter to all of what costless expert exchanges save, re-simulated");
  CHECK(gain({"launch_zero", 0.33, 0.5}) ==
        "10.0 to 45.0 %, a third to half of what costless launches save, re-simulated");
  CHECK(gain({"copy_zero", 0.3, 1}) ==
        "10.0 to 45.0 %, 30 % to all of what costless host copies save, re-simulated");
  f.gain_lo_share = 0;
  CHECK(gain({"ep_zero", 0, 1}) == "at most 45.0 %, re-simulated");
  CHECK(gain({"offload_zero", 0, 0.5}) ==
        "at most 45.0 %, half of what costless offload copies save, re-simulated");
  f.gain_lo_share = 0.1;
  CHECK(gain({"bubble_halved", 1, 1}) == "10.0 to 45.0 %, by formula");
}

TEST_CASE("where nothing was seen of the GPU no rule may apply") {
  Finding fires = firing("a/b", "Something"), unknown = firing("a/c", "Something else");
  unknown.status = FindingStatus::unknown;
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_run SET verdict_kind = 'insufficient', loss = NULL, wall = NULL");
  CHECK(build(facts, {fires, unknown}).findings.size() == 2);
  exec(facts, "UPDATE fact_run SET device_count = 0");
  REQUIRE(build(facts, {fires, unknown}).findings.size() == 1);
  CHECK(build(facts, {fires, unknown}).findings[0].finding.rule == "a/b");
}

TEST_CASE("what a configuration does not say is not listed as what may apply") {
  Finding unknown = firing("a/b", "Something"), silent = firing("a/c", "Something else");
  unknown.status = silent.status = FindingStatus::unknown;
  silent.kind = "silent";
  const Report report = build(exchange_facts(), {unknown, silent});
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].finding.rule == "a/b");
}
