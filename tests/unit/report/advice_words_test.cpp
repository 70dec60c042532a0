// What stands above the actions and around one: whose settings, in which order and why.
#include "report/tables.h"
#include "unit/report/report_text.h"

using namespace ws;
using namespace ws::test;

namespace {

std::string caption(const std::vector<Finding>& findings) {
  const std::string text = text_of(exchange_facts(), findings);
  const size_t at = text.find("DO NEXT");
  return text.substr(at, text.find('\n', at) - at);
}

std::string settings(const std::string& sql, const std::vector<Finding>& findings) {
  const FactDb facts = exchange_facts();
  exec(facts, sql);
  auto report = build_report(facts, findings);
  REQUIRE(report);
  return settings_caption(*report);
}

}  // namespace

TEST_CASE("an order is claimed only where one is known, with the reason") {
  Finding a = firing("x/a", "First of all"), b = firing("x/b", "Second of all"),
          c = firing("x/c", "Third of all");
  CHECK(caption({a}) == "DO NEXT");
  CHECK(caption({a, b, c}) == "DO NEXT");
  b.phase = c.phase = "profile";
  a.phase = "fit";
  CHECK(caption({a, b, c}) == "DO NEXT   order matters: 1 before 2 (fit before profile)");
  CHECK(caption({b, c, a}) == "DO NEXT");
  c.after = {"x/a", "x/b"};
  CHECK(caption({a, b, c}) == "DO NEXT   order matters: 3 builds on 1 and 2");
  c.after.clear();
  b.held_back_by = c.held_back_by = "x/a";
  CHECK(caption({a, b, c}) ==
        "DO NEXT   order matters: 1 first, since what does not fit the GPU is not tuned");
}

TEST_CASE("actions that stand in for each other have no order among them") {
  Finding a = firing("x/a", "First of all"), b = firing("x/b", "Second of all"),
          c = firing("x/c", "Third of all");
  b.conflicts = {"x/a"};
  CHECK(caption({a, b}) == "DO NEXT   1 or 2: they exclude each other");
  CHECK(caption({a, b, c}) == "DO NEXT   1 or 2: they exclude each other");
  c.after = {"x/b"};
  CHECK(caption({a, b, c}) ==
        "DO NEXT   1 or 2: they exclude each other; order matters: 3 builds on 2");
}

TEST_CASE("data findings are no phase of the work") {
  Finding a = firing("x/a", "First"), b = firing("x/b", "Second");
  a.phase = "data";
  CHECK(caption({a, b}) == "DO NEXT");
  CHECK(caption({b, a}) == "DO NEXT");
}

TEST_CASE("an action ahead of an earlier phase says so in text and Markdown") {
  Finding a = firing("x/a", "First"), b = firing("x/b", "Second");
  a.ahead = Finding::Ahead{"fit", "this one answers the verdict", "x/b"};
  const std::string text = text_of(exchange_facts(), {a, b});
  CHECK(has(text, "     ahead of         2 (phase fit): this one answers the verdict\n"));
  CHECK(text.find("ahead of", text.find("ahead of") + 1) == std::string::npos);
}

TEST_CASE("the header says whose settings stand below where that is not certain") {
  const std::vector<Finding> one = {firing("x/a", "First")};
  CHECK(settings("UPDATE fact_run SET framework_by = 'operators'", one).empty());
  CHECK(settings("UPDATE fact_config SET framework = 'pytorch'", one).empty());
  for (const char* sql :
       {"UPDATE fact_run SET framework_by = 'kernels'", "UPDATE fact_run SET framework = NULL",
        "UPDATE fact_run SET framework = 'megatron_lm', framework_by = 'core'",
        "UPDATE fact_run SET framework = NULL; UPDATE fact_kernel SET unclassified = 1"}) {
    INFO(sql);
    CHECK(has(settings(sql, one), "--config FILE"));
    CHECK(settings(sql, {}).empty());
  }
  CHECK(has(settings("UPDATE fact_run SET framework = NULL", one), "framework is not known"));
}

TEST_CASE("an action of other frameworks only is not offered as one of this run") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_run SET framework_by = 'operators'");
  const std::string text = text_of(facts, {firing("x/a", "First")});
  CHECK(!has(text, "--moe-token-dispatcher-type"));
  CHECK(has(text,
            "     PyTorch          no setting known; the catalogue has those of Megatron-LM, "
            "Megatron Bridge\n"));
}

