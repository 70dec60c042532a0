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
  CHECK(has(text, "\n  costless expert exchanges "));
  CHECK(!has(text, "\n  costless DP transfers "));
  CHECK(has(text, "and 3 more, which save"));
}

namespace {

// The lines of a table as one, so that its remarks can be looked for.
std::string table_of(const FactDb& facts, const std::string& title) {
  const std::string text = text_of(facts, {});
  const size_t at = text.find('\n' + title + "   ");
  if (at == std::string::npos) return "";
  std::string out;
  for (const char c : text.substr(at, text.find("\n\n", at + 1) - at)) {
    const char put = c == '\n' ? ' ' : c;
    if (put != ' ' || out.empty() || out.back() != ' ') out += put;
  }
  return out;
}

}  // namespace

TEST_CASE("outliers: steps are counted once; a cut table says what it leaves out") {
  const FactDb facts = exchange_facts();
  CHECK(has(table_of(facts, "OUTLIERS"),
            "1 of 4 recorded steps, on 2 of 2 GPUs: those that stand out"));
  CHECK(!has(table_of(facts, "OUTLIERS"), "--all"));
  exec(facts, "UPDATE fact_step SET outlier = 0 WHERE rank = 1");
  CHECK(has(table_of(facts, "OUTLIERS"), "1 of 4 recorded steps, on 1 of 2 GPUs:"));
  exec(facts, "UPDATE fact_step SET outlier = 1");
  CHECK(has(table_of(facts, "OUTLIERS"), "4 of 4 recorded steps, on 2 of 2 GPUs:"));
  CHECK(!has(table_of(facts, "OUTLIERS"), "--all"));
  exec(
      facts,
      "INSERT INTO fact_step SELECT rank, device, 9, 'ProfilerStep#9', end_ns, end_ns + 400000000, "
      "1, 1, 1, NULL, NULL, NULL FROM fact_step WHERE step = 6 AND rank = 0");
  const std::string nine = table_of(facts, "OUTLIERS");
  CHECK(has(nine, "5 of 5 recorded steps"));
  CHECK(has(nine, "6 of 9, the longest; --all shows the rest"));
  CHECK(has(nine, "ProfilerStep#9 400.0 ms 40.4 x"));  // of the median of 9.9 ms
  CHECK(has(nine, "10.0 ms +1.0 %"));
  exec(facts, "DELETE FROM fact_step WHERE rank = 1");
  CHECK(has(table_of(facts, "OUTLIERS"), "5 of 5 recorded steps: those that"));
}

TEST_CASE("what waits of the host cost beyond their own idle time is explained") {
  const FactDb facts = exchange_facts();
  exec(facts, "DELETE FROM fact_what_if");
  exec(facts, "DELETE FROM fact_replay");
  exec(facts, "INSERT INTO fact_replay (steps, unexplained_share, prices_used) VALUES (3, 0.0, 1)");
  exec(facts, "DELETE FROM fact_idle");
  exec(facts,
       "INSERT INTO fact_idle VALUES ('sync', 4000, 6, 0.0004, NULL, NULL, NULL, NULL, NULL, NULL),"
       "('dataload', 3000000, 6, 0.3, NULL, NULL, NULL, NULL, NULL, NULL)");
  const auto saves = [&](const std::string& id, double share) {
    exec(facts, "INSERT INTO fact_what_if VALUES ('" + id + "', 7000000, 7000000, " +
                    std::to_string(share) + ", " + std::to_string(share) + ", NULL, NULL, 0)");
  };
  saves("sync_zero", 0.3);
  std::string text = table_of(facts, "WHAT IF");
  CHECK(has(text, "avoided host waits: more than the 0.0 % that the device idles for"));
  CHECK(has(text, "its own work (mostly data loading) beside the device's"));
  CHECK(!has(text, "the same time"));
  saves("dataload_zero", 0.3);
  CHECK(has(table_of(facts, "WHAT IF"), "batches in time give back the same time"));
  exec(facts, "UPDATE fact_idle SET share = 0.29 WHERE cause = 'sync'");
  text = table_of(facts, "WHAT IF");
  CHECK(has(text, "avoided host waits"));
  CHECK(!has(text, "more than the"));
  exec(facts, "DELETE FROM fact_what_if");
  saves("launch_zero", 0.3);
  CHECK(has(table_of(facts, "WHAT IF"), "costless launches: more than the 0.0 % that the device"));
  exec(facts,
       "INSERT INTO fact_idle VALUES ('host', 3000000, 6, 0.28, NULL, NULL, NULL, NULL, NULL, "
       "NULL)");
  CHECK(!has(table_of(facts, "WHAT IF"), "more than the"));
}

TEST_CASE("what comes next has a cause in brackets only where it has one") {
  const FactDb facts = exchange_facts();
  exec(facts, "DELETE FROM fact_what_if");
  exec(facts,
       "INSERT INTO fact_what_if VALUES ('ep_zero', 1, 1, 0.4, 0.4, 'host', 'unknown', 0), "
       "('gemm_x2', 1, 1, 0.3, 0.3, 'host', 'launch_bound', 0)");
  const std::string text = table_of(facts, "WHAT IF");
  CHECK(has(text, "1 ns host GEMM twice"));
  CHECK(has(text, "1 ns host (launching kernels one by one)"));
}
