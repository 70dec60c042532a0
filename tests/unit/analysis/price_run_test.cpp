// What-ifs of whole runs: which rows there are, what they say of made runs with a known answer, and
// when there are none.
#include "analysis/price_run.h"

#include <algorithm>

#include "analysis/analyze_rank.h"
#include "analysis/next_wall.h"
#include "analysis/replay_steps.h"
#include "analysis/run_builder.h"
#include "made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

constexpr TimeNs kUs = 1000;

// Steps of `kernels` small kernels on one device; every launch takes `launch_ns`, the kernel runs
// `kernel_ns`, a loader of `load_ns` comes first.
struct MadeRun {
  int steps = 6, kernels = 50;
  TimeNs launch_ns = 10 * kUs, kernel_ns = 3 * kUs, load_ns = 0;
  int32_t rank = 0;

  RankAnalysis analyzed(size_t replay_ops = 100'000) const {
    Maker m;
    TimeNs host = 100 * kUs, device = 0;
    for (int s = 0; s < steps; ++s) {
      const TimeNs begin = host;
      if (load_ns > 0) {
        m.range(host, host + load_ns,
                "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
        host += load_ns;
      }
      for (int k = 0; k < kernels; ++k) {
        const TimeNs start = std::max(host + 5 * kUs, device + kUs);
        m.op(host, start, start + kernel_ns, kGemm);
        device = start + kernel_ns;
        host += launch_ns;
      }
      m.range(begin, host, "ProfilerStep#" + std::to_string(s));
    }
    Trace trace = m.b.seal();
    trace.rank = rank;
    trace.has_api_records = trace.has_host_ranges = true;
    StepOptions options;
    options.replay_ops = replay_ops;
    return analyze_rank(trace, classes(), options);
  }
};

PricedRun priced(std::vector<RankAnalysis>& ranks, const PriceOptions& options = {}) {
  return price_run(ranks, means_of(ranks), {}, options);
}
const WhatIfRow* row_of(const PricedRun& run, std::string_view id) {
  for (const WhatIfRow& row : run.rows)
    if (row.id == id) return &row;
  return nullptr;
}

}  // namespace

TEST_CASE("a launch-bound run without launches is as long as its kernels") {
  std::vector<RankAnalysis> ranks = {MadeRun{}.analyzed()};
  REQUIRE(ranks[0].replay);
  const PricedRun run = priced(ranks);
  CHECK(run.why_not.empty());
  CHECK_FALSE(ranks[0].replay);  // freed
  CHECK(run.steps == 5);
  CHECK(std::abs(run.unexplained_share) < 0.01);
  const WhatIfRow* launch = row_of(run, "launch_zero");
  REQUIRE(launch != nullptr);
  // 500 us a step against 50 kernels of 3 us with gaps of 1 us, which may be 1.5: none was seen
  CHECK(launch->saved_lo_share == Approx(0.55).margin(0.01));
  CHECK(launch->saved_hi_share == Approx(0.6).margin(0.01));
  CHECK(launch->step_lo_ns == Approx(200 * kUs).epsilon(0.02));
  REQUIRE(run.prices);
  CHECK(at(run.prices->group, LossGroup::host)->lo == Approx(0.55).margin(0.01));
  CHECK(at(run.prices->group, LossGroup::memory)->hi == 0);
  CHECK_FALSE(at(run.prices->group, LossGroup::bubble));
  TimeNs path = 0;
  for (const PathPart& part : run.path.parts) path += part.ns;
  CHECK(path == run.path.length_ns);
  CHECK(run.path.length_ns == int64_t{5} * 500 * kUs);
}

