#include "cli/fail_on.h"

#include "support/catch.h"

using namespace ws;
using namespace ws::cli;

namespace {

Report sample() {
  Report r;
  r.verdict.kind = "dominant";
  r.verdict.wall = r.verdict.loss = "communication";
  r.verdict.cause = "ep_all_to_all";
  r.verdict.confidence = "medium";
  r.verdict.share_lo = 0.2;
  r.verdict.share_hi = 0.4;
  ReportFinding f;
  f.finding.rule = "communication/flex";
  f.finding.status = FindingStatus::fires;
  r.findings.push_back(f);
  f.finding.rule = "communication/maybe";
  f.finding.status = FindingStatus::unknown;
  r.findings.push_back(f);
  return r;
}

bool trips(const std::string& spec, const Report& report) {
  const auto conditions = parse_fail_on(spec);
  REQUIRE(conditions);
  return !conditions_met(*conditions, report).empty();
}

}  // namespace

TEST_CASE("every condition holds and does not hold") {
  const struct {
    const char* spec;
    bool trips;
  } rows[] = {{"wall=communication", true},
              {"wall=memory", false},
              {"wall!=memory", true},
              {"loss=communication", true},
              {"loss=host", false},
              {"cause=ep_all_to_all", true},
              {"cause=launch_bound", false},
              {"kind=dominant", true},
              {"kind=insufficient", false},
              {"also=host", false},
              {"share>0.2", false},
              {"share>=0.2", true},
              {"share>0.1", true},
              {"share<0.2", false},
              {"share<=0.2", true},
              {"confidence>=medium", true},
              {"confidence>medium", false},
              {"confidence=medium", true},
              {"confidence<high", true},
              {"confidence!=low", true},
              {"finding:communication/flex", true},
              {"finding:communication/maybe", false},
              {"wall=memory,share>0.1", true},
              {"wall=memory,loss=host", false}};
  for (const auto& row : rows) {
    INFO(row.spec);
    CHECK(trips(row.spec, sample()) == row.trips);
  }
}

TEST_CASE("the conditions that hold are named as written") {
  const auto conditions = parse_fail_on("wall=memory,share>0.1,kind=dominant");
  REQUIRE(conditions);
  CHECK(conditions_met(*conditions, sample()) ==
        std::vector<std::string>{"share>0.1", "kind=dominant"});
}

TEST_CASE("without a share no condition on it holds") {
  Report r = sample();
  r.verdict.share_lo.reset();
  CHECK(!trips("share>=0", r));
  CHECK(!trips("share<=1", r));
}

TEST_CASE("misspelt conditions are refused") {
  for (const char* bad : {"wall", "wall=comm", "wall>memory", "walls=memory", "share=0.2",
                          "share>x", "share>2", "share>", "confidence>=sure", "finding:", "=memory",
                          "wall==memory", "wall=memory,", ",", "a=b"}) {
    INFO(bad);
    CHECK(!parse_fail_on(bad));
  }
  CHECK(parse_fail_on("")->empty());
}
