#include <sstream>

#include "report/render.h"
#include "support/catch.h"
#include "support/finding_fixture.h"

using namespace ws;
using namespace ws::test;

TEST_CASE("explain shows every clause with its value and how to supply what is missing") {
  std::ostringstream out;
  render_explanations(exchange_findings(), out);
  const std::string text = out.str();
  for (const char* part :
       {"communication/flex: fires", "  +  ep.exposed_share > 0.10 [ep.exposed_share = 0.45]",
        "value: ep.exposed_share = 0.45", "communication/pad: can not say",
        "  ?  config.overlap_grad_reduce = 0",
        "missing: fact_config.overlap_grad_reduce (overlap of the gradient reduction of the run",
        "communication/tp_overlap: does not fire", "  -  tp.exposed_share > 0.10",
        "source: a guide"}) {
    INFO(part << "\n" << text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("the summary has a line for every rule, those that fire first") {
  std::ostringstream out;
  render_explanation_summary(exchange_findings(), out);
  const std::string text = out.str();
  INFO(text);
  const size_t fires = text.find("fires          communication/flex "),
               unknown = text.find("can not say    communication/pad "),
               no = text.find("does not fire  communication/tp_overlap ");
  CHECK(fires == 0);
  CHECK((fires < unknown && unknown < no && no != std::string::npos));
  CHECK(text.find("missing: overlap of the gradient") != std::string::npos);
  CHECK(text.find("not: tp.exposed_share > 0.10\n") != std::string::npos);
}

TEST_CASE("rules that are silent for want of a configuration share a line of the summary") {
  std::vector<Finding> findings = exchange_findings();
  for (const char* id : {"configuration/a", "configuration/b"}) {
    Finding f = findings.back();
    f.rule = id;
    f.clauses = {{"cfg.given = 1", false, {}}, {"cfg.ep > 1", std::nullopt, {"fact_config.ep"}}};
    findings.push_back(f);
  }
  Finding other = findings.back();  // silent for another reason
  other.rule = "configuration/c";
  other.clauses = {{"lay.etp_given = 1", false, {}}};
  findings.push_back(other);
  std::ostringstream out, whole;
  render_explanation_summary(findings, out);
  INFO(out.str());
  CHECK(out.str().find("does not fire  2 rules on the run configuration, since none was given: "
                       "analyze with --config FILE\n") != std::string::npos);
  CHECK(out.str().find("configuration/a") == std::string::npos);
  CHECK(out.str().find("cfg.given") == std::string::npos);
  CHECK(out.str().find("not: lay.etp_given = 1") != std::string::npos);
  render_explanations(findings, whole);
  CHECK(whole.str().find("configuration/a: does not fire") != std::string::npos);
  CHECK(whole.str().find("  -  cfg.given = 1") != std::string::npos);
}

TEST_CASE("formats are found by name; html says that it is not there yet") {
  CHECK(find_format("text"));
  CHECK(find_format("md"));
  CHECK(find_format("json"));
  CHECK(find_format("html").error().message.find("no HTML yet") != std::string::npos);
  CHECK(find_format("pdf").error().message.find("expected text, md or json") != std::string::npos);
}

TEST_CASE("a clause shows the evidence it speaks of, not what merely sounds alike") {
  Finding f = firing("a/b", "Something");
  f.clauses = {{"ep.exposed_share_of_all > 1", true, {}},
               {"ep.exposed_share > 0.1 AND ep.main_op = 'x'", true, {}}};
  std::ostringstream out;
  render_explanations({f}, out);
  CHECK(out.str().find("  +  ep.exposed_share_of_all > 1\n") != std::string::npos);
  CHECK(out.str().find("[ep.exposed_share = 0.45, ep.main_op = all_to_all]") != std::string::npos);
}

TEST_CASE("explain says what a finding waits for") {
  Finding f = firing("a/b", "Something");
  f.held_back_by = "x/grid";
  std::ostringstream out;
  render_explanations({f}, out);
  CHECK(out.str().find("  after: x/grid (to be mended first)\n") != std::string::npos);
}