TEST_CASE("the next wall is that of the simulated steps") {
  MadeRun made;
  made.load_ns = 600 * kUs;
  std::vector<RankAnalysis> ranks = {made.analyzed()};
  const PricedRun run = priced(ranks);
  const WhatIfRow* load = row_of(run, "dataload_zero");
  REQUIRE(load != nullptr);
  REQUIRE(load->next);
  CHECK(load->next->loss == LossGroup::host);
  CHECK(load->next->cause == Cause::launch_bound);
  const WhatIfRow* launch = row_of(run, "launch_zero");
  REQUIRE(launch != nullptr);
  REQUIRE(launch->next);
  CHECK(launch->next->cause == Cause::input_pipeline);
}

TEST_CASE("combinations are simulated together and are never a sum") {
  MadeRun made;
  made.load_ns = 600 * kUs;
  std::vector<RankAnalysis> ranks = {made.analyzed()};
  PriceOptions options;
  options.combinations = {"dataload_zero+launch_zero", "launch_zero"};
  const PricedRun run = priced(ranks, options);
  const WhatIfRow* both = row_of(run, "dataload_zero+launch_zero");
  REQUIRE(both != nullptr);
  CHECK(both->saved_lo_share > row_of(run, "launch_zero")->saved_lo_share);
  CHECK(both->step_lo_ns == Approx(200 * kUs).epsilon(0.05));
  CHECK(std::count_if(run.rows.begin(), run.rows.end(),
                      [](const WhatIfRow& r) { return r.id == "launch_zero"; }) == 1);
  CHECK(is_what_if("ep_zero+launch_zero"));
  CHECK_FALSE(is_what_if("ep_zero+"));
  CHECK_FALSE(is_what_if(""));
  CHECK_FALSE(is_what_if("faster"));
}

TEST_CASE("the same rows whatever the number of threads") {
  std::vector<RankAnalysis> a = {MadeRun{}.analyzed()}, b = {MadeRun{}.analyzed()};
  PriceOptions several;
  several.threads = 4;
  const PricedRun one = priced(a), many = priced(b, several);
  REQUIRE(one.rows.size() == many.rows.size());
  for (size_t i = 0; i < one.rows.size(); ++i) {
    CHECK(one.rows[i].id == many.rows[i].id);
    CHECK(one.rows[i].saved_lo_share == many.rows[i].saved_lo_share);
    CHECK(one.rows[i].saved_hi_share == many.rows[i].saved_hi_share);
  }
}

TEST_CASE("no gains, and why") {
  std::vector<RankAnalysis> off = {MadeRun{}.analyzed()};
  PriceOptions no;
  no.wanted = false;
  CHECK(priced(off, no).why_not.find("--no-what-if") != std::string::npos);
  CHECK_FALSE(off[0].replay);
  std::vector<RankAnalysis> not_kept = {MadeRun{}.analyzed(0)};
  CHECK_FALSE(not_kept[0].replay);
  CHECK(priced(not_kept).why_not.find("steady steps") != std::string::npos);
  std::vector<RankAnalysis> too_large = {MadeRun{}.analyzed(60)};  // one step of 50 records fits
  CHECK_FALSE(too_large[0].replay);
  std::vector<RankAnalysis> lost = {MadeRun{}.analyzed()};
  lost[0].notes.add(NoteCode::records_lost);
  const PricedRun run = priced(lost);
  CHECK(run.rows.empty());
  CHECK_FALSE(run.prices);
  CHECK(run.why_not == "records were lost");
  std::vector<RankAnalysis> idle = {MadeRun{}.analyzed()};
  for (Breakdown& step : idle[0].devices[0].breakdowns) {
    step[Leaf::idle_unknown] += step[Leaf::idle_launch];
    step[Leaf::idle_launch] = 0;
  }
  CHECK(priced(idle).why_not == "most of the step is idle for no cause that was recorded");
  MadeRun single;
  single.steps = 1;
  CHECK_FALSE(single.analyzed().replay);
}

