#include "advise/spellings.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "support/rule_text.h"

namespace ws {
namespace {

std::vector<Action> left_of(const std::vector<Action>& actions, const Settings& in_use,
                            const std::string& kind = "") {
  std::vector<Finding> findings(1);
  findings[0].kind = kind;
  findings[0].actions = actions;
  drop_settings_in_use(findings, in_use);
  return findings[0].actions;
}

}  // namespace

TEST_CASE("flags in use are left out of the advice, not out of what is said of the configuration") {
  const auto left = [](const std::string& set, const std::string& kind) {
    Settings in_use;
    in_use.words = {"--a", "--c", "--d fp32"};
    const auto actions =
        left_of({{"megatron_lm", set, "", ""}, {"pytorch", "--a", "", ""}}, in_use, kind);
    CHECK(actions.back().set == "--a");
    return actions.size() == 2 ? actions[0].set : "";
  };
  CHECK(left("--a --b", "") == "--b");
  CHECK(left("--b, --a, --d", "") == "--b, --d");
  CHECK(left("--b --c", "") == "--b");
  CHECK(left("--a", "").empty());
  CHECK(left("--a --c", "").empty());
  CHECK(left("--a-long", "") == "--a-long");
  CHECK(left("--b --d fp32", "") == "--b");
  CHECK(left("--a", "silent") == "--a");
}

TEST_CASE("what is said of the configuration names no value that is there already") {
  Settings in_use;
  in_use.words = {"CONF=expandable_segments:True", "--a"};
  in_use.given = {{"megatron_lm", "--interval", "50"}, {"megatron_bridge", "type", "\"flex\""}};
  const Action rest = {"any", "first step", "watch the peak", ""};
  const auto stays = [&](const Action& a) {
    return left_of({a, rest}, in_use, "advice").size() == 2;
  };
  CHECK_FALSE(stays({"env", "CONF", "expandable_segments:True", ""}));
  CHECK(stays({"env", "CONF", "without expandable_segments:True", ""}));
  CHECK_FALSE(stays({"megatron_lm", "--interval", "50", ""}));
  CHECK(stays({"megatron_lm", "--interval", "leave it out", ""}));
  CHECK(stays({"megatron_lm", "--interval --a", "50", ""}));
  CHECK(stays({"megatron_lm", "--a", "leave it out", ""}));
  CHECK_FALSE(stays({"megatron_bridge", "cfg.model.type", "\"flex\"", ""}));
  CHECK(stays({"megatron_bridge", "cfg.model.type", "\"alltoall\"", ""}));
  // Something is left to say.
  CHECK(left_of({{"megatron_lm", "--interval", "50", ""}}, in_use, "error").size() == 1);
}

TEST_CASE("keys of Bridge that are True already are left out, the path of the others stays") {
  Settings in_use;
  in_use.keys = {"a", "c"};
  in_use.given = {{"megatron_bridge", "interval", "50"}, {"megatron_bridge", "type", "\"flex\""}};
  const auto left = [&](const std::string& set, const std::string& to) {
    const auto actions = left_of({{"megatron_bridge", set, to, ""}, {"any", "x", "", ""}}, in_use);
    return actions.size() == 1 ? "" : actions[0].set;
  };
  CHECK(left("cfg.ddp.a / b / c", "True") == "cfg.ddp.b");
  CHECK(left("cfg.ddp.b / d", "True") == "cfg.ddp.b / d");
  CHECK(left("cfg.ddp.a / b / d", "True") == "cfg.ddp.b / cfg.ddp.d");
  CHECK(left("cfg.ddp.a / cfg.model.c", "True").empty());
  CHECK(left("cfg.train.a / cfg.train.interval", "True / 50").empty());
  CHECK(left("cfg.train.interval / cfg.train.b", "20 / 50") == "cfg.train.interval / cfg.train.b");
  CHECK(left("cfg.model.type", "\"flex\"").empty());
  CHECK(left("cfg.train.interval / b", "50 / 8") == "cfg.train.b");
  CHECK(left("cfg.ddp.a", "2") == "cfg.ddp.a");
}

TEST_CASE("variables of the environment that hold a wanted value are left out") {
  const auto count = [](const std::string& to, int64_t value) {
    Settings in_use;
    in_use.variables = {{"N", value}};
    return left_of({{"env", "N", to, ""}, {"any", "x", "", ""}}, in_use).size();
  };
  CHECK(count("8 to 32", 8) == 1);
  CHECK(count("8 to 32", 33) == 2);
  CHECK(count("8 to 32", 7) == 2);
  CHECK(count("8 or more", 64) == 1);
  CHECK(count("1 on Hopper", 1) == 1);
  CHECK(count("1 on Hopper", 8) == 2);
  CHECK(count("as many as fit", 8) == 2);
  Settings words;
  words.words = {"A=b"};
  CHECK(left_of({{"env", "A", "b", ""}, {"any", "x", "", ""}}, words).size() == 1);
  CHECK(left_of({{"env", "A", "b", ""}}, words).size() == 1);  // nothing else to say
}

TEST_CASE("settings in use: flags with their values, and findings of which nothing is left") {
  Settings in_use;
  in_use.given = {{"megatron_lm", "--interval", "50"},
                  {"megatron_lm", "--collect", ""},
                  {"megatron_lm", "--coeff", "0.01"},
                  {"megatron_lm", "--modules", "mlp layernorm"}};
  const auto left = [&](const std::string& set, const std::string& to) {
    const auto actions = left_of({{"megatron_lm", set, to, ""}, {"any", "x", "", ""}}, in_use);
    return actions.size() == 1 ? "" : actions[0].set + "|" + actions[0].to;
  };
  CHECK(left("--collect --interval", "50").empty());
  CHECK(left("--collect --interval 50", "").empty());
  CHECK(left("--collect --interval", "20") == "--interval|20");
  CHECK(left("--interval 50 --other", "3") == "--other|3");
  CHECK(left("--modules", "layernorm mlp").empty());
  CHECK(left("--modules layernorm", "") == "--modules layernorm|");
  CHECK(left("--collect", "if it is yours") == "--collect|if it is yours");
  CHECK(left("--collect --interval", "20 to 50").empty());
  CHECK(left("--interval", "50 or more").empty());
  CHECK(left("--interval", "51 to 1e2") == "--interval|51 to 1e2");
  CHECK(left("--interval", "50 steps") == "--interval|50 steps");
  CHECK(left("--coeff", "1e-2 to 1e-3").empty());
  CHECK(left("--modules", "1 to 8") == "--modules|1 to 8");
  CHECK(left("--interval, --collect", "") == "--interval, --collect|");
  const auto status = [&](const std::string& framework, std::vector<Action> actions) {
    in_use.framework = framework;
    std::vector<Finding> findings(1);
    findings[0].status = FindingStatus::fires;
    findings[0].actions = std::move(actions);
    drop_settings_in_use(findings, in_use);
    for (const Action& a : findings[0].actions) CHECK_FALSE(a.set.empty());
    return findings[0].status;
  };
  const Action own = {"megatron_lm", "--collect", "", ""}, torch = {"pytorch", "gc", "", ""};
  CHECK(status("megatron_lm", {own, torch}) == FindingStatus::no);
  CHECK(status("pytorch", {own, torch}) == FindingStatus::fires);
  CHECK(status("", {own, torch}) == FindingStatus::fires);
  CHECK(status("", {own}) == FindingStatus::no);
  CHECK(status("megatron_lm", {own, {"any", "x", "", ""}}) == FindingStatus::fires);
  CHECK(status("megatron_lm", {torch}) == FindingStatus::fires);  // has nothing for it either way
}

TEST_CASE("spellings: versions by their numbers") {
  CHECK(is_older("0.9", "0.16"));
  CHECK_FALSE(is_older("0.16.1", "0.16"));
  CHECK_FALSE(is_older("1.0", "0.18"));
  CHECK_FALSE(is_older("", "0.16"));
}

TEST_CASE("spellings: the table of the catalogue, and a damaged one") {
  const auto table = load_spellings(WS_SOURCE_DIR "/rules/frameworks.json");
  REQUIRE(table);
  CHECK(table->flags.size() >= 10);
  for (const FlagSpelling& s : table->flags) {
    INFO(s.flag);
    CHECK(s.flag.rfind("--", 0) == 0);
    CHECK(is_older("0.1", s.since));
  }
  CHECK(table->in_use.size() >= 15);
  CHECK(table->floors.size() >= 20);
  CHECK_FALSE(table->variables.empty());
  CHECK_FALSE(load_spellings(WS_SOURCE_DIR "/rules/platforms.json"));
}

TEST_CASE("spellings: what stands in the place of a column is no way into the facts") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("wallsight_spellings_" + std::to_string(getpid()) + ".json");
  const char* bad = "1; DROP TABLE x";
  for (
      const char* part :
      {R"("in_use": {"--a": "BAD"})", R"("variables": {"A": "BAD"})", R"("versions": {"A": "BAD"})",
       R"("flags": [{"flag": "--a", "since": "0.1", "before": "", "column": "BAD"}])",
       R"("floors": [{"name": "a", "words": [["a"]], "beside": {"BAD": ["1"]}, "needs": "a", "at_least": "1"}])"}) {
    auto file = nlohmann::json::parse(
        R"({"flags": [], "variables": {}, "in_use": {}, "versions": {}, "floors": []})");
    std::string text = "{" + std::string(part) + "}";
    text.replace(text.find("BAD"), 3, bad);
    file.update(nlohmann::json::parse(text));
    std::ofstream(path) << file.dump();
    const auto table = load_spellings(path.string());
    std::filesystem::remove(path);
    INFO(part);
    REQUIRE_FALSE(table);
    CHECK(table.error().message.find("expected a column of fact_config, found `1; DROP TABLE x`") !=
          std::string::npos);
  }
}

