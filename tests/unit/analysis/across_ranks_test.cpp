// Whole runs of several ranks, made with known waiting: who is late, why, and the exact split.
#include <cmath>
#include <functional>

#include "analysis/analyze_rank.h"
#include "analysis/run_builder.h"
#include "unit/analysis/made_rank.h"
#include "unit/analysis/made_trace.h"

namespace ws {
namespace {

constexpr TimeNs kMs = 1'000'000;

struct Work {  // of one rank before one collective
  TimeNs gemm = kMs, experts = 0;
  TimeNs pause = 0;  // host range before the GEMM is launched
  std::string_view pause_name = "gc";
};
struct Meeting {
  std::string_view op = "allreduce", group = "1", desc = "DATA_PARALLEL_GROUP";
  std::string_view kernel = made::kAllReduce;
  std::vector<int> members;  // empty: all
  TimeNs transfer = kMs / 5;
};
struct World {
  int ranks = 4, steps = 6;
  std::vector<Meeting> meetings = {Meeting{}};  // of every step, in order
  std::function<Work(int rank, int step, size_t meeting)> work = [](int, int, size_t) {
    return Work{};
  };
  std::function<TimeNs(int rank)> clock = [](int) { return TimeNs{0}; };
  std::function<double(int rank)> gains = [](int) { return 0.0; };  // per ns, of that clock
  std::function<int(int rank)> first_step = [](int) { return 0; };  // that is recorded
  bool numbers = true;
  std::vector<int> recorded;  // empty: all
};

std::string members_text(const std::vector<int>& members) {
  std::string out;
  for (int m : members) out += (out.empty() ? "" : ",") + std::to_string(m);
  return out;
}

TimeNs shift_of(const World& world, int rank, TimeNs t) {
  return world.clock(rank) + std::llround(world.gains(rank) * static_cast<double>(t));
}

// Plays the run: a collective ends for all members when the last one came and the transfer is over.
std::vector<RankAnalysis> play(const World& world) {
  std::vector<made::Maker> makers(static_cast<size_t>(world.ranks));
  std::vector<TimeNs> now(makers.size(), 10 * kMs);
  std::vector<std::vector<TimeNs>> step_begin(makers.size());
  int64_t sequence = 0;
  std::vector<int> everybody;
  everybody.reserve(world.ranks);
  for (int r = 0; r < world.ranks; ++r) everybody.push_back(r);
  for (int step = 0; step < world.steps; ++step) {
    for (size_t r = 0; r < makers.size(); ++r) step_begin[r].push_back(now[r]);
    for (size_t m = 0; m < world.meetings.size(); ++m) {
      const Meeting& meeting = world.meetings[m];
      ++sequence;
      const std::vector<int>& members = meeting.members.empty() ? everybody : meeting.members;
      TimeNs last = 0;
      for (int rank : members) {
        const auto r = static_cast<size_t>(rank);
        const TimeNs shift = shift_of(world, rank, now[r]);
        const Work work = world.work(rank, step, m);
        made::Maker& maker = makers[r];
        TimeNs& t = now[r];
        const bool seen = step >= world.first_step(rank);
        if (work.pause > 0 && seen)
          maker.range(t + shift, t + work.pause + shift, work.pause_name, 1);
        t += work.pause;
        if (seen) maker.op(t + shift, t + 2000 + shift, t + 2000 + work.gemm + shift, made::kGemm);
        t += 2000 + work.gemm;
        if (work.experts > 0) {
          if (seen) maker.op(t - 1000 + shift, t + shift, t + work.experts + shift, made::kGrouped);
          t += work.experts;
        }
        last = std::max(last, t);
      }
      for (int rank : members) {
        const auto r = static_cast<size_t>(rank);
        made::Maker& maker = makers[r];
        CollectiveInfo info;
        info.name = maker.b.intern(meeting.op);
        info.group_name = maker.b.intern(meeting.group);
        info.group_desc = maker.b.intern(meeting.desc);
        info.members = maker.b.intern(members_text(members));
        info.dtype = maker.b.intern("BFloat16");
        info.in_elements = info.out_elements = 1 << 20;
        info.group_size = static_cast<int64_t>(members.size());
        if (world.numbers) info.sequence = sequence;
        const TimeNs shift = shift_of(world, rank, now[r]), end = last + meeting.transfer;
        if (step >= world.first_step(rank))
          maker.op(now[r] - 500 + shift, now[r] + shift, end + shift_of(world, rank, end),
                   meeting.kernel, 1, 20, 0, OpKind::kernel, kNoRow, maker.b.add_collective(info));
        now[r] = end;
      }
    }
  }
  std::vector<RankAnalysis> out;
  for (int rank = 0; rank < world.ranks; ++rank) {
    const auto r = static_cast<size_t>(rank);
    if (!world.recorded.empty() &&
        std::find(world.recorded.begin(), world.recorded.end(), rank) == world.recorded.end())
      continue;
    made::Maker& maker = makers[r];
    for (auto s = static_cast<size_t>(world.first_step(rank)); s < step_begin[r].size(); ++s) {
      const TimeNs end = s + 1 < step_begin[r].size() ? step_begin[r][s + 1] : now[r];
      maker.range(step_begin[r][s] + shift_of(world, rank, step_begin[r][s]),
                  end + shift_of(world, rank, end), "ProfilerStep#" + std::to_string(s), 1);
    }
    Trace trace = std::move(maker.b).seal();
    trace.rank = rank;
    trace.rank_source = RankSource::distributed_info;
    trace.world_size = world.ranks;
    trace.path = "r" + std::to_string(rank);
    trace.format = "kineto-json";
    out.push_back(analyze_rank(trace, made::classes(), {}));
  }
  return out;
}

RunAnalysis run_of(const World& world) {
  auto run = combine_ranks(play(world), {});
  if (!run) FAIL(run.error().message);
  return std::move(*run);
}

TimeNs leaf_sum(const RunAnalysis& run, int32_t rank, Leaf leaf) {
  TimeNs sum = 0;
  for (const RankAnalysis& r : run.ranks) {
    if (r.rank == rank)
      for (size_t i = 0; i < r.devices[0].steps.size(); ++i)
        if (r.devices[0].steps[i].steady) sum += r.devices[0].breakdowns[i][leaf];
  }
  return sum;
}
int64_t steady(const RunAnalysis& run) {
  int64_t count = 0;
  for (const Step& s : run.ranks[0].devices[0].steps) count += s.steady ? 1 : 0;
  return count;
}
bool says(const RunAnalysis& run, std::string_view words) {
  for (const std::string& why : run.verdict.why)
    if (why.find(words) != std::string::npos) return true;
  return false;
}

TEST_CASE("across: clocks that drift apart over a long recording change no waiting") {
  World world;
  world.steps = 40;
  world.meetings.assign(5, Meeting{});
  world.work = [](int rank, int, size_t) {
    Work work;
    work.gemm = rank == 2 ? 600 * kMs : 500 * kMs;  // 120 s in all
    return work;
  };
  const RunAnalysis even = run_of(world);
  for (const bool numbers : {true, false}) {
    world.numbers = numbers;
    world.gains = [](int rank) { return rank * 15e-6; };
    world.clock = [](int rank) { return int64_t{rank} * 3 * kMs; };
    const RunAnalysis run = run_of(world);
    CHECK(run.notes.count(NoteCode::clock_drift) == 3);
    CHECK(run.across.clock_violations == 0);
    CHECK(run.across.clock_error_ns < 2000);
    CHECK(run.across.split == run.across.instances);
    for (int32_t rank : {0, 1, 2, 3}) {
      const TimeNs waited = leaf_sum(run, rank, Leaf::comm_dp_wait);
      const TimeNs truth = leaf_sum(even, rank, Leaf::comm_dp_wait);
      CHECK(std::abs(waited - truth) <= truth / 1000 + int64_t{200} * 2000);
    }
  }
}

TEST_CASE("across: short recordings are not held to a drift") {
  World world;
  world.meetings.assign(30, Meeting{});
  world.gains = [](int rank) { return rank * 1e-5; };
  CHECK(run_of(world).notes.count(NoteCode::clock_drift) == 0);
}

TEST_CASE("across: a recording that starts steps later is matched without numbers and clocks") {
  World world;
  world.steps = 16;
  world.meetings.assign(24, Meeting{});
  world.numbers = false;
  world.work = [](int rank, int step, size_t meeting) {  // no two steps are alike
    Work work;
    work.gemm = kMs + (rank == 2 ? kMs / 2 : 0) +
                static_cast<TimeNs>((static_cast<size_t>(step) * 7919 + meeting * 104729) % 40'000);
    return work;
  };
  const RunAnalysis whole = run_of(world);
  world.clock = [](int rank) { return int64_t{rank} * 3'000 * kMs; };
  world.first_step = [](int rank) { return rank == 1 ? 6 : 0; };
  const RunAnalysis run = run_of(world);
  CHECK(run.across.clock_violations == 0);
  CHECK(run.across.clock_error_ns == 0);
  CHECK(run.across.split == int64_t{24} * 10);
  for (int32_t rank : {0, 2, 3}) {  // of the steps that all have
    CHECK(leaf_sum(run, rank, Leaf::comm_dp_wait) + leaf_sum(run, rank, Leaf::comm_dp_unsplit) +
              leaf_sum(run, rank, Leaf::comm_dp_transfer) ==
          leaf_sum(whole, rank, Leaf::comm_dp_wait) +
              leaf_sum(whole, rank, Leaf::comm_dp_transfer));
  }
  CHECK(leaf_sum(run, 3, Leaf::comm_dp_wait) > leaf_sum(whole, 3, Leaf::comm_dp_wait) / 2);
}

TEST_CASE("across: two steps are too few to call a rank slow for sure") {
  World world;
  world.steps = 3;  // the first is left out
  world.work = [](int rank, int, size_t) {
    Work work;
    work.gemm = rank == 2 ? 2 * kMs : kMs;
    return work;
  };
  const RunAnalysis run = run_of(world);
  CHECK(run.across.straggler.kind == StragglerKind::seldom);
  CHECK(run.across.straggler.rank == 2);
  CHECK(run.verdict.cause == Cause::straggler_gpu);
  CHECK(run.verdict.where_ranks == std::vector<int32_t>{2});
  CHECK(run.verdict.confidence == Confidence::low);
  CHECK(says(run, "rank 2 is the late one in 2 of 2 steps: too few"));
  CHECK_FALSE(says(run, "by turns"));
}

TEST_CASE("across: a slow GPU is named, the others wait for it") {
  World world;
  world.work = [](int rank, int, size_t) {
    return Work{rank == 2 ? 13 * kMs : 10 * kMs, 0, 0, ""};
  };
  const RunAnalysis run = run_of(world);
  const int64_t n = steady(run);
  CHECK(leaf_sum(run, 0, Leaf::comm_dp_wait) == n * 3 * kMs);
  CHECK(leaf_sum(run, 0, Leaf::comm_dp_transfer) == n * kMs / 5);
  CHECK(leaf_sum(run, 2, Leaf::comm_dp_wait) == 0);
  CHECK(leaf_sum(run, 2, Leaf::comm_dp_transfer) == n * kMs / 5);
  CHECK(leaf_sum(run, 2, Leaf::comm_dp_unsplit) == 0);
  CHECK(run.across.straggler.kind == StragglerKind::persistent);
  CHECK(run.across.straggler.rank == 2);
  CHECK(run.across.late_ranks == std::vector<int32_t>{2});
  CHECK(run.across.late[2].slower_kernels == Approx(0.3));
  REQUIRE(run.across.causes.size() == 1);
  CHECK(run.across.causes[0].rank == 2);
  CHECK(run.across.causes[0].category == LateCategory::gemm);
  CHECK(run.across.causes[0].marginal_ns == n * 3 * kMs);
  CHECK(run.across.causes[0].instances == n);
  CHECK(run.verdict.loss == LossGroup::imbalance);
  CHECK(run.verdict.cause == Cause::straggler_gpu);
  CHECK(run.verdict.wall == Wall::compute_host);
  CHECK(run.verdict.where_ranks == std::vector<int32_t>{2});
  CHECK(says(run, "runs the same kernels 30.0 % slower"));
  CHECK(*run.ranks[2].devices[0].late_ns == 3 * kMs);
  CHECK(*run.ranks[0].devices[0].late_ns == 0);
  CHECK(run.ranks[0].devices[0].collectives[0].late_rank == 2);
  CHECK(run.ranks[0].devices[0].collectives[0].matched == n);
  CHECK(run.ranks[0].devices[0].collectives[0].matched_transfer_ns == n * kMs / 5);
  CHECK(run.across.efficiency->load_balance == Approx(43.0 / 52.0).epsilon(1e-3));
}

TEST_CASE("across: one pause in one step is transient, and its cause is what the host did") {
  for (const auto& [name, cause] :
       {std::pair{"gc", Cause::gc_pause}, std::pair{"dataloader.next", Cause::input_pipeline},
        std::pair{"something else", Cause::straggler_host}}) {
    World world;
    world.work = [name = name](int rank, int step, size_t) {
      return Work{10 * kMs, 0, rank == 1 && step == 3 ? 100 * kMs : TimeNs{0}, name};
    };
    const RunAnalysis run = run_of(world);
    INFO(name);
    CHECK(run.across.straggler.kind == StragglerKind::transient);
    CHECK(run.across.straggler.rank == 1);
    CHECK(run.across.straggler_step == "ProfilerStep#3");
    CHECK(run.verdict.loss == LossGroup::imbalance);
    CHECK(run.verdict.cause == cause);
    CHECK(run.verdict.where_steps == std::vector<std::string>{"ProfilerStep#3"});
    CHECK(says(run, "they are the victims, not the cause"));
  }
}

TEST_CASE("across: hot experts that wander are imbalance of experts, not a slow GPU") {
  World world;
  world.meetings = {
      {"all_to_all", "3", "EXPERT_MODEL_PARALLEL_GROUP", made::kSendRecv, {}, kMs / 5},
      {"all_to_all", "3", "EXPERT_MODEL_PARALLEL_GROUP", made::kSendRecv, {}, kMs / 5}};
  world.work = [](int rank, int step, size_t meeting) {
    const bool hot = rank == step % 4;
    return Work{kMs, meeting == 0 ? 0 : (hot ? 30 * kMs : 10 * kMs), 0, ""};
  };
  const RunAnalysis run = run_of(world);
  REQUIRE(run.across.experts);
  CHECK(run.across.experts->max_over_mean == Approx(2.0));
  CHECK(run.across.experts->max_over_min == Approx(3.0));
  CHECK(run.across.experts->hot_ranks == 4);
  CHECK(run.across.straggler.kind == StragglerKind::rotating);
  CHECK(run.verdict.loss == LossGroup::imbalance);
  CHECK(run.verdict.cause == Cause::expert_imbalance);
  CHECK(run.verdict.where_ranks.empty());
  CHECK(says(run, "the hot rank changes from layer to layer"));
}

TEST_CASE("across: lateness is followed to the rank where it began") {
  World world;  // 0,1 and 2,3 meet first, then 1 and 2: rank 0 makes 1 late there
  world.meetings = {
      {"allreduce", "10", "TENSOR_MODEL_PARALLEL_GROUP", made::kAllReduce, {0, 1}, kMs / 5},
      {"allreduce", "11", "TENSOR_MODEL_PARALLEL_GROUP", made::kAllReduce, {2, 3}, kMs / 5},
      {"allreduce", "1", "DATA_PARALLEL_GROUP", made::kAllReduce, {1, 2}, kMs / 5},
      {"allreduce", "12", "DATA_PARALLEL_GROUP", made::kAllReduce, {0, 3}, kMs / 5}};
  world.work = [](int rank, int, size_t meeting) {
    return Work{rank == 0 && meeting == 0 ? 16 * kMs : 8 * kMs, 0, 0, ""};
  };
  const RunAnalysis run = run_of(world);
  REQUIRE_FALSE(run.across.causes.empty());
  for (const LateCause& late : run.across.causes) {
    CHECK(late.rank == 0);
    CHECK(late.category == LateCategory::gemm);
  }
  CHECK(run.across.late[1].marginal_ns > 0);  // rank 1 came last, but is not where it began
}

TEST_CASE("across: clocks seconds apart change nothing but the offsets") {
  World world;
  world.work = [](int rank, int step, size_t) {
    return Work{10 * kMs + (rank == 2 ? 3 * kMs : 0) + int64_t{step} * 7919, 0, 0, ""};
  };
  const RunAnalysis straight = run_of(world);
  for (const bool numbers : {true, false}) {
    world.numbers = numbers;
    world.clock = [](int rank) { return rank * TimeNs{1'234'567'891}; };
    const RunAnalysis skewed = run_of(world);
    for (int32_t r = 0; r < 4; ++r) {
      const auto& offset = skewed.ranks[static_cast<size_t>(r)].devices[0].clock_offset_ns;
      REQUIRE(offset.has_value());
      CHECK(*offset == r * 1'234'567'891LL);
      for (const Leaf leaf : {Leaf::comm_dp_wait, Leaf::comm_dp_transfer, Leaf::comm_dp_unsplit})
        CHECK(leaf_sum(skewed, r, leaf) == leaf_sum(straight, r, leaf));
    }
    CHECK(says(skewed, "aligned on the common end"));
  }
}

TEST_CASE("across: a member that was not recorded leaves its collectives unsplit") {
  World world;
  world.recorded = {0, 1, 3};
  const RunAnalysis run = run_of(world);
  CHECK(leaf_sum(run, 0, Leaf::comm_dp_wait) == 0);
  CHECK(leaf_sum(run, 0, Leaf::comm_dp_unsplit) == steady(run) * kMs / 5);
  CHECK(run.notes.count(NoteCode::incomplete_collectives) > 0);
  CHECK(run.notes.count(NoteCode::unsplit_collectives) > 0);
}

TEST_CASE("across: without common ends clocks that can not be right split nothing") {
  World world;
  world.meetings = {
      {"all_to_all", "3", "EXPERT_MODEL_PARALLEL_GROUP", made::kSendRecv, {}, kMs / 5}};
  CHECK(leaf_sum(run_of(world), 0, Leaf::comm_ep_transfer) > 0);
  world.clock = [](int rank) { return int64_t{rank} * 50 * kMs; };
  const RunAnalysis run = run_of(world);
  CHECK(run.across.clock_unknown);
  CHECK(run.notes.count(NoteCode::clocks_unknown) == run.across.instances);
  CHECK(leaf_sum(run, 0, Leaf::comm_ep_transfer) == 0);
  CHECK_FALSE(run.ranks[1].devices[0].clock_offset_ns == 50 * kMs);
}

TEST_CASE("across: ranks that agree have nothing to explain") {
  const RunAnalysis run = run_of(World{});
  CHECK(run.across.straggler.kind == StragglerKind::none);
  CHECK(run.across.causes.empty());
  CHECK(run.across.late_ranks.empty());
  CHECK(run.across.clock_error_ns == 0);
  CHECK(run.across.split == run.across.instances);
  CHECK(says(run, "the ranks arrive together"));
}

}  // namespace
}  // namespace ws
