#include <sstream>

#include "report/build_report.h"
#include "report/layout.h"
#include "report/render.h"
#include "report/tables.h"
#include "support/fact_fixture.h"
#include "support/finding_fixture.h"
#include "unit/report/report_text.h"

using namespace ws;
using namespace ws::test;

TEST_CASE("the answer comes first, in order") {
  const std::string text = text_of(exchange_facts(), exchange_findings());
  size_t at = 0;
  for (const char* part :
       {"wallsight 0.1.0", "VERDICT", "confidence: medium", "WHERE THE STEP GOES", "DO NEXT",
        "not offered, since", "WHAT I COULD NOT SEE", "RANKS", "OUTLIERS", "IDLE TIME BY CAUSE",
        "COLLECTIVES", "TOP KERNELS", "MEMORY"}) {
    INFO(part << "\n" << text);
    const size_t found = text.find(part, at);
    REQUIRE(found != std::string::npos);
    at = found;
  }
  CHECK(has(text,
            "wallsight 0.1.0  2 ranks of 8  2 x H100 80GB HBM3  PyTorch trace\n"
            "          3 steady steps of 10.0 ms (spread 5.1 %)\n"));
  CHECK(has(text, "records ended before they began (3 times, first at event 12)"));
  CHECK(has(text, "do: record all ranks"));
  CHECK(has(text, "if Pad the experts (to know, it needs overlap of the gradient "));
}

TEST_CASE("no line is wider than 100 columns, ends in blanks or holds a control byte") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_kernel SET name = char(27) || '[2J' || char(10) || name || "
       "replace(hex(zeroblob(200)), '00', 'very_long_name')");
  exec(facts,
       "UPDATE fact_verdict_text SET text = replace(hex(zeroblob(60)), '00', 'many words ')");
  for (const std::string& line : lines_of(text_of(facts, exchange_findings()))) {
    INFO(line);
    CHECK(width_of(line) <= kReportColumns);
    CHECK((line.empty() || line.back() != ' '));
    for (const char c : line) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
  }
}

TEST_CASE("headings wrap as all lines do, names of columns give way") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_run SET verdict_kind = 'insufficient', loss = NULL, wall = NULL, cause = "
       "'too_few_steps', step_count = 0, step_origin = 'whole', step_window = 'whole'");
  exec(facts, "UPDATE fact_rank SET late_ns = 10, host = 'a host of many letters'");
  for (const RenderOptions options : {RenderOptions{}, RenderOptions{false, true}}) {
    auto report = build_report(facts, exchange_findings());
    REQUIRE(report);
    for (const char* group : {"imbalance", "bubble"}) {
      WhereRow row;
      row.group = group;
      report->where.rows.push_back(row);
    }
    std::ostringstream out;
    render_text(*report, options, out);
    CHECK(has(out.str(), "no basis for"));
    CHECK(has(out.str(), "imbal."));
    for (const std::string& line : lines_of(out.str())) {
      INFO(line);
      CHECK(width_of(line) <= kReportColumns);
    }
  }
}

TEST_CASE("colour only when asked, and then only colour") {
  const std::string plain = text_of(exchange_facts(), exchange_findings());
  std::string colored = text_of(exchange_facts(), exchange_findings(), {true, false});
  CHECK(has(colored, "\x1b[1mVERDICT\x1b[0m"));
  for (size_t at = colored.find('\x1b'); at != std::string::npos; at = colored.find('\x1b')) {
    colored.erase(at, colored.find('m', at) - at + 1);
  }
  CHECK(colored == plain);
}

TEST_CASE("five actions, all with --all") {
  std::vector<Finding> many;
  for (int i = 1; i <= 7; ++i)
    many.push_back(firing("x/r" + std::to_string(i), "Action number " + std::to_string(i)));
  const std::string some = text_of(exchange_facts(), many);
  CHECK(has(some, "Action number 5"));
  CHECK(!has(some, "Action number 6"));
  CHECK(has(some, "and 2 more (--all)"));
  CHECK(has(text_of(exchange_facts(), many, {false, true}), "Action number 7"));
}