namespace {

// What an action says for a run with these facts.
Action said(Action action, const std::string& facts_json, const std::string& version = "") {
  const auto table = load_spellings(WS_SOURCE_DIR "/rules/frameworks.json");
  REQUIRE(table);
  const FactDb facts = test::facts_of(facts_json);
  std::vector<Finding> findings(1);
  const std::string a_framework = action.framework;
  findings[0].actions = {std::move(action)};
  spell_for_version(findings, *table, version, own_keys(facts, *table), a_framework);
  say_floors(findings, *table, floor_texts(facts, *table));
  return findings[0].actions[0];
}

}  // namespace

TEST_CASE("spellings: the key that the configuration uses itself is the one that is said") {
  const Action flag = {"megatron_lm", "--cuda-graph-modules", "attn", ""};
  const Action key = {"megatron_bridge", "cfg.model.cuda_graph_modules", "[\"attn\"]", ""};
  const std::string scope = R"({"fact_config": {"cuda_graph_key": "cuda_graph_scope"}})";
  const std::string modules = R"({"fact_config": {"cuda_graph_key": "cuda_graph_modules"}})";
  CHECK(said(flag, scope).set == "--cuda-graph-scope");
  CHECK(said(flag, scope).note.empty());
  CHECK(said(key, scope).set == "cfg.model.cuda_graph_scope");
  CHECK(said(key, scope, "0.18").set == "cfg.model.cuda_graph_scope");
  CHECK(said(flag, modules).set == "--cuda-graph-modules");
  CHECK(said(key, modules).note.empty());
  CHECK(said(flag, modules, "0.14").set == "--cuda-graph-scope");  // which 0.14 takes
  // Not set: the release decides, and without one both are told.
  CHECK(said(key, "{}", "0.17").set == "cfg.model.cuda_graph_scope");
  CHECK(said(key, "{}", "0.18").set == "cfg.model.cuda_graph_modules");
  CHECK(said(key, "{}", "0.18").note.empty());
  CHECK(said(key, "{}").note == "cuda_graph_modules from core 0.18 on, before cuda_graph_scope");
  CHECK(said(flag, "{}").note == "the flag from core 0.18 on, before --cuda-graph-scope");
}

