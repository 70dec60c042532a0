#include "analysis/run_builder.h"

#include <fmt/format.h>

#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

constexpr TimeNs kNow = 1'700'000'000'000'000'000;
constexpr TimeNs kMinute = 60LL * 1'000'000'000;

RankAnalysis file(const std::string& path, int32_t rank, RankSource source, int32_t world = 0) {
  RankAnalysis out = made::rank(made::device(made::leaves({{Leaf::gemm, 1'000'000}})), rank, world);
  out.path = path;
  out.rank_source = source;
  return out;
}
RankAnalysis stated(const std::string& path, int32_t rank, int32_t world = 0) {
  return file(path, rank, RankSource::distributed_info, world);
}
RankAnalysis silent(const std::string& path) { return file(path, 0, RankSource::order); }

std::vector<std::pair<std::string, int32_t>> numbers(const RunAnalysis& run) {
  std::vector<std::pair<std::string, int32_t>> out;
  for (const RankAnalysis& rank : run.ranks) out.emplace_back(rank.path, rank.rank);
  return out;
}
using Numbers = std::vector<std::pair<std::string, int32_t>>;

TEST_CASE("ranks: stated numbers stay, silent files take the free ones in order") {
  const auto run = combine_ranks({silent("x"), stated("b", 1), silent("y"), stated("a", 0)}, {});
  REQUIRE(run);
  CHECK(numbers(*run) == Numbers{{"a", 0}, {"b", 1}, {"x", 2}, {"y", 3}});
  CHECK(run->notes.count(NoteCode::rank_unknown) == 2);
}

TEST_CASE("ranks: two files that claim one rank are kept apart and noted") {
  const auto run = combine_ranks({stated("d/w0", 0, 2), stated("d/w1", 0, 2)}, {});
  REQUIRE(run);
  CHECK(numbers(*run) == Numbers{{"d/w0", 0}, {"d/w1", 1}});
  REQUIRE(run->notes.count(NoteCode::two_files_one_rank) == 1);
  CHECK(run->notes.all()[0].detail == "w1 claims rank 0 again and is shown as rank 1");
}

TEST_CASE("ranks: --rank keeps what it names, and an empty rest is an error") {
  RunOptions options;
  options.ranks = {1};
  const auto run = combine_ranks({stated("a", 0), stated("b", 1)}, options);
  REQUIRE(run);
  CHECK(numbers(*run) == Numbers{{"b", 1}});
  options.ranks = {7};
  const auto none = combine_ranks({stated("a", 0), stated("b", 1)}, options);
  REQUIRE_FALSE(none);
  CHECK(none.error().message.find("the run has 0, 1") != std::string::npos);
}

TEST_CASE("ranks: a torn file costs its rank, unless there is no other") {
  RankAnalysis torn = stated("torn", 1, 3);
  torn.notes.add(NoteCode::truncated_file);
  const auto run = combine_ranks({stated("a", 0, 3), torn, stated("c", 2, 3)}, {});
  REQUIRE(run);
  CHECK(numbers(*run) == Numbers{{"a", 0}, {"c", 2}});
  CHECK(run->notes.count(NoteCode::rank_left_out) == 1);
  CHECK(run->notes.count(NoteCode::truncated_file) == 1);
  CHECK(run->verdict.cause != Cause::records_lost);
  const auto alone = combine_ranks({torn}, {});
  REQUIRE(alone);
  CHECK(numbers(*alone) == Numbers{{"torn", 1}});
  CHECK(alone->notes.count(NoteCode::rank_left_out) == 0);
  CHECK(alone->verdict.cause == Cause::records_lost);
}

TEST_CASE("different runs: world sizes") {
  const auto run = combine_ranks({stated("a", 0, 8), stated("b", 1, 16), stated("c", 2, 8)}, {});
  REQUIRE_FALSE(run);
  CHECK(run.error().message ==
        "inputs: expected the ranks of one run, found 2 runs (world sizes 8, 16): [a, c], [b]; "
        "analyze them one run at a time");
  // A file that does not say its world size contradicts nobody.
  CHECK(combine_ranks({stated("a", 0, 8), stated("b", 1)}, {}));
}

