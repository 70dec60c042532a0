#include <nlohmann/json.hpp>
#include <sstream>

#include "report/build_report.h"
#include "report/render.h"
#include "support/fact_fixture.h"
#include "support/finding_fixture.h"

using namespace ws;
using namespace ws::test;
using Json = nlohmann::ordered_json;

namespace {

std::string rendered(const FactDb& facts, const std::vector<Finding>& findings) {
  auto report = build_report(facts, findings);
  REQUIRE(report);
  std::ostringstream out;
  render_json(*report, {}, out);
  return out.str();
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> out;
  for (const auto& item : object.items()) out.push_back(item.key());
  return out;
}

void require_keys(const Json& object, const std::vector<std::string>& keys) {
  for (const std::string& k : keys) {
    INFO(k);
    CHECK(object.contains(k));
  }
}

}  // namespace

TEST_CASE("top-level keys are those of the contract, in its order") {
  const Json json = Json::parse(rendered(exchange_facts(), exchange_findings()));
  CHECK(keys_of(json) == std::vector<std::string>{"schema", "tool", "run", "steps", "partition",
                                                  "losses", "verdict", "ranks", "kernels",
                                                  "collectives", "idle", "memory", "across",
                                                  "what_if", "replay", "findings", "notes"});
  require_keys(json["run"], {"id", "sources", "ranks", "devices", "gpu", "framework", "clock"});
  require_keys(json["steps"],
               {"origin", "count", "steady", "median_ns", "min_ns", "max_ns", "rows"});
  require_keys(json["steps"]["rows"][0],
               {"rank", "device", "index", "name", "begin_ns", "end_ns", "steady", "partition"});
  require_keys(json["partition"], {"total_ns", "mean_per_step", "share"});
  require_keys(json["losses"][0], {"loss", "lo_ns", "hi_ns", "lo_share", "hi_share",
                                   "price_lo_share", "price_hi_share"});
  require_keys(json["verdict"], {"kind", "loss", "wall", "cause", "also", "where", "confidence",
                                 "share", "price", "why", "missing"});
  require_keys(json["ranks"][0], {"rank", "device", "host", "clock_offset_ns", "clock_error_ns",
                                  "step_mean_ns", "partition", "late_ns"});
  require_keys(json["kernels"][0],
               {"name", "class", "count", "total_ns", "mean_ns", "p50_ns", "p99_ns", "share"});
  require_keys(json["collectives"][0],
               {"group", "kind", "op", "bytes", "count", "wait_ns", "transfer_ns", "unsplit_ns",
                "hidden_ns", "bus_gbps", "late_rank"});
  require_keys(json["idle"][0], {"cause", "ns", "count", "share", "largest"});
  require_keys(json["idle"][0]["largest"], {"rank", "begin_ns", "ns", "before", "after"});
  require_keys(json["findings"][0], {"rule", "title", "wall", "phase", "status", "evidence", "gain",
                                     "actions", "why", "pitfalls", "conflicts", "sources"});
  require_keys(json["notes"][0], {"code", "severity", "count", "first_place", "text", "advice"});
}

TEST_CASE("numbers are the facts' numbers and unknown is null") {
  const Json json = Json::parse(rendered(exchange_facts(), exchange_findings()));
  CHECK(json["partition"]["mean_per_step"].size() == 41);
  CHECK(json["partition"]["mean_per_step"]["comm.ep.unsplit"] == 4'500'000);
  CHECK(json["partition"]["total_ns"] == 60'000'000);
  CHECK(json["verdict"]["price"].is_null());
  CHECK(json["verdict"]["where"].is_null());
  CHECK(json["verdict"]["share"]["lo"] == 0.45);
  CHECK(json["collectives"][0]["bus_gbps"].is_null());
  CHECK(json["findings"][0]["evidence"]["ep.exposed_share"] == 0.45);
  CHECK(json["findings"][0]["evidence"]["ep.main_op"] == "all_to_all");
  CHECK(json["findings"][0]["evidence"]["cfg.ep"].is_null());
  CHECK(json["findings"][2]["status"] == "unknown");
  CHECK(json["findings"][2]["missing"][0] == "fact_config.overlap_grad_reduce");
  CHECK(json["findings"].size() == 3);  // a rule that does not fire is not listed
  for (const Json& row : json["steps"]["rows"]) {
    int64_t sum = 0;
    for (const auto& leaf : row["partition"].items()) sum += leaf.value().get<int64_t>();
    CHECK(sum == row["end_ns"].get<int64_t>() - row["begin_ns"].get<int64_t>());
  }
}

TEST_CASE("hostile names stay valid JSON on one line each") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_kernel SET name = CAST(x'ff1b5b316d22' AS TEXT) || name");
  const std::string text = rendered(facts, {});
  const Json json = Json::parse(text);
  CHECK(json["kernels"][0]["name"].get<std::string>().find("\x1b") == std::string::npos);
  CHECK(json["kernels"][0]["name"].get<std::string>().substr(0, 3) == "\xef\xbf\xbd");
}

TEST_CASE("same facts, same bytes") {
  CHECK(rendered(exchange_facts(), exchange_findings()) ==
        rendered(exchange_facts(), exchange_findings()));
}
