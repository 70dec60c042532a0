#include "advise/order.h"

#include "support/catch.h"

using namespace ws;

namespace {

struct Entry {
  const char* id;
  const char* phase = "retune";
  std::vector<std::string> causes = {};
  int rank = 50;
  double gain = 0.1;
  FindingStatus status = FindingStatus::fires;
  std::vector<std::string> after = {};
  std::vector<std::string> conflicts = {};
  std::string kind = {};
  std::vector<std::string> unless = {};
  const char* wall = "communication";
  bool breaks = false;
};

std::vector<Finding> ordered(std::vector<Entry> entries, const VerdictFacts& verdict) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::string(a.id) < b.id; });
  RuleSet set;
  std::vector<Finding> findings;
  for (const Entry& e : entries) {
    Rule r;
    r.id = e.id;
    r.phase = e.phase;
    r.causes = e.causes;
    r.rank = e.rank;
    r.after = e.after;
    r.conflicts = e.conflicts;
    r.kind = e.kind;
    r.breaks = e.breaks || e.kind == "error";
    r.unless = e.unless;
    set.rules.push_back(r);
    Finding f;
    f.rule = e.id;
    f.phase = e.phase;
    f.kind = e.kind;
    f.wall = e.wall;
    f.status = e.status;
    f.gain_hi_share = e.gain;
    f.conflicts = e.conflicts;
    findings.push_back(f);
  }
  return order_findings(std::move(findings), set, verdict);
}

std::string ids(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) out += f.rule + " ";
  return out;
}

const VerdictFacts kLaunch{false, "launch_bound", ""};

}  // namespace

TEST_CASE("what answers the cause leads, then the rest, then data findings") {
  const auto f = ordered({{"a", "data"},
                          {"b", "fit"},
                          {"c", "retune", {"launch_bound"}},
                          {"d", "retune", {"gc_pause"}}},
                         kLaunch);
  CHECK(ids(f) == "c b d a ");
  CHECK(f[0].leads);
  CHECK(!f[1].leads);
}

TEST_CASE("an insufficient verdict puts data findings first") {
  const auto f =
      ordered({{"a", "fit", {"only_warmup"}}, {"b", "data"}, {"c", "data", {"only_warmup"}}},
              {true, "only_warmup", ""});
  CHECK(ids(f) == "c b a ");
  CHECK(f[0].leads);
  CHECK(f[1].leads);
}

TEST_CASE("a mixed verdict: the second cause follows the first") {
  const auto f =
      ordered({{"a", "fit", {"gc_pause"}}, {"b", "retune", {"launch_bound"}}, {"c", "fit"}},
              {false, "launch_bound", "gc_pause"});
  CHECK(ids(f) == "b a c ");
  CHECK(f[1].leads);
}

TEST_CASE("inside a tier: phase, rank, gain, id") {
  const auto f = ordered({{"e", "retune", {}, 10, 0.1},
                          {"d", "retune", {}, 10, 0.3},
                          {"c", "retune", {}, 10, 0.1},
                          {"b", "retune", {}, 5, 0.0},
                          {"a", "profile", {}, 99, 0.0},
                          {"f", "scale"},
                          {"g", "fit"}},
                         kLaunch);
  CHECK(ids(f) == "g f a b d c e ");
}

TEST_CASE("what fires comes before what is unknown before what does not fire") {
  const auto f = ordered({{"a", "fit", {"launch_bound"}, 1, 0.9, FindingStatus::no},
                          {"b", "fit", {"launch_bound"}, 1, 0.9, FindingStatus::unknown},
                          {"c", "retune"}},
                         kLaunch);
  CHECK(ids(f) == "c b a ");
  CHECK(!f[1].leads);
}

