// In which order a plan tells what it found, and that every format tells it.
#include "plan/render_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "support/catch.h"
#include "unit/plan/made_plan.h"

namespace ws {

using made::errors;
using made::find;
using made::plan_of;
using made::rendered;
using made::sample;

TEST_CASE("plan: errors stand before what is silent, and that before advice but what it needs") {
  const Plan p = sample("mixtral_megatron_lm.sh");
  const Plan all = plan_of(
      "gpus: 64\ntp: 2\npp: 8\nep: 32\nmanual_gc: true\nglobal_batch: 64\n"
      "micro_batch: 1\nrecompute_granularity: full\n");
  CHECK(errors(all) > 0);
  for (const Plan* plan : {&p, &all}) {
    std::vector<int> kinds;
    std::set<std::string> names;
    for (const Finding& f : plan->findings) {
      names.insert(f.kind);
      // Full recompute is undone before a lever of communication.
      const bool needed = f.rule == "configuration/full_recompute";
      kinds.push_back(f.kind == "error" ? 0 : f.kind == "silent" || needed ? 1 : 2);
    }
    CHECK(std::is_sorted(kinds.begin(), kinds.end()));
    CHECK(names.size() >= 2);
  }
  CHECK(find(p, "configuration/expert_tensor_parallel_unset") != nullptr);
  CHECK(find(p, "configuration/full_recompute") != nullptr);
  const Plan dump = sample("argument_dump.log");
  const Finding* unused = find(dump, "configuration/flex_backend_unused");
  REQUIRE(unused != nullptr);  // with what DeepEP wants of the router: told once
  CHECK(std::any_of(unused->actions.begin(), unused->actions.end(),
                    [](const Action& action) { return action.set == "--moe-router-dtype"; }));
  CHECK(find(dump, "configuration/router_precision") == nullptr);
}

TEST_CASE("plan: the formats say the same, JSON is the contract") {
  const Plan a = sample("deepseek_v3_256k_h100.yaml");
  const auto json = nlohmann::json::parse(rendered(a, "json"));
  CHECK(json["schema"] == 1);
  CHECK(json["min_gpus"] == 512);
  CHECK(json["grids"][1]["sizes"]["EDP"] == 2);
  CHECK(json["memory"]["total_bytes"] == a.memory->total_bytes);
  CHECK(json["config"]["cp"] == "64");
  CHECK(json["findings"].size() == a.findings.size());
  for (const char* format : {"text", "md"}) {
    const std::string text = rendered(a, format);
    INFO(format);
    CHECK(text.find("PP 8 x lcm") != std::string::npos);
    for (const Finding& f : a.findings)
      CHECK(text.find(f.title.substr(0, 20)) != std::string::npos);
  }
  CHECK_FALSE(find_plan_format("html"));
}

TEST_CASE("plan: hostile names are escaped everywhere") {
  const Plan p =
      plan_of("tp: 2\n\"<script>\\e[31m|`x`\": 1\nmodel: \"a<b>\\e[0m\"\n", "evil<b>.yaml");
  for (const char* format : {"text", "md", "json"}) {
    const std::string text = rendered(p, format);
    INFO(text);
    CHECK(text.find('\x1b') == std::string::npos);
    if (std::string(format) == "md") CHECK(text.find("<script>") == std::string::npos);
  }
}

TEST_CASE("plan: a layout that does not divide holds the tuning back, in every format") {
  const std::string tuning = "num_experts: 64\nmoe_router_dtype:\nmanual_gc: true\n";
  const Plan p = plan_of("gpus: 64\ntp: 1\ncp: 1\npp: 8\nep: 32\netp: 1\n" + tuning);
  REQUIRE(find(p, "configuration/gc_never") != nullptr);
  CHECK(find(p, "configuration/gc_never")->held_back_by == "configuration/expert_grid");
  CHECK(find(p, "configuration/expert_grid")->held_back_by.empty());
  const std::string title = find(p, "configuration/expert_grid")->title;
  CHECK(rendered(p, "text").find("after           " + title) != std::string::npos);
  CHECK(rendered(p, "md").find("- after: " + title) != std::string::npos);
  const auto json = nlohmann::json::parse(rendered(p, "json"));
  bool marked = false;
  for (const auto& f : json["findings"])
    marked = marked || f["held_back_by"] == "configuration/expert_grid";
  CHECK(marked);
  const Plan good = plan_of("gpus: 256\ntp: 1\ncp: 1\npp: 8\nep: 32\netp: 1\n" + tuning);
  REQUIRE(find(good, "configuration/gc_never") != nullptr);
  CHECK(find(good, "configuration/gc_never")->held_back_by.empty());
}

TEST_CASE("plan: TP wider than the NVLink domain holds the tuning back") {
  const std::string rest = "pp: 1\ncp: 1\nplatform: h100\nmanual_gc: true\n";
  const Plan wide = plan_of("gpus: 64\ntp: 16\n" + rest);
  REQUIRE(find(wide, "configuration/gc_never") != nullptr);
  CHECK(find(wide, "configuration/gc_never")->held_back_by ==
        "configuration/tensor_parallel_beyond_domain");
  const Plan inside = plan_of("gpus: 64\ntp: 8\n" + rest);
  REQUIRE(find(inside, "configuration/gc_never") != nullptr);
  CHECK(find(inside, "configuration/gc_never")->held_back_by.empty());
}

TEST_CASE("plan: text and Markdown show the settings of the configuration's framework, JSON all") {
  const auto rendered = [](const Plan& p, void (*render)(const Plan&, std::ostream&)) {
    std::ostringstream out;
    render(p, out);
    return out.str();
  };
  const std::string sizes = "num_layers: 4\nnum_experts: 64\nep: 8\ngpus: 8\n";
  const Plan bridge = plan_of("framework: megatron_bridge\n" + sizes);
  const Plan any = plan_of(sizes);
  REQUIRE(find(bridge, "configuration/router_precision") != nullptr);
  for (auto* render : {render_plan_text, render_plan_markdown}) {
    CHECK(rendered(bridge, render).find("--moe-router-dtype") == std::string::npos);
    CHECK(rendered(bridge, render).find("moe") != std::string::npos);
    CHECK(rendered(any, render).find("--moe-router-dtype") != std::string::npos);
  }
  CHECK(rendered(bridge, render_plan_json).find("--moe-router-dtype") != std::string::npos);
}

}  // namespace ws