TEST_CASE("an insufficient verdict asks for a recording and proves nothing") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_run SET verdict_kind = 'insufficient', loss = NULL, wall = NULL, cause = "
       "'too_few_steps'");
  const std::string text = text_of(facts, {});
  CHECK(has(text, "not enough evidence: too few steps"));
  CHECK(has(text, "record:   the other 6 ranks of the job"));
  CHECK(has(text, "WHAT WAS RECORDED"));
  CHECK(!has(text, "WHERE THE STEP GOES"));
  CHECK(!has(text, "##"));
  CHECK(!has(text, "confidence"));
}

TEST_CASE("without steps the report speaks of one window") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_run SET step_count = 0, step_origin = 'whole', step_window = 'whole'");
  const std::string text = text_of(facts, {});
  CHECK(has(text, "one window of 10.0 ms, not a step"));
  CHECK(has(text, "one window, not a step"));
  CHECK(!has(text, "steady step"));
  CHECK(has(text, "RANKS   the whole recording, "));
  CHECK(has(text, "over the whole recording of all devices"));
  exec(facts, "UPDATE fact_run SET selection = 'time 0ms:20ms'");
  CHECK(has(text_of(facts, {}), "RANKS   the selected part, "));
}

TEST_CASE("notes with one advice say it once") {
  const FactDb facts = exchange_facts();
  for (const char* text : {"one", "two"})
    exec(facts,
         std::string("INSERT INTO fact_note VALUES ('config_contradicted', 'data_loss', 1, '', '") +
             text + "', 'look in the log')");
  const std::string text = text_of(facts, {});
  CHECK(has(text, "  one\n  data loss  two\n             do: look in the log\n"));
}

TEST_CASE("steps that are no basis for a verdict are not called steady") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_run SET verdict_kind = 'insufficient', cause = 'only_warmup'");
  const std::string text = text_of(facts, {});
  CHECK(has(text, "3 steps of 10.0 ms"));
  CHECK(has(text, "WHAT WAS RECORDED   mean of the recorded steps"));
  CHECK(!has(text, "steady step"));
}

TEST_CASE("one step is no mean") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_run SET step_count = 1, steady_count = 1");
  const std::string text = text_of(facts, {});
  CHECK(has(text, "WHERE THE STEP GOES   one step, all ranks"));
  CHECK(has(text, "RANKS   one step, "));
  CHECK(!has(text, "mean of"));
  CHECK(!has(text, "mean over"));
}

TEST_CASE("a spread of more than the step itself is told by its ends") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_run SET step_spread_share = 37.1, step_max_ns = 151000000");
  CHECK(has(text_of(facts, {}), "3 steady steps of 10.0 ms, from 9.80 ms to 151.0 ms\n"));
}

TEST_CASE("outliers say in words what differs from the median step") {
  const FactDb facts = exchange_facts();
  const std::string text = text_of(facts, {});
  CHECK(has(text, "1.20 ms more ep (wait + transfer) than the median step"));
  CHECK(!has(text, "comm.ep"));
  exec(facts, "UPDATE fact_step SET excess_ns = -1200000 WHERE outlier");
  CHECK(has(text_of(facts, {}), "1.20 ms less ep (wait + transfer) than the median step"));
}

TEST_CASE("idle time that the first table counts elsewhere is told in numbers") {
  const FactDb facts = exchange_facts();
  const auto remark = [&] {
    const std::string text = text_of(facts, {});
    const size_t at = text.find("of these ", text.find("\nIDLE TIME"));
    return at == std::string::npos ? std::string() : text.substr(at, text.find('\n', at) - at);
  };
  CHECK(remark() ==
        "of these 833 us, the table of the step has 400 us under not explained, 433 us under host");
  exec(facts, "UPDATE fact_memory SET offload_idle_share = 0.02");
  CHECK(has(remark(), "of these 833 us, the table of the step has 200 us under memory, 400 us"));
  exec(facts, "UPDATE fact_leaf SET ns = ns + 400000 WHERE leaf = 'gemm'");
  exec(facts, "UPDATE fact_leaf SET ns = 0 WHERE leaf = 'idle.unknown'");
  exec(facts, "UPDATE fact_memory SET offload_idle_share = 0");
  CHECK(remark().empty());
}