TEST_CASE("after pulls what must come first directly before it, across tiers") {
  const auto f =
      ordered({{"a_sync", "retune", {}, 90},
               {"b_other", "fit"},
               {"c_graph", "retune", {"launch_bound"}, 10, 0.1, FindingStatus::fires, {"a_sync"}},
               {"d_batch", "scale", {"launch_bound"}}},
              kLaunch);
  CHECK(ids(f) == "d_batch a_sync c_graph b_other ");
}

TEST_CASE("what comes first stands in the order of work, behind the answer to the verdict") {
  const Entry fusion{"a/fusion", "retune", {"launch_bound"}, 60};
  const Entry loader{"a/loader", "profile"};
  const Entry graphs{"a/graphs",
                     "retune",
                     {"launch_bound"},
                     20,
                     0.1,
                     FindingStatus::fires,
                     {"a/fusion", "a/loader"}};
  const Entry batch{"a/batch", "scale", {"launch_bound"}};
  CHECK(ids(ordered({fusion, loader, graphs, batch}, kLaunch)) ==
        "a/batch a/loader a/fusion a/graphs ");
  CHECK(ids(ordered({fusion, loader, graphs}, kLaunch)) == "a/fusion a/loader a/graphs ");
}

TEST_CASE("after looks only at what fires") {
  const auto f = ordered({{"a", "retune", {}, 90, 0.1, FindingStatus::no},
                          {"b", "fit", {}, 1, 0.1, FindingStatus::fires, {"a", "absent"}}},
                         kLaunch);
  CHECK(ids(f) == "b a ");
  const auto g =
      ordered({{"a", "fit", {}, 1, 0.1, FindingStatus::unknown, {"b"}}, {"b", "retune"}}, kLaunch);
  CHECK(ids(g) == "b a ");
}

TEST_CASE("a chain of after is kept") {
  const auto f = ordered({{"a", "fit", {}, 1, 0.1, FindingStatus::fires, {"b"}},
                          {"b", "scale", {}, 1, 0.1, FindingStatus::fires, {"c", "d"}},
                          {"c", "retune"},
                          {"d", "profile"}},
                         kLaunch);
  CHECK(ids(f) == "d c b a ");
}

TEST_CASE("conflicts name each other only when both fire") {
  const auto f = ordered({{"a", "fit", {}, 1, 0.1, FindingStatus::fires, {}, {"b", "c"}},
                          {"b", "fit", {}, 1, 0.1, FindingStatus::fires, {}, {"a"}},
                          {"c", "fit", {}, 1, 0.1, FindingStatus::no, {}, {"a"}}},
                         kLaunch);
  CHECK(f[0].conflicts == std::vector<std::string>{"b"});
  CHECK(f[1].conflicts == std::vector<std::string>{"a"});
  CHECK(f[2].conflicts.empty());
}

TEST_CASE("errors of the configuration come before the answer to the verdict, and do not lead") {
  Entry error{"z", "retune"};
  error.kind = "error";
  Entry advice{"y", "fit"};
  advice.kind = "advice";
  const auto f = ordered({{"c", "retune", {"launch_bound"}}, error, advice}, kLaunch);
  CHECK(ids(f) == "z c y ");
  CHECK_FALSE(f[0].leads);
  CHECK(f[1].leads);
}

TEST_CASE("a finding is silent where one that says the same with numbers fires") {
  Entry planned{"a", "fit"};
  planned.unless = {"b"};
  const auto both = ordered({planned, {"b", "retune"}}, kLaunch);
  CHECK(ids(both) == "b a ");
  CHECK(both[1].status == FindingStatus::no);
  Entry silent{"b", "retune"};
  silent.status = FindingStatus::no;
  CHECK(ordered({planned, silent}, kLaunch)[0].rule == "a");
  CHECK(ordered({planned}, kLaunch)[0].status == FindingStatus::fires);
}

namespace {

Entry broken(const char* id, const char* phase) {
  Entry e{id, phase};
  e.breaks = true;
  return e;
}

// "b<a c": b is held back by a, c by nothing.
std::string held(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings)
    out += f.rule + (f.held_back_by.empty() ? "" : "<" + f.held_back_by) + " ";
  return out;
}

}  // namespace

