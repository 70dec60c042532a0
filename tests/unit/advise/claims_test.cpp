// Which time a gain is of, and that a later finding of the same time says so.
#include "advise/claims.h"

#include "advise/evaluate.h"
#include "support/rule_text.h"

using namespace ws;
using nlohmann::json;

namespace {

Rule rule_of(const std::string& from, const std::vector<std::string>& when,
             const std::string& share) {
  json o = test::plain_rule();
  o["from"] = from;
  o["when"] = when;
  o["evidence"] = json::array();
  o["gain"] = {{"lo_share", "0"}, {"hi_share", share}, {"basis", "ceiling"}};
  return test::good_rule(o);
}

std::string times(const Rule& rule, const VerdictFacts& verdict = {}) {
  std::string out;
  for (const std::string& t : gain_times(rule, {}, verdict)) out += t + " ";
  return out;
}

Finding of_times(const char* rule, double gain, std::vector<std::string> of) {
  Finding f;
  f.rule = rule;
  f.status = FindingStatus::fires;
  f.gain_hi_share = gain;
  f.gain_of = std::move(of);
  return f;
}

std::string shared(std::vector<Finding> findings) {
  note_shared_gains(findings);
  std::string out;
  for (const Finding& f : findings) out += f.rule + "<" + f.same_time_as + " ";
  return out;
}

}  // namespace

TEST_CASE("the time of a share is that of the row it reads") {
  CHECK(times(rule_of("fact_comm dp, fact_run run", {"dp.kind = 'dp'"},
                      "max(0, dp.exposed_share - dp.wait_share - run.comm_not_blocking_share)")) ==
        "comm.dp ");
  CHECK(times(rule_of("fact_idle idle, fact_kernel_class small",
                      {"idle.cause = 'launch'", "small.class = 'membound'"},
                      "0.5 * idle.share + 0.3 * small.share")) == "idle.launch membound ");
  CHECK(times(rule_of("fact_leaf leaf", {"leaf.leaf = 'comm.tp.transfer'"}, "leaf.share")) ==
        "comm.tp ");
  CHECK(times(rule_of("fact_loss loss", {"loss.loss = 'bubble'"}, "loss.hi_share")) == "bubble ");
  CHECK(times(rule_of("fact_what_if w", {"w.id = 'copy_zero'"}, "w.saved_hi_share")) ==
        "copy.d2h copy.h2d ");
  CHECK(times(rule_of("fact_memory mem", {"mem.offload_bytes > 0"},
                      "mem.recompute_share + mem.alloc_share")) == "idle.alloc recompute ");
}

TEST_CASE("what a share takes away is none of it") {
  CHECK(times(rule_of("fact_memory mem", {"mem.offload_bytes > 0"},
                      "mem.recompute_share - mem.alloc_share")) == "recompute ");
}

TEST_CASE("the share of the verdict is that of its cause, for rules that answer it") {
  const Rule rule = rule_of("fact_run run", {"run.rank_count > 1"}, "coalesce(run.share_hi, 0)");
  CHECK(times(rule, {false, "allocator", ""}) == "idle.alloc ");  // the cause of the sample rule
  CHECK(times(rule, {false, "launch_bound", ""}).empty());
}

TEST_CASE("a re-simulated change takes the place of the shares") {
  const Rule rule = rule_of("fact_memory mem", {"mem.offload_bytes > 0"}, "mem.recompute_share");
  Finding f;
  f.from_what_if = Finding::FromWhatIf{"dp_overlapped", 1, 1};
  CHECK(gain_times(rule, f, {}) == std::vector<std::string>{"comm.dp"});
  f.from_what_if = Finding::FromWhatIf{"gc_zero+launch_zero", 1, 1};
  CHECK(gain_times(rule, f, {}) == std::vector<std::string>{"idle.gc", "idle.launch"});
}

TEST_CASE("the later of two findings on one time names the first") {
  CHECK(shared({of_times("a", 0.3, {"comm.dp"}), of_times("b", 0.1, {"gemm"}),
                of_times("c", 0.2, {"comm.dp", "gemm"}), of_times("d", 0.2, {"comm.dp"})}) ==
        "a< b< c<a d<a ");
}

TEST_CASE("what fires not, or promises nothing, shares nothing") {
  Finding unknown = of_times("a", 0.3, {"comm.dp"});
  unknown.status = FindingStatus::unknown;
  CHECK(shared({unknown, of_times("b", 0.3, {"comm.dp"})}) == "a< b< ");
  CHECK(shared({of_times("a", 0.0, {"comm.dp"}), of_times("b", 0.3, {"comm.dp"}),
                of_times("c", 0.0004, {"comm.dp"})}) == "a< b< c< ");
}