TEST_CASE("large steps are fewer steps") {
  MadeRun made;
  made.steps = 12;
  const RankAnalysis all = made.analyzed();
  REQUIRE(all.replay);
  CHECK(all.replay->host_steps.size() == 12);  // small: all of them
  const RankAnalysis few = made.analyzed(170);
  REQUIRE(few.replay);
  CHECK(few.replay->host_steps.size() == 3);
  made.kernels = 2000;
  const RankAnalysis large = made.analyzed();
  REQUIRE(large.replay);
  CHECK(large.replay->host_steps.size() == 10);  // 20k records cost next to nothing
  made.kernels = 4001;
  const RankAnalysis larger = made.analyzed();
  REQUIRE(larger.replay);
  CHECK(larger.replay->host_steps.size() == kReplaySteps);
}

TEST_CASE("only steps that every rank kept are priced") {
  MadeRun second;
  second.rank = 1;
  std::vector<RankAnalysis> ranks = {MadeRun{}.analyzed(), second.analyzed(220)};
  REQUIRE(ranks[1].replay->host_steps.size() == 4);
  const PricedRun run = priced(ranks);
  CHECK(run.steps == 3);
  CHECK(row_of(run, "launch_zero") != nullptr);
}

TEST_CASE("communication of unknown peers may be all waiting") {
  Maker m;
  TimeNs t = 100 * kUs;
  for (int s = 0; s < 4; ++s) {
    const TimeNs begin = t;
    m.op(t, t + 5 * kUs, t + 105 * kUs, kGemm);
    m.op(t + 10 * kUs, t + 106 * kUs, t + 206 * kUs, kAllReduce, 1, 20);
    t += 210 * kUs;
    m.range(begin, t, "ProfilerStep#" + std::to_string(s));
  }
  Trace trace = m.b.seal();
  trace.has_api_records = trace.has_host_ranges = true;
  StepOptions options;
  options.replay_ops = 1000;
  std::vector<RankAnalysis> ranks = {analyze_rank(trace, classes(), options)};
  const PricedRun run = priced(ranks);
  const WhatIfRow* all = row_of(run, "communication_zero");
  REQUIRE(all != nullptr);
  CHECK(all->saved_lo_share <= 0.001);
  CHECK_FALSE(run.prices);
  CHECK(run.why_no_prices.find("peers") != std::string::npos);
}

TEST_CASE("ranks meet at their collectives: the late one is what a fix gains, not the transfer") {
  std::vector<RankAnalysis> ranks;
  for (int32_t r = 0; r < 2; ++r) {
    Maker m;
    TimeNs t = 105 * kUs, host = 100 * kUs;              // the host runs ahead
    const TimeNs work = r == 0 ? 100 * kUs : 200 * kUs;  // rank 1 is late
    for (int s = 0; s < 5; ++s) {
      m.op(host, t, t + work, kGemm);
      m.op(host + 10 * kUs, t + work + kUs, t + 251 * kUs, kAllReduce, 1, 20);
      m.op(host + 20 * kUs, t + 252 * kUs, t + 253 * kUs, kGemm);
      m.range(host, host + 30 * kUs, "ProfilerStep#" + std::to_string(s));
      t += 254 * kUs;
      host += 30 * kUs;
    }
    Trace trace = m.b.seal();
    trace.rank = r;
    trace.rank_source = RankSource::distributed_info;
    trace.has_api_records = trace.has_host_ranges = true;
    StepOptions options;
    options.replay_ops = 1000;
    ranks.push_back(analyze_rank(trace, classes(), options));
  }
  const auto run = combine_ranks(std::move(ranks), {});
  REQUIRE(run);
  const WhatIfRow* all = row_of(run->what_if, "communication_zero");
  const WhatIfRow* fixed = row_of(run->what_if, "straggler_fixed");
  REQUIRE(all != nullptr);
  REQUIRE(fixed != nullptr);
  CHECK(run->what_if.prices);
  // 50 us of transfer, 100 us of waiting, in steps of 254 us
  CHECK(all->saved_lo_share == Approx(50.0 / 254).margin(0.02));
  CHECK(fixed->saved_lo_share == Approx(100.0 / 254).margin(0.03));
}