namespace {

// A finding that fires, beside these releases.
Finding beside(std::vector<Action> actions, const std::string& config,
               const std::string& framework = "megatron_lm", const std::string& kind = "") {
  const auto table = load_spellings(WS_SOURCE_DIR "/rules/frameworks.json");
  REQUIRE(table);
  const FactDb facts = test::facts_of(R"({"fact_config": )" + config + "}");
  std::vector<Finding> findings(1);
  findings[0].status = FindingStatus::fires;
  findings[0].kind = kind;
  findings[0].actions = std::move(actions);
  const auto texts = floor_texts(facts, *table);
  drop_below_floors(findings, *table, texts, framework);
  say_floors(findings, *table, texts);
  return findings[0];
}

}  // namespace

TEST_CASE("floors: what the stated release lacks is not offered and says what it needs") {
  const Action fp8 = {"megatron_lm", "--fp8-format hybrid --fp8-recipe tensorwise", "", ""};
  const Finding old = beside({fp8}, R"({"te_version": "1.9"})");
  CHECK(old.status == FindingStatus::no);
  CHECK(old.later_release == "current scaling needs Transformer Engine 2.2");
  CHECK(beside({fp8}, R"({"te_version": "2.2"})").status == FindingStatus::fires);
  CHECK(beside({fp8}, "{}").status == FindingStatus::fires);
  const Action key = {"megatron_bridge", "cfg.mixed_precision", "bf16_with_mxfp8_mixed", ""};
  CHECK(beside({key}, R"({"te_version": "2.0"})", "megatron_bridge").later_release ==
        "MXFP8 needs Transformer Engine 2.1");
  const Action overlap = {"megatron_lm", "--overlap-moe-expert-parallel-comm", "", ""};
  CHECK(beside({overlap}, R"({"torch_version": "2.5"})").later_release ==
        "the expert overlap needs PyTorch 2.6");
  // Bridge writes a text in quotes; and to leave a setting out needs nothing.
  const Action quoted = {"megatron_bridge", "cfg.mixed_precision",
                         "\"bf16_with_fp8_current_scaling_mixed\"", ""};
  CHECK(beside({quoted}, R"({"te_version": "1.13"})", "megatron_bridge").later_release ==
        "current scaling needs Transformer Engine 2.2");
  const Action away = {"any", "--overlap-moe-expert-parallel-comm", "leave it out", ""};
  const Finding left = beside({away}, R"({"torch_version": "2.5"})");
  CHECK(left.actions.size() == 1);
  CHECK(left.later_release.empty());
  // Of several actions the others stand, and what a note names decides nothing.
  const Finding two = beside({{"megatron_lm", "--a", "", "then --fp8-recipe blockwise"}, fp8},
                             R"({"te_version": "1.9"})");
  CHECK(two.status == FindingStatus::fires);
  REQUIRE(two.actions.size() == 1);
  CHECK(two.actions[0].note.find("not with Transformer Engine 1.9") != std::string::npos);
  // What stops the job is told all the same.
  const Finding error = beside({fp8}, R"({"te_version": "1.9"})", "megatron_lm", "error");
  CHECK(error.status == FindingStatus::fires);
  CHECK(error.actions[0].note.find("not with Transformer Engine 1.9: current scaling needs 2.2") ==
        0);
}