TEST_CASE("different runs: recorded at different times, if the clocks tell") {
  RankAnalysis a = stated("a", 0), b = stated("b", 1);
  a.clock_base_ns = kNow;
  b.clock_base_ns = kNow + 30 * kMinute;
  const auto apart = combine_ranks({a, b}, {});
  REQUIRE_FALSE(apart);
  CHECK(apart.error().message.find("recorded at different times") != std::string::npos);
  b.clock_base_ns = kNow + 5 * kMinute;
  CHECK(combine_ranks({a, b}, {}));
  b.clock_base_ns = 0;  // not an epoch clock
  CHECK(combine_ranks({a, b}, {}));
}

TEST_CASE("different runs: the same ranks in several folders") {
  const auto twice = combine_ranks({stated("x/before/r0", 0), stated("x/before/r1", 1),
                                    stated("x/after/r0", 0), stated("x/after/r1", 1)},
                                   {});
  REQUIRE_FALSE(twice);
  CHECK(twice.error().message.find("[after/r0, after/r1], [before/r0, before/r1]") !=
        std::string::npos);
  // One folder per rank is one run.
  CHECK(combine_ranks({stated("x/rank0/t", 0), stated("x/rank1/t", 1)}, {}));
}

TEST_CASE("different runs: other GPUs in files that do not say which rank they are") {
  RankAnalysis a = silent("a"), b = silent("b"), c = silent("c");
  a.devices[0].gpu = c.devices[0].gpu = "A100";
  b.devices[0].gpu = "H200";
  const auto apart = combine_ranks({a, b, c}, {});
  REQUIRE_FALSE(apart);
  CHECK(apart.error().message ==
        "inputs: expected the ranks of one run, found 2 runs (other GPUs: A100, H200): [a, c], "
        "[b]; analyze them one run at a time");
  b.path = "a";  // one machine with two models, in one file
  CHECK(combine_ranks({a, b}, {}));
  RankAnalysis first = stated("a", 0, 2), second = stated("b", 1, 2);
  first.devices[0].gpu = "A100";
  second.devices[0].gpu = "H200";
  CHECK(combine_ranks({first, second}, {}));
  second.rank_source = RankSource::order;
  second.format = first.format = "kineto";
  second.devices[0].gpu.clear();  // a file without a name of its GPU contradicts nobody
  CHECK(combine_ranks({first, second}, {}));
  second.format = "nsys";
  CHECK_FALSE(combine_ranks({first, second}, {}));
}

TEST_CASE("no input is an error") {
  const auto run = combine_ranks({}, {});
  REQUIRE_FALSE(run);
  CHECK(run.error().message.find("inputs: ") == 0);
}

TEST_CASE("hosts are numbered by name over the run") {
  RankAnalysis a = stated("a", 0), b = stated("b", 1), c = stated("c", 2);
  a.host_name = c.host_name = "node7";
  b.host_name = "node3";
  const auto run = combine_ranks({a, b, c}, {});
  REQUIRE(run);
  CHECK(run->ranks[0].host == 0);
  CHECK(run->ranks[1].host == 1);
  CHECK(run->ranks[2].host == 0);
}

TEST_CASE("notes of the run: missing peers, unsplit collectives, formats") {
  RankAnalysis a = stated("a", 0, 4), b = stated("b", 1, 4);
  a.devices[0].collectives.push_back(made::collective(CommKind::dp, CollectiveOp::all_reduce, 600));
  b.format = "nsys-sqlite";
  const auto run = combine_ranks({a, b}, {});
  REQUIRE(run);
  CHECK(run->notes.count(NoteCode::peers_missing) == 2);
  CHECK(run->notes.count(NoteCode::unsplit_collectives) == 6);
  CHECK(run->notes.count(NoteCode::unmatched_collectives) == 0);
  CHECK(run->notes.count(NoteCode::mixed_formats) == 2);
  CHECK_FALSE(run->verdict.single_rank_of_job);
}

TEST_CASE("all ranks are there: nobody is asked to record them") {
  std::vector<RankAnalysis> all;
  for (int rank = 0; rank < 4; ++rank) all.push_back(stated(fmt::format("r{}", rank), rank, 4));
  all[0].devices[0].collectives.push_back(made::collective(CommKind::pp, CollectiveOp::recv, 600));
  const auto run = combine_ranks(all, {});
  REQUIRE(run);
  CHECK(run->notes.count(NoteCode::unmatched_collectives) == 6);
  CHECK(run->notes.count(NoteCode::unsplit_collectives) == 0);
  CHECK(run->notes.count(NoteCode::peers_missing) == 0);
  CHECK(info_of(NoteCode::unmatched_collectives).advice.empty());
}