TEST_CASE("a broken phase holds back the later ones and no other") {
  CHECK(held(ordered({broken("x", "scale"),
                      {"a", "fit"},
                      {"b", "scale"},
                      {"c", "profile"},
                      {"d", "retune", {"launch_bound"}},
                      {"e", "data"}},
                     kLaunch)) == "x d<x a b c<x e ");
  CHECK(held(ordered({broken("x", "retune"), {"c", "profile"}, {"d", "retune"}}, kLaunch)) ==
        "x c d ");
}

TEST_CASE("a finding that breaks nothing holds nothing back") {
  CHECK(held(ordered({{"a", "fit"}, {"b", "retune"}}, kLaunch)) == "a b ");
  Entry quiet = broken("x", "fit");
  quiet.status = FindingStatus::no;
  CHECK(held(ordered({quiet, {"b", "retune"}}, kLaunch)) == "b x ");
  quiet.status = FindingStatus::unknown;
  CHECK(held(ordered({quiet, {"b", "retune"}}, kLaunch)) == "b x ");
}

TEST_CASE("the first broken phase in the order of work is the one named") {
  CHECK(held(ordered({broken("x", "scale"), broken("y", "fit"), {"d", "retune"}, {"p", "scale"}},
                     kLaunch)) == "y x<y p<y d<y ");
}

TEST_CASE("errors are named side by side, none is held back") {
  Entry early{"x", "fit"}, late{"y", "retune"};
  early.kind = late.kind = "error";
  CHECK(held(ordered({early, late}, kLaunch)) == "x y ");
}

TEST_CASE("what does not fit may be mended by more groups") {
  Entry groups{"a", "scale"}, tuning{"b", "retune"}, other{"c", "scale"};
  groups.wall = tuning.wall = "memory";
  CHECK(held(ordered({broken("x", "fit"), groups, tuning, other}, kLaunch)) == "x a c<x b<x ");
  CHECK(held(ordered({broken("y", "scale"), tuning}, kLaunch)) == "y b<y ");
}

TEST_CASE("what is not known or does not fire is not held back") {
  Entry unknown{"a", "retune"}, silent{"b", "retune"};
  unknown.status = FindingStatus::unknown;
  silent.status = FindingStatus::no;
  CHECK(held(ordered({broken("x", "fit"), unknown, silent}, kLaunch)) == "x a b ");
}

TEST_CASE("where the list leaves the order of the phases it says of which and why") {
  const auto said = [](const std::vector<Finding>& findings) {
    std::string out;
    for (const Finding& f : findings)
      out += f.rule + (f.ahead ? "(" + f.ahead->of_phase + ": " + f.ahead->because + ") " : " ");
    return out;
  };
  const VerdictFacts two{false, "launch_bound", "gc_pause"};
  CHECK(said(ordered({{"a", "fit"}, {"b", "scale"}, {"c", "retune"}}, two)) == "a b c ");
  CHECK(said(ordered({{"a", "fit"},
                      {"b", "scale"},
                      {"c", "retune", {"launch_bound"}},
                      {"d", "profile", {"gc_pause"}},
                      {"e", "data"}},
                     two)) ==
        "c(fit: this one answers the verdict) d(fit: this one answers the second cause of the "
        "verdict) a b e ");
  const auto list = ordered({{"c", "retune", {"launch_bound"}}, {"a", "fit"}, {"b", "fit"}}, two);
  REQUIRE(list[0].ahead);
  CHECK(list[0].ahead->of_rule == "a");  // the nearest one behind it
  Entry leads{"c", "scale", {"launch_bound"}};
  leads.after = {"x"};
  CHECK(said(ordered({leads, {"x", "retune"}}, two)) ==
        "x(scale: an action that follows builds on this one) c ");
  // What is held back says so already, and how to record is no phase of the work.
  CHECK(said(ordered({broken("x", "fit"), {"a", "scale"}, {"c", "retune", {"launch_bound"}}},
                     two)) == "x c a ");
  CHECK(said(ordered({{"c", "retune", {"launch_bound"}}, {"e", "data"}}, two)) == "c e ");
}