TEST_CASE("floors: an action without the one setting that is not there") {
  const auto set = [](const std::string& framework, const std::string& words) {
    const Finding f = beside({{framework, words, "", ""}}, R"({"te_version": "2.5"})", framework);
    return (f.status == FindingStatus::fires ? f.actions[0].set : f.later_release) + " | " +
           f.actions[0].note;
  };
  const std::string note = "not with Transformer Engine 2.5: router fusion needs 2.7";
  CHECK(set("megatron_lm", "--moe-permute-fusion --moe-router-fusion") ==
        "--moe-permute-fusion | " + note);
  CHECK(set("megatron_bridge", "cfg.model.moe_permute_fusion / moe_router_fusion") ==
        "cfg.model.moe_permute_fusion | " + note);
  CHECK(set("megatron_lm", "--moe-router-fusion") ==
        "router fusion needs Transformer Engine 2.7 | " + note);
}

TEST_CASE("floors: what a recipe needs is told where it is not known to be there") {
  const auto note = [](const std::string& set, const std::string& config,
                       const std::string& run = "{\"gpu\": \"NVIDIA H100\"}",
                       const std::string& framework = "megatron_lm") {
    return said({framework, set, "", ""},
                R"({"fact_config": )" + config + R"(, "fact_run": )" + run + "}", "0.19")
        .note;
  };
  const std::string tensorwise = "--fp8-format hybrid --fp8-recipe tensorwise";
  CHECK(note(tensorwise, "{}") == "current scaling needs Transformer Engine 2.2");
  CHECK(note("--fp8-recipe blockwise", "{}") == "blockwise scaling needs Transformer Engine 2.3");
  CHECK(note("--fp8-recipe mxfp8", "{}") == "MXFP8 needs Transformer Engine 2.1");
  CHECK(note("--fp4-format e2m1 --fp4-recipe nvfp4", "{}") == "NVFP4 needs Transformer Engine 2.7");
  CHECK(note("cfg.mixed_precision bf16_with_mxfp8_mixed", "{}", "{}", "megatron_bridge") ==
        "MXFP8 needs Transformer Engine 2.1 and compute capability 10.0");
  // The release that is there decides.
  CHECK(note(tensorwise, R"({"te_version": "2.2"})").empty());
  CHECK(note(tensorwise, R"({"te_version": "2.10.1"})").empty());
  CHECK(note(tensorwise, R"({"te_version": "2.1"})") ==
        "not with Transformer Engine 2.1: current scaling needs 2.2");
  CHECK(note("--overlap-moe-expert-parallel-comm", R"({"torch_version": "2.5"})") ==
        "not with PyTorch 2.5: the expert overlap needs 2.6");
  CHECK(note("overlap_moe_expert_parallel_comm",
             R"({"framework": "pytorch", "framework_version": "2.8"})")
            .empty());
  // Beside other settings only.
  const std::string recompute = "--recompute-modules moe_act layernorm";
  const std::string needs =
      "recompute of moe_act or layernorm beside FP8 needs Transformer Engine 2.6";
  CHECK(note(recompute, R"({"precision": "bf16"})").empty());
  CHECK(note(recompute, R"({"precision": "mxfp8"})") == needs);
  CHECK(note(recompute, "{}") == needs);
  CHECK(note("--fp8-recipe mxfp8", R"({"recompute_modules": " mlp layernorm "})").find(needs) !=
        std::string::npos);
  CHECK(note("--fp8-recipe mxfp8", R"({"recompute_modules": " mlp "})").find(needs) ==
        std::string::npos);
  CHECK(note("--delay-wgrad-compute", R"({"overlap_grad_reduce": 1})").find("Engine 2.8") !=
        std::string::npos);
  CHECK(note("--delay-wgrad-compute", R"({"overlap_grad_reduce": 0})").empty());
  CHECK(note("cfg.comm_overlap.delay_wgrad_compute", R"({"overlap_grad_reduce": 1})", "{}",
             "megatron_bridge")
            .find("Engine 2.7") != std::string::npos);
}