TEST_CASE("ranks that --rank leaves out are not blamed on the recording") {
  std::vector<RankAnalysis> all;
  for (int rank = 0; rank < 4; ++rank) all.push_back(stated(fmt::format("r{}", rank), rank, 4));
  all[2].devices[0].collectives.push_back(
      made::collective(CommKind::dp, CollectiveOp::all_reduce, 600));
  RunOptions options;
  options.ranks = {2};
  const auto run = combine_ranks(all, options);
  REQUIRE(run);
  CHECK(run->notes.count(NoteCode::deselected_collectives) == 6);
  CHECK(run->notes.count(NoteCode::unmatched_collectives) == 0);
  CHECK(run->notes.count(NoteCode::unsplit_collectives) == 0);
}

TEST_CASE("a note on a step names its ranks, once where they say the same") {
  std::vector<RankAnalysis> all;
  for (int rank = 0; rank < 3; ++rank) {
    all.push_back(stated(fmt::format("r{}", rank), rank, 3));
    all.back().notes.add(NoteCode::outlier_step, {}, 1, rank == 1 ? "step 4: gc" : "step 4: wait");
  }
  std::vector<std::string> said;
  const auto details = [&](const RunAnalysis& run) {
    said.clear();
    for (const Note& n : run.notes.all())
      if (n.code == NoteCode::outlier_step) said.push_back(n.detail);
    return said;
  };
  const auto run = combine_ranks(all, {});
  REQUIRE(run);
  CHECK(details(*run) ==
        std::vector<std::string>{"ranks 0, 2: step 4: wait", "rank 1: step 4: gc"});
  CHECK(run->notes.count(NoteCode::outlier_step) == 3);
  const auto one = combine_ranks({all[1]}, {});
  REQUIRE(one);
  CHECK(details(*one) == std::vector<std::string>{"step 4: gc"});
}

TEST_CASE("a default constant names its ranks only where they differ") {
  std::vector<RankAnalysis> all;
  for (int rank = 0; rank < 3; ++rank) all.push_back(stated(fmt::format("r{}", rank), rank, 3));
  const auto said = [&] {
    std::string out;
    const auto run = combine_ranks(all, {});
    REQUIRE(run);
    for (const Note& n : run->notes.all())
      if (n.code == NoteCode::constants_default) out += n.detail + "|";
    return out;
  };
  for (RankAnalysis& rank : all) rank.notes.add(NoteCode::constants_default, {}, 1, "latency");
  CHECK(said() == "latency|");
  all[1].notes = {};
  CHECK(said() == "ranks 0, 2: latency|");
}

TEST_CASE("ranks that were chosen are not ranks that were not recorded") {
  std::vector<RankAnalysis> all;
  for (int rank = 0; rank < 4; ++rank) {
    all.push_back(stated(fmt::format("r{}", rank), rank, 4));
    all.back().devices[0].collectives.push_back(
        made::collective(CommKind::dp, CollectiveOp::all_reduce, 600));
  }
  RunOptions options;
  options.ranks = {1};
  const auto chosen = combine_ranks(all, options);
  REQUIRE(chosen);
  CHECK(chosen->notes.count(NoteCode::peers_missing) == 0);
  CHECK_FALSE(chosen->verdict.single_rank_of_job);
  const auto recorded = combine_ranks({all[1]}, options);
  REQUIRE(recorded);
  CHECK(recorded->notes.count(NoteCode::peers_missing) == 3);
  CHECK(recorded->verdict.single_rank_of_job);
}

TEST_CASE("in parallel: results in order whatever the number of threads") {
  for (unsigned threads : {1u, 2u, 7u}) {
    const auto squares = in_parallel(100, threads, [](size_t i) { return i * i; });
    REQUIRE(squares.size() == 100);
    for (size_t i = 0; i < squares.size(); ++i) CHECK(squares[i] == i * i);
  }
  CHECK(in_parallel(0, 4, [](size_t i) { return i; }).empty());
}

}  // namespace
}  // namespace ws
