#include "advise/frameworks.h"
#include "advise/spellings.h"
#include "support/rule_text.h"

namespace ws {
namespace {

Action spelled(const std::string& set, const std::string& note, const std::string& version,
               const std::string& to = "") {
  FlagTable table;
  table.flags = {{"--new-flag", "0.16", "--old-flag", "", "", ""},
                 {"--only-new", "0.18", "", "", "", ""}};
  std::vector<Finding> findings(1);
  findings[0].actions = {{"megatron_lm", set, to, note}};
  spell_for_version(findings, table, version, {}, "megatron_lm");
  return findings[0].actions[0];
}

}  // namespace

TEST_CASE("spellings: the release decides, without one both are told") {
  CHECK(spelled("--new-flag x", "", "0.15").set == "--old-flag x");
  CHECK(spelled("--new-flag x", "", "0.16").set == "--new-flag x");
  CHECK(spelled("--new-flag x", "", "0.16").note.empty());
  CHECK(spelled("--new-flag x", "", "").note == "the flag from core 0.16 on, before --old-flag");
  CHECK(spelled("--new-flag x", "once --old-flag", "").note == "once --old-flag");
  CHECK(spelled("--only-new", "careful", "0.17").note ==
        "careful; not in 0.17: --only-new came with core 0.18");
  CHECK(spelled("--a", "then --new-flag", "0.15").note == "then --old-flag");
  CHECK(spelled("--a", "then --only-new", "0.17").note ==
        "then --only-new; not in 0.17: --only-new came with core 0.18");
  CHECK(spelled("--only-new --other", "", "").note == "--only-new from core 0.18 on");
  // Of what is to be left out nobody asks since when it is there.
  CHECK(spelled("--only-new", "", "", "leave it out").note.empty());
  CHECK(spelled("--only-new", "", "0.12", "leave it out").note.empty());
  CHECK(spelled("--only-new", "", "").note == "the flag from core 0.18 on");
  // In a remark it is told beside the flag, and only where there is another name.
  CHECK(spelled("--a", "then --new-flag, or so", "").note ==
        "then --new-flag (from core 0.16 on, before --old-flag), or so");
  CHECK(spelled("--a", "without --only-new", "").note == "without --only-new");
  CHECK(spelled("--new-flag-too", "", "0.1").set == "--new-flag-too");
  CHECK(spelled("--new-flag", "", "main").set == "--new-flag");
}

TEST_CASE("spellings: flags behind the setting are spelled as well") {
  FlagTable table;
  table.flags = {{"--new-flag", "0.16", "--old-flag", "", "", ""},
                 {"--only-new", "0.18", "", "", "", ""}};
  std::vector<Finding> findings(1);
  findings[0].actions = {{"megatron_lm", "--a", "then --new-flag", ""},
                         {"megatron_lm", "--a", "then --only-new", ""}};
  spell_for_version(findings, table, "0.15", {}, "megatron_lm");
  CHECK(findings[0].actions[0].to == "then --old-flag");
  CHECK(findings[0].actions[1].note == "not in 0.15: --only-new came with core 0.18");
}

namespace {

// The table of the catalogue, on one finding that fires.
Finding in_release(std::vector<Action> actions, const std::string& version,
                   const std::string& framework = "megatron_lm", const std::string& kind = "") {
  const auto table = load_spellings(WS_SOURCE_DIR "/rules/frameworks.json");
  REQUIRE(table);
  std::vector<Finding> findings(1);
  findings[0].status = FindingStatus::fires;
  findings[0].kind = kind;
  findings[0].actions = std::move(actions);
  spell_for_version(findings, *table, version, {}, framework);
  return findings[0];
}

std::string set_in(const std::string& set, const std::string& version, const std::string& to = "") {
  const Finding f = in_release({{"megatron_lm", set, to, ""}}, version);
  if (f.status != FindingStatus::fires) return f.later_release;
  const Action& a = f.actions[0];
  return a.set + (a.to.empty() ? "" : " | " + a.to) + (a.note.empty() ? "" : " | " + a.note);
}

}  // namespace

TEST_CASE("releases: every one has its own words for graphs") {
  const std::string layers = "--cuda-graph-impl transformer_engine --cuda-graph-modules";
  CHECK(set_in(layers, "0.12", "attn") == "--external-cuda-graph --cuda-graph-scope | attn");
  CHECK(set_in(layers, "0.15", "attn") ==
        "--cuda-graph-impl transformer_engine --cuda-graph-scope | attn");
  CHECK(set_in(layers, "0.18", "attn") == layers + " | attn");
  CHECK(set_in("--cuda-graph-impl", "0.14", "transformer_engine") == "--external-cuda-graph");
  CHECK(set_in("--cuda-graph-impl local", "0.14") == "--enable-cuda-graph");
  CHECK(set_in("--cuda-graph-impl full_iteration", "0.17") ==
        "--cuda-graph-impl local --cuda-graph-scope full_iteration");
  CHECK(set_in("--cuda-graph-impl full_iteration", "0.18") == "--cuda-graph-impl full_iteration");
  CHECK(set_in("--cuda-graph-impl full_iteration", "0.14") ==
        "--cuda-graph-impl local --cuda-graph-scope full_iteration came with core 0.15");
  CHECK(set_in("--cuda-graph-impl transformer_engine", "") ==
        "--cuda-graph-impl transformer_engine | --cuda-graph-impl transformer_engine from core "
        "0.15 on, before --external-cuda-graph");
}

TEST_CASE("releases: before 0.16 there is DeepEP and no HybridEP") {
  const std::string flex = "--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend ";
  CHECK(set_in(flex + "deepep", "0.12") == "--moe-token-dispatcher-type flex --moe-enable-deepep");
  CHECK(set_in(flex + "deepep", "0.16") == flex + "deepep");
  CHECK(set_in(flex + "hybridep", "0.15") == "--moe-flex-dispatcher-backend came with core 0.16");
  CHECK(set_in(flex + "hybridep", "0.16") == flex + "hybridep");
  CHECK(set_in("--moe-flex-dispatcher-backend", "0.15", "deepep") == "--moe-enable-deepep");
  CHECK(set_in("--moe-flex-dispatcher-backend ncclep", "0.18") ==
        "--moe-flex-dispatcher-backend ncclep came with core 0.19");
  CHECK(set_in("--moe-flex-dispatcher-backend ncclep", "main") ==
        "--moe-flex-dispatcher-backend ncclep");
  // SMs are set by a flag of the backend, until both share one.
  const auto sms = [](const char* backend, const char* version) {
    return in_release({{"megatron_lm", std::string("--x ") + backend, "",
                        "--moe-flex-dispatcher-num-sms"}},
                      version)
        .actions[0]
        .note;
  };
  CHECK(sms("hybridep", "0.18") == "--moe-hybridep-num-sms");
  CHECK(sms("deepep", "0.18") == "--moe-deepep-num-sms");
  CHECK(sms("deepep", "main") == "--moe-flex-dispatcher-num-sms");
  // The backend may stand in the note alone, and a release before it has no such flag at all.
  const auto contended = [](const char* framework, const char* set, const char* backend,
                            const char* version) {
    const Finding f = in_release({{framework, set, "16", std::string("of the backend ") + backend}},
                                 version, framework);
    return f.status == FindingStatus::fires ? f.actions[0].set : f.later_release;
  };
  const char* flag = "--moe-flex-dispatcher-num-sms";
  const char* key = "cfg.model.moe_flex_dispatcher_num_sms";
  CHECK(contended("megatron_lm", flag, "hybridep", "0.18") == "--moe-hybridep-num-sms");
  CHECK(contended("megatron_lm", flag, "hybridep", "0.15") ==
        "--moe-hybridep-num-sms came with core 0.16");
  CHECK(contended("megatron_lm", flag, "deepep", "0.15") == "--moe-deepep-num-sms");
  CHECK(contended("megatron_lm", flag, "ncclep", "0.18") == flag);
  CHECK(contended("megatron_bridge", key, "hybridep", "0.16") == "cfg.model.moe_hybridep_num_sms");
  CHECK(contended("megatron_bridge", key, "deepep", "0.16") == "cfg.model.moe_deepep_num_sms");
  CHECK(contended("megatron_bridge", key, "hybridep", "main") == key);
}

TEST_CASE("releases: before 0.13 there is no padding of token counts in the router") {
  const std::string padding = "--moe-router-padding-for-quantization";
  CHECK(set_in(padding, "0.16") == padding);
  CHECK(set_in(padding, "0.13") == "--moe-router-padding-for-fp8");
  CHECK(set_in(padding, "0.12") == "--moe-router-padding-for-fp8 came with core 0.13");
}

TEST_CASE("releases: what the stated one does not have is not offered and says what it needs") {
  const Action lead{"megatron_lm", "--overlap-moe-expert-parallel-comm", "", ""};
  const Action env{"env", "CUDA_DEVICE_MAX_CONNECTIONS", "8", ""};
  const Finding fallen = in_release({lead, env}, "0.13");
  CHECK(fallen.status == FindingStatus::no);
  CHECK(fallen.later_release == "--overlap-moe-expert-parallel-comm came with core 0.14");
  CHECK(in_release({lead, env}, "0.14").status == FindingStatus::fires);
  CHECK(in_release({lead, env}, "").status == FindingStatus::fires);
  // Beside something that holds for any program, and behind what the release has, it is left out.
  const Finding behind = in_release({{"any", "placement", "", ""}, lead}, "0.13");
  CHECK(behind.status == FindingStatus::fires);
  CHECK(behind.actions.size() == 1);
  CHECK(behind.later_release.empty());
  REQUIRE(behind.left_out.size() == 1);  // and that is said
  CHECK(behind.left_out[0].set == "--overlap-moe-expert-parallel-comm");
  CHECK(behind.left_out[0].needs == "--overlap-moe-expert-parallel-comm came with core 0.14");
  CHECK(in_release({{"any", "placement", "", ""}, lead}, "0.14").left_out.empty());
  CHECK(in_release({{"pytorch", "x", "", ""}, lead}, "0.13", "pytorch").left_out.empty());
  const Action away{"megatron_lm", lead.set, "leave it out", ""};
  CHECK(in_release({{"any", "placement", "", ""}, away}, "0.13").left_out.empty());
  // Another framework's run is none of its business.
  const Finding other = in_release({lead, {"pytorch", "compile", "", ""}}, "0.13", "pytorch");
  CHECK(other.status == FindingStatus::fires);
  CHECK(in_release({lead}, "0.13", "megatron_lm", "advice").status == FindingStatus::no);
  const Action leave_out{"megatron_lm", "--a", "leave it out", ""};
  CHECK(in_release({lead}, "0.13", "megatron_lm", "silent").status == FindingStatus::no);
  CHECK(in_release({lead, leave_out}, "0.13", "megatron_lm", "silent").status ==
        FindingStatus::fires);
  // A fault of a configuration stays said, with a note where nothing else is left to set.
  const Finding fault = in_release({lead}, "0.13", "megatron_lm", "error");
  CHECK(fault.status == FindingStatus::fires);
  CHECK(fault.actions[0].set == "a newer release");
  CHECK(fault.actions[0].note ==
        "not in 0.13: --overlap-moe-expert-parallel-comm came with core 0.14");
  CHECK(in_release({lead, env, {"any", "x", "", ""}}, "0.13", "megatron_lm", "error")
            .actions.size() == 2);
}

TEST_CASE("releases: flags of use without the newest one stay") {
  CHECK(set_in("--moe-permute-fusion --moe-router-fusion", "0.13") ==
        "--moe-permute-fusion | --moe-router-fusion came with core 0.14");
  CHECK(set_in("--moe-router-fusion --moe-permute-fusion", "0.13") ==
        "--moe-permute-fusion | --moe-router-fusion came with core 0.14");
  CHECK(set_in("--moe-router-fusion", "0.13") == "--moe-router-fusion came with core 0.14");
}

}  // namespace ws