TEST_CASE("a run without any device record still reports") {
  auto facts = FactDb::in_memory();
  REQUIRE(facts);
  add_run(*facts, "insufficient", "no_gpu_events");
  exec(*facts, "UPDATE fact_run SET device_count = 0, step_count = 0, steady_count = 0");
  const std::string text = text_of(*facts, {});
  CHECK(has(text, "not enough evidence: no GPU activity was recorded"));
  CHECK(has(text, "No rule of the catalogue applies"));
}

TEST_CASE("where a group is all of the step, no step is left to speak of") {
  const FactDb facts = exchange_facts();
  exec(facts, "DELETE FROM fact_what_if");
  exec(facts,
       "INSERT INTO fact_what_if VALUES ('communication_zero', 100, 20000, 0.998, 0.99999, "
       "'communication', 'unknown', 0)");
  CHECK(has(text_of(facts, {}), "There is next to nothing else in the step"));
  CHECK(!has(text_of(facts, {}), "the step takes 100 ns"));
  exec(facts, "UPDATE fact_what_if SET saved_lo_share = 0.4, saved_hi_share = 0.5");
  CHECK(has(text_of(facts, {}), "Without the exposed communication, as far as it can be taken"));
}

TEST_CASE("recompute says what tells it") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_memory SET recompute_share = 0.2, recompute_estimated = 0");
  CHECK(has(text_of(facts, {}), "launched inside ranges that name it"));
  exec(facts, "INSERT INTO fact_note VALUES ('recompute_inferred', 'info', 3, '', 'a', '')");
  CHECK(has(text_of(facts, {}), "told by forward operators in the backward pass"));
  exec(facts, "UPDATE fact_memory SET recompute_estimated = 1");
  CHECK(has(text_of(facts, {}), "estimated by counting kernels: a bound"));
}

TEST_CASE("the exposed time of offload is not told twice") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_memory SET offload_bytes = 800, offload_exposed_share = 0.186, h2d_bytes "
       "= 400, d2h_bytes = 0, h2d_exposed_share = 0");
  CHECK(has(text_of(facts, {}), "per step with offload; exposed of other copies 0.0 %"));
  exec(facts, "UPDATE fact_memory SET offload_bytes = 0");
  CHECK(has(text_of(facts, {}), "per step; exposed 0.0 %"));
}

TEST_CASE("copies show their rate by direction and memory, and what the link would give") {
  const FactDb facts = exchange_facts();
  CHECK(!has(text_of(facts, {}), "pinned copies"));
  exec(facts,
       "INSERT INTO fact_copy VALUES ('h2d', 'pinned', 1048576, 100000, 10.48), ('d2h', NULL, 512, "
       "100000, 0.00512), ('peer', NULL, 2097152, 50000, 41.9)");
  exec(facts,
       "UPDATE fact_memory SET h2d_bytes = 1048576, d2h_bytes = 512, pinned_gbps = 10.48, "
       "host_link_gbps = 64, pinned_link_share = 0.16375");
  const std::string text = text_of(facts, {});
  INFO(text);
  for (const char* part : {"to device, pinned ", "100 us at 10.5 GB/s", "to host, memory not told",
                           "100 us at 0.01 GB/s", "between devices", "50.0 us at 41.9 GB/s",
                           "16.4 % of the link's 64 GB/s: far NUMA node"}) {
    INFO(part);
    CHECK(has(text, part));
  }
  exec(facts, "UPDATE fact_memory SET pinned_gbps = 55, pinned_link_share = 0.86");
  CHECK(has(text_of(facts, {}), "86.0 % of the link's 64 GB/s\n"));
}

TEST_CASE("an idle stretch is found again: rank, device, step and time in it") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_step SET name = 'a step with a long name#' || step");
  const std::string text = text_of(facts, {});
  INFO(text);
  CHECK(has(text, "rank  in step"));
  CHECK(has(text, "name#5"));
  exec(facts, "UPDATE fact_run SET step_count = 0, step_origin = 'whole', step_window = 'whole'");
  CHECK(has(text_of(facts, {}), "  + "));  // since the window began
  exec(facts, "UPDATE fact_rank SET rank = 0");
  const std::string devices = text_of(facts, {});
  CHECK(has(devices.substr(devices.find("IDLE TIME")), "  device  "));
}

