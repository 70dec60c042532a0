// The words of the catalogue: what is said to whom.
#include "support/rule_text.h"

using namespace ws;

namespace {

const RuleSet& catalogue() {
  static const RuleSet set = [] {
    auto loaded = load_rules({WS_SOURCE_DIR "/rules"});
    if (!loaded) FAIL(loaded.error().message);
    return std::move(*loaded);
  }();
  return set;
}

}  // namespace

// A recording need not be of a transformer: its parts are named only where a condition says so.
TEST_CASE("what is said to any run names no part of a transformer") {
  const auto check = [](const std::string& text) {
    for (const char* part :
         {"transformer block", "rotary", "residual", "dropout", "attention head"})
      CHECK(text.find(part) == std::string::npos);
  };
  for (const Rule& rule : catalogue().rules) {
    const bool of_attention = rule.id.find("attention") != std::string::npos;
    if (of_attention || rule.phase == "data" || !rule.kind.empty()) continue;
    INFO(rule.id);
    for (const auto* lines : {&rule.why, &rule.pitfalls, &rule.verify})
      for (const RuleLine& line : *lines)
        if (line.when.empty() && line.frameworks.empty()) check(line.text);
    for (const RuleAction& a : rule.actions)
      if (a.framework == "any" || a.framework == "pytorch") check(a.set + a.to + a.note);
  }
}

// Words of a kind of run stand in rules that ask for it, or in lines that do.
struct RunWords {
  const char* of;
  std::vector<const char*> words, asked_by;
};
const RunWords kRunWords[] = {
    {"experts",
     {"expert", "MoE", "dispatcher", "ETP"},
     {"'ep'", "experts", "cfg.ep", "moe_", "expert", "dispatcher", "offload_modules"}},
    {"stages",
     {"pipeline stage", "pipeline rank", "virtual stage", "with pipeline"},
     {"'pp'", "cfg.pp", "bubble", "pipeline", "stages", "cfg.vpp", "cfg.ep "}},
    {"Megatron", {"Megatron", "distributed optimizer", "cfg.", "NVTE_"}, {"framework"}}};

bool has_any(const std::string& text, const std::vector<const char*>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

// "(Megatron-Bridge performance guide)" and the like say where a figure is from.
std::string without_sources(std::string text) {
  for (size_t at = text.find("(Megatron"); at != std::string::npos; at = text.find("(Megatron"))
    text.erase(at, std::min(text.find(')', at), text.size() - 1) - at + 1);
  return text;
}

TEST_CASE("what is said to any run is not of experts, stages or Megatron alone") {
  for (const Rule& rule : catalogue().rules) {
    std::string asks;
    for (const Clause& c : rule.when) asks += c.sql + " ";
    for (const std::string& cause : rule.causes) asks += cause + " ";
    std::vector<std::string> said = {rule.title};
    for (const auto* lines : {&rule.why, &rule.published, &rule.pitfalls, &rule.verify})
      for (const RuleLine& line : *lines)
        if (line.when.empty() && line.frameworks.empty()) said.push_back(line.text);
    for (const RuleAction& a : rule.actions)
      if (a.when.empty() &&
          (a.framework == "any" || a.framework == "pytorch" || a.framework == "env"))
        said.push_back(a.set + " " + a.to + " " + a.note);
    for (const RunWords& run : kRunWords) {
      // Rules on a configuration ask for settings, most of which one framework has.
      const bool settings = !rule.kind.empty() && std::string(run.of) == "Megatron";
      if (settings || has_any(asks, run.asked_by)) continue;
      for (const std::string& text : said) {
        INFO(rule.id << ": of " << run.of << ": " << text);
        CHECK_FALSE(has_any(without_sources(text), run.words));
      }
    }
  }
}

TEST_CASE("texts of rules: whole sentences in why, no line feeds, flags that exist") {
  // Spellings that circulate in documents and that no release accepts.
  const std::vector<std::string> wrong = {
      "--fake-init-process-group",     "--overlap-p2p-comm ",        "--cpu-offloading ",
      "--fp8-recipe blockwise --fp8 ", "--offload-optimizer-states", "--grad-reduce-in-fp32",
      "--use-flash-attention"};
  for (const Rule& rule : catalogue().rules) {
    INFO(rule.id);
    for (const RuleLine& line : rule.why) {
      CHECK(line.text.back() == '.');
      CHECK(std::isupper(static_cast<unsigned char>(line.text.front())) != 0);
    }
    CHECK(rule.title.back() != '.');
    for (const Action& a : rule.actions) {
      if (a.takes_away()) continue;  // one rule says to leave them out
      for (const std::string& w : wrong)
        CHECK((a.set + " " + a.to + " " + a.note + " ").find(w) == std::string::npos);
    }
  }
}
