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
       {"communication/flex: fires", "  +  ep.exposed_share > 0.10",
        "value: ep.exposed_share = 0.45", "communication/pad: can not say",
        "  ?  config.overlap_grad_reduce = 0",
        "missing: fact_config.overlap_grad_reduce (a setting the recording does not show",
        "communication/tp_overlap: does not fire", "  -  tp.exposed_share > 0.10",
        "source: a guide"}) {
    INFO(part << "\n" << text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("formats are found by name; html says that it is not there yet") {
  CHECK(find_format("text"));
  CHECK(find_format("md"));
  CHECK(find_format("json"));
  CHECK(find_format("html").error().message.find("no HTML yet") != std::string::npos);
  CHECK(find_format("pdf").error().message.find("expected text, md or json") != std::string::npos);
}