TEST_CASE("a gain of the same time as an earlier one says so") {
  Finding a = firing("x/a", "First"), b = firing("x/b", "Second"), c = firing("x/c", "Third");
  for (Finding* f : {&a, &b, &c}) {
    f->gain_lo_share = 0.1;
    f->gain_hi_share = 0.3;
    f->gain_basis = "ceiling";
  }
  b.gain_lo_share = 0;
  c.gain_hi_share = 0.2;
  a.gain_of = c.gain_of = {"comm.dp"};
  b.same_time_as = c.same_time_as = "x/a";
  Finding d = c;
  d.rule = "x/d";
  d.gain_of = {"comm.dp", "gemm"};
  const std::string text = text_of(exchange_facts(), {a, b, c, d});
  CHECK(has(text, "gain at most 20.0 %, partly of the same time as item 1   "));
  CHECK(has(text, "gain at most 30.0 %   "));
  CHECK(has(text, "gain at most 30.0 %, the same as item 1   "));
  CHECK(has(text, "gain at most 20.0 %, of the same time as item 1   "));
}

TEST_CASE("keys of a configuration that go together are told as pairs") {
  Finding f = firing("x/a", "First");
  f.actions = {
      {"megatron_bridge", "cfg.train.manual_gc / cfg.train.manual_gc_interval", "True / 50", ""},
      {"megatron_bridge", "cfg.ddp.overlap_grad_reduce / overlap_param_gather", "True", ""},
      {"megatron_bridge", "cfg.model.cp_comm_type / hierarchical_context_parallel_sizes",
       "\"a2a+p2p\" / [inside, across]", ""}};
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_config SET framework = 'megatron_bridge'");
  auto report = build_report(facts, {f});
  REQUIRE(report);
  CHECK(report->findings[0].actions[0].text ==
        "cfg.train.manual_gc = True; cfg.train.manual_gc_interval = 50; "
        "cfg.ddp.overlap_grad_reduce = True; cfg.ddp.overlap_param_gather = True; "
        "cfg.model.cp_comm_type = \"a2a+p2p\"; "
        "cfg.model.hierarchical_context_parallel_sizes = [inside, across]");
}

TEST_CASE("of a long configuration the layout is shown and what the findings rest on") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_config SET given = 1, tp = 2, manual_gc = 0, num_workers = 4, nccl_ub = 0, "
       "moe_paged_stash = 0, torch_compile = 0, fused_optimizer = 1, op_fuser = 0, check_for_nan = "
       "1, moe_router_fusion = 1, moe_permute_fusion = 1");
  Finding f = firing("x/a", "First");
  f.clauses.push_back({"cfg.num_workers IS NOT 8", true, {}});
  auto report = build_report(facts, {f});
  REQUIRE(report);
  const auto line = [&](bool all) {
    std::string out;
    for (const std::string& l : assumption_lines(*report, all))
      if (has(l, "configuration as given")) out = l;
    return out;
  };
  INFO(line(false));
  CHECK(has(line(false), "TP 2, "));
  CHECK(has(line(false), "loader workers 4"));
  CHECK(has(line(false), "10 more settings (--all)"));
  CHECK(!has(line(false), "paged stash"));
  CHECK(has(line(true), "paged stash of experts no"));
}

TEST_CASE("few cautions are all shown, of many the first two") {
  Finding f = firing("x/a", "First");
  f.pitfalls = {"one", "two", "three"};
  CHECK(has(text_of(exchange_facts(), {f}), "three"));
  f.pitfalls.push_back("four");
  const std::string text = text_of(exchange_facts(), {f});
  CHECK(has(text, "two"));
  CHECK(!has(text, "three"));
}

TEST_CASE("an action says how many of its lines are left out") {
  Finding f = firing("x/a", "First");
  f.pitfalls = {"one", "two", "three", "four"};
  f.verify = {"one", "two"};
  const std::string text = text_of(exchange_facts(), {f});
  CHECK(has(text, "wallsight rules show x/a (not shown: 2 of 4 under watch, 1 of 2 under verify)"));
  CHECK(has(text_of(exchange_facts(), {f}, {false, true}), "wallsight rules show x/a\n"));
}
