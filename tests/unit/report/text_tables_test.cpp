// Tables of the terminal report: order and number of rows.
#include "unit/report/report_text.h"

using namespace ws;
using namespace ws::test;

TEST_CASE("the slowest rank comes first; among equals the one that computes most") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_rank_leaf SET ns = ns + 100000 WHERE rank = 1 AND leaf = 'gemm'");
  exec(facts,
       "UPDATE fact_rank_leaf SET ns = ns - 100000 WHERE rank = 1 AND leaf = 'comm.ep.unsplit'");
  const auto first_rank = [&] {
    const std::string text = text_of(facts, {});
    const size_t header = text.find('\n', text.find("\nRANKS") + 1);
    return text.substr(text.find('\n', header + 1) + 1, 8);
  };
  CHECK(first_rank().find('1') != std::string::npos);
  exec(facts, "UPDATE fact_rank SET step_mean_ns = step_mean_ns + 1 WHERE rank = 0");
  CHECK(first_rank().find('0') != std::string::npos);
  CHECK(has(text_of(facts, {}), "1 of each rank left out: first of several"));
}

TEST_CASE("where ranks wait for one, it comes first") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_rank SET late_ns = 0, step_mean_ns = step_mean_ns + 1 WHERE rank = 0");
  exec(facts, "UPDATE fact_rank SET late_ns = 70000 WHERE rank = 1");
  const std::string text = text_of(facts, {});
  const size_t header = text.find('\n', text.find("\nRANKS") + 1);
  CHECK(text.substr(text.find('\n', header + 1) + 1, 8).find('1') != std::string::npos);
  CHECK(has(text, "most late first"));
  CHECK(!has(text_of(exchange_facts(), {}), "most late first"));
}

TEST_CASE("a host is shown where a file names one") {
  const FactDb facts = exchange_facts();
  CHECK(has(text_of(facts, {}), "host0"));
  exec(facts, "UPDATE fact_rank SET host = NULL");
  CHECK(!has(text_of(facts, {}), "host0"));
}

TEST_CASE("no table leaves out fewer than three rows") {
  const FactDb facts = exchange_facts();
  const auto kernels = [&](int count) {
    exec(facts, "DELETE FROM fact_kernel");
    for (int i = 0; i < count; ++i) {
      exec(facts,
           "INSERT INTO fact_kernel (name, class, count, total_ns, mean_ns, p50_ns, p99_ns, "
           "share, unclassified) VALUES ('kernel" +
               std::to_string(i) + "', 'gemm', 1, 10, 10, 10, 10, 0.1, 0)");
    }
    return text_of(facts, {});
  };
  CHECK(has(kernels(8), "kernel7"));
  CHECK(!has(kernels(8), "--all"));
  CHECK(has(kernels(9), "kernel5"));
  CHECK(!has(kernels(9), "kernel6"));
  CHECK(has(kernels(9), "6 of 9, those of most time; --all shows the rest"));
}

TEST_CASE("changes that save next to nothing are counted, and shown when asked for") {
  const FactDb facts = exchange_facts();
  exec(facts, "DELETE FROM fact_what_if");
  exec(facts, "DELETE FROM fact_replay");
  exec(facts, "INSERT INTO fact_replay (steps, unexplained_share, prices_used) VALUES (3, 0.0, 1)");
  for (const char* id : {"ep_zero", "dp_zero", "gc_zero", "alloc_zero", "pp_zero"})
    exec(facts, std::string("INSERT INTO fact_what_if VALUES ('") + id +
                    "', 10000000, 10000000, 0.0, 0.0, NULL, NULL, 0)");
  CHECK(has(text_of(facts, {}), "all 5 save less than 0.5 % (--all)"));
  exec(facts, "UPDATE fact_what_if SET saved_hi_share = 0.2 WHERE id = 'ep_zero'");
  CHECK(has(text_of(facts, {}), "and 4 more, which save less than 0.5 % (--all)"));
  exec(facts, "UPDATE fact_what_if SET asked = 1 WHERE id = 'gc_zero'");
  const std::string text = text_of(facts, {});
  CHECK(has(text, "\n  gc_zero "));
  CHECK(!has(text, "\n  dp_zero "));
  CHECK(has(text, "and 3 more, which save"));
}