TEST_CASE("torchtitan: actions for PyTorch become its settings, in the names of the release") {
  FlagTable table;
  table.torchtitan = {{{"checkpoint", "each block"}, "activation_checkpoint.mode = \"full\""},
                      {{"tp dimension"}, "parallelism.tensor_parallel_degree"}};
  const auto spelled = [&](std::vector<Action> actions, const std::string& names) {
    std::vector<Finding> findings(1);
    findings[0].actions = std::move(actions);
    spell_for_torchtitan(findings, table, names);
    std::string out;
    for (const Action& a : findings[0].actions)
      out +=
          a.set + (a.to.empty() ? "" : ": " + a.to) + (a.note.empty() ? "" : " - " + a.note) + "\n";
    return out;
  };
  const std::string today = " parallelism.tensor-parallel-degree ";
  const std::string old = " training.tensor-parallel-degree ";
  const std::vector<Action> compile = {
      {"pytorch", "torch.compile", "of the model",
       "first; torchtitan: compile.enable = true; TORCH_LOGS=recompiles shows whether it holds"}};
  CHECK(spelled(compile, today) ==
        "compile.enable = true - first; TORCH_LOGS=recompiles shows whether it holds\n");
  CHECK(spelled(compile, old) ==
        "training.compile = true - first; TORCH_LOGS=recompiles shows whether it holds\n");
  CHECK(spelled(compile, " tp ") ==
        "torch.compile: of the model - first; torchtitan: compile.enable = true; "
        "TORCH_LOGS=recompiles shows whether it holds\n");
  CHECK(spelled({{"pytorch", "size of the tp dimension", "half", ""}}, old) ==
        "training.tensor_parallel_degree: half\n");
  CHECK(spelled({{"pytorch", "checkpoint", "of each block", ""},
                 {"pytorch", "checkpoint", "each block once more", ""},
                 {"any", "tp dimension", "half", ""},
                 {"pytorch", "what torchtitan has no key for", "", "by hand"}},
                today) ==
        "activation_checkpoint.mode = \"full\"\ntp dimension: half\nwhat torchtitan has no key "
        "for - by hand\n");
}

TEST_CASE("settings in use come from the facts") {
  const FactDb facts = test::facts_of(
      R"({"fact_config": {"manual_gc": 1, "moe_router_dtype": "fp32", "overlap_grad_reduce": 0,
          "cuda_device_max_connections": 8, "nccl_graph_register": 0}})");
  const auto table = load_spellings(WS_SOURCE_DIR "/rules/frameworks.json");
  REQUIRE(table);
  const Settings s = settings_in_use(facts, *table);
  CHECK(s.words == std::vector<std::string>{"--manual-gc", "--moe-router-dtype fp32",
                                            "NCCL_GRAPH_REGISTER=0"});
  CHECK(s.keys == std::vector<std::string>{"manual_gc"});
  CHECK(s.variables ==
        std::vector<std::pair<std::string, int64_t>>{{"CUDA_DEVICE_MAX_CONNECTIONS", 8}});
}

}  // namespace ws