TEST_CASE("a finding names those that fire and come first") {
  Entry late{"c"}, quiet{"q"};
  late.after = {"a", "q"};
  quiet.status = FindingStatus::no;
  const auto f = ordered({late, {"a"}, quiet}, kLaunch);
  REQUIRE(ids(f) == "a c q ");
  CHECK(f[0].after.empty());
  CHECK(f[1].after == std::vector<std::string>{"a"});
}

TEST_CASE("what one setting keeps from firing waits for the finding that is to change it") {
  const auto waits = [](const char* column, std::optional<bool> other_holds, FindingStatus first) {
    RuleSet set;
    set.rules.resize(2);
    set.rules[0].id = "a_full";
    set.rules[0].when = {{"cfg.x", {{"fact_config", "given"}}},
                         {"cfg.y", {{"fact_config", "recompute_granularity"}}}};
    set.rules[1].id = "b_graphs";
    set.rules[1].after = {"a_full"};
    set.rules[1].when = {{"idle", {{"fact_idle", "share"}}}, {"cfg.z", {{"fact_config", column}}}};
    std::vector<Finding> findings(2);
    findings[0].rule = "a_full";
    findings[0].status = first;
    findings[0].kind = "advice";
    findings[1].rule = "b_graphs";
    findings[1].clauses = {{"idle", other_holds, {}}, {"cfg.z", false, {}}};
    const auto out = order_findings(std::move(findings), set, kLaunch);
    return (out[0].rule == "b_graphs" ? out[0] : out[1]).waits_for;
  };
  CHECK(waits("recompute_granularity", true, FindingStatus::fires) == "a_full");
  CHECK(waits("recompute_granularity", true, FindingStatus::no).empty());
  CHECK(waits("recompute_granularity", false, FindingStatus::fires).empty());
  CHECK(waits("recompute_granularity", std::nullopt, FindingStatus::fires).empty());
  CHECK(waits("cuda_graphs", true, FindingStatus::fires).empty());
  CHECK(waits("given", true, FindingStatus::fires).empty());
}

TEST_CASE("unless: what would say it with numbers is not asked for once it is said") {
  const Entry said{"a_said", "fit", {},       50,        0.1, FindingStatus::fires,
                   {},       {},    "silent", {"b_full"}};
  const auto f = ordered({said, {"b_full", "fit", {}, 50, 0.1, FindingStatus::unknown}}, kLaunch);
  CHECK(f[0].status == FindingStatus::fires);
  CHECK(f[1].status == FindingStatus::no);
  const Entry open{"a_said", "fit", {}, 50, 0.1, FindingStatus::no, {}, {}, "silent", {"b_full"}};
  const auto g = ordered({open, {"b_full", "fit", {}, 50, 0.1, FindingStatus::unknown}}, kLaunch);
  CHECK(g[0].status == FindingStatus::unknown);
}

TEST_CASE("faults stand first; advice that a setting without effect comes after stands before it") {
  VerdictFacts file{false, "", ""};
  file.faults_first = true;
  const auto entry = [](const char* id, const char* phase, const char* kind,
                        std::vector<std::string> after = {}) {
    Entry e{id, phase};
    e.kind = kind;
    e.after = std::move(after);
    return e;
  };
  CHECK(ids(ordered({entry("c/advice", "fit", "advice"), entry("c/other", "fit", "advice"),
                     entry("c/silent", "scale", "silent", {"c/advice"}),
                     entry("c/error", "retune", "error", {"c/other"})},
                    file)) == "c/error c/advice c/silent c/other ");
}