TEST_CASE("a note says how often and where first; one of the whole run says its own numbers") {
  const FactDb facts = exchange_facts();
  exec(facts, "DELETE FROM fact_note");
  exec(
      facts,
      "INSERT INTO fact_note VALUES ('a', 'info', 1, 'event 1', 'records one', ''), "
      "('b', 'info', 2, 'row 2', 'records two', ''), ('c', 'info', 3, '', 'records three', ''), "
      "('d', 'info', 4, '', 'ranks are missing: 1 of 5', ''), ('e', 'info', 1, '', 'a thing', '')");
  const std::string text = text_of(facts, {});
  for (const char* line :
       {"records one (once, at event 1)\n", "records two (2 times, first at row 2)\n",
        "records three (3 times)\n", "ranks are missing: 1 of 5\n", "a thing\n"}) {
    INFO(line);
    CHECK(has(text, line));
  }
}

TEST_CASE("constants of the ranks are a range only where they print differently") {
  const FactDb facts = exchange_facts();
  exec(facts, "UPDATE fact_rank SET launch_latency_ns = 4801 WHERE rank = 1");
  exec(facts, "UPDATE fact_rank SET kernel_gap_ns = 2500 WHERE rank = 1");
  CHECK(has(text_of(facts, {}), "launch latency 4.8 us, gap between kernels 1.9 us to 2.5 us"));
}

TEST_CASE("the slowest rank is named when it is slower by half a per cent") {
  const FactDb facts = exchange_facts();
  CHECK(!has(text_of(facts, {}), "slowest rank"));
  exec(facts, "UPDATE fact_rank SET step_mean_ns = 10049999 WHERE rank = 1");
  CHECK(!has(text_of(facts, {}), "slowest rank"));
  exec(facts, "UPDATE fact_rank SET step_mean_ns = 10050000 WHERE rank = 1");
  CHECK(has(text_of(facts, {}), "(slowest rank: 1, +0.5 %)"));
}

TEST_CASE("idle lines fit and keep both ends of a kernel's name") {
  const FactDb facts = exchange_facts();
  exec(facts,
       "UPDATE fact_step SET name = 'a step with a name of more than forty columns ' || step");
  exec(facts,
       "UPDATE fact_idle SET largest_after = 'void cutlass::device_kernel<' || "
       "replace(hex(zeroblob(30)), '00', 'argument,') || 'the_end>' WHERE cause = 'launch'");
  const std::string text = text_of(facts, {});
  INFO(text);
  CHECK(has(text, "    before kernel: void cutlass::device_kernel<"));
  CHECK(has(text, "the_end>\n"));
  for (const std::string& line : lines_of(text)) CHECK(width_of(line) <= kReportColumns);
  exec(facts, "UPDATE fact_idle SET largest_after = 'gemm' WHERE cause = 'launch'");
  exec(facts, "UPDATE fact_step SET name = 'step'");
  CHECK(!has(text_of(facts, {}), "before kernel: "));  // a column of the table
}

TEST_CASE("the mean stands beside the median where they differ") {
  const FactDb facts = exchange_facts();
  CHECK(!has(text_of(facts, {}), "in the median"));
  exec(facts, "UPDATE fact_run SET step_median_ns = 9500000");
  CHECK(has(text_of(facts, {}), "3 steady steps of 10.0 ms in the mean, 9.50 ms in the median"));
}

TEST_CASE("a gain that does not fit beside the phase has a line of its own") {
  std::vector<Finding> findings = exchange_findings();
  findings[0].gain_basis = "what_if";
  findings[0].from_what_if =
      Finding::FromWhatIf{"a_change_whose_name_has_many_words_and_goes_on", 0.33, 0.5};
  const std::string text = text_of(exchange_facts(), findings);
  CHECK(has(text, "     gain             "));
  for (const std::string& line : lines_of(text)) CHECK(width_of(line) <= kReportColumns);
}
