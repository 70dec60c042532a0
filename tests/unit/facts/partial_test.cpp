// Partials there and back, and against the classes that protoc makes of schemas/partial.proto.
#include "facts/partial.h"

#include <partial.pb.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "analysis/run_builder.h"
#include "facts/partial_file.h"
#include "support/catch.h"
#include "unit/facts/made_partial.h"

namespace ws {
namespace {

namespace pb = wallsight::partial;

std::string bytes_of(Partial p) {
  auto bytes = encode_partial(std::move(p), "x.wspart");
  if (!bytes) FAIL(bytes.error().message);
  return *bytes;
}

pb::Partial parsed(const std::string& file) {
  const auto message = partial::unframed(file, "x.wspart");
  if (!message) FAIL(message.error().message);
  pb::Partial out;
  REQUIRE(out.ParseFromString(*message));
  return out;
}

template <class Column>
std::vector<int64_t> undelta(const Column& column) {
  std::vector<int64_t> out;
  int64_t sum = 0;
  for (const int64_t delta : column) out.push_back(sum += delta);
  return out;
}

template <class Rows, class Get>
std::vector<int64_t> values(const Rows& rows, Get get) {
  std::vector<int64_t> out;
  out.reserve(rows.size());
  for (const auto& row : rows) out.push_back(static_cast<int64_t>(get(row)));
  return out;
}

TEST_CASE("partial: what is read is what was written") {
  const Partial before = made::partial();
  const std::string bytes = bytes_of(before);
  const auto after = decode_partial(bytes, "x.wspart");
  if (!after) FAIL(after.error().message);
  CHECK(after->options == before.options);
  CHECK(after->notes.count(NoteCode::file_skipped) == 1);
  REQUIRE(after->ranks.size() == 2);
  CHECK(bytes_of(*after) == bytes);
  const RankAnalysis &a = before.ranks[1], &b = after->ranks[1];
  CHECK(b.rank == 1);
  CHECK(b.host_name == a.host_name);
  CHECK(b.capture == a.capture);
  CHECK(b.communicators[0].members == a.communicators[0].members);
  CHECK(b.config.settings == a.config.settings);
  CHECK(b.notes.all()[0].detail == "odd");
  CHECK(b.devices[0].breakdowns[3].ns == a.devices[0].breakdowns[3].ns);
  CHECK(b.devices[0].comms.records[2].sequence == 12);
  CHECK(b.devices[0].comms.before[2].ns == a.devices[0].comms.before[2].ns);
  CHECK(b.devices[0].memory.peak_allocated_bytes == -1);
  CHECK(b.devices[0].memory.peak_reserved_bytes == 60'000'000'000);
  REQUIRE(b.replay);
  CHECK(b.replay->launched == a.replay->launched);
  CHECK(b.replay->rank == 1);
  CHECK(b.replay->waits == a.replay->waits);
  CHECK(b.replay->host_waits == a.replay->host_waits);
  for (size_t i = 0; i < a.replay->calls.size(); ++i) {
    CHECK(b.replay->calls[i].lag_ns == a.replay->calls[i].lag_ns);
    CHECK(b.replay->calls[i].op_count == a.replay->calls[i].op_count);
    CHECK(b.replay->calls[i].first_op == a.replay->calls[i].first_op);
  }
}

TEST_CASE("partial: the schema says all of it") {
  const std::string file = bytes_of(made::partial());
  const auto message = partial::unframed(file, "x.wspart");
  pb::Partial all = parsed(file);
  all.DiscardUnknownFields();
  CHECK(all.SerializeAsString() == *message);
}

TEST_CASE("partial: other readers see the same values") {
  const Partial made = made::partial();
  const pb::Partial all = parsed(bytes_of(made));
  CHECK(all.options().step_window() == pb::HOST);
  CHECK(all.options().steps() == "1:7");
  CHECK(all.options().what_if());
  CHECK(all.notes(0).code() == static_cast<uint32_t>(NoteCode::file_skipped));
  CHECK(all.spellings().notes(static_cast<int>(NoteCode::file_skipped)) == "file_skipped");
  CHECK(all.spellings().leaves(static_cast<int>(Leaf::idle_gc)) == "idle.gc");
  const pb::Rank& rank = all.ranks(1);
  CHECK(rank.world_size() == 2);
  CHECK(rank.communicators(0).key() == "1|0|1");
  CHECK(rank.config().settings(0).value() == "Ring");
  const DeviceAnalysis& device = made.ranks[1].devices[0];
  const pb::Device& d = rank.devices(0);
  CHECK(d.breakdowns(2).ns(static_cast<int>(Leaf::gemm)) == 600'000);
  CHECK(d.memory().peak_allocated_bytes() == -1);
  CHECK(d.memory().recompute_estimated_share() == 0.25);
  CHECK(d.comm_p2p().total_ns() == device.comm_by_kind.back().total_ns);
  CHECK(d.comm_ep().hidden_ns() == device.comm_by_kind.front().hidden_ns);
  CHECK(d.idle(0).largest().end_ns() == 101'000);
  CHECK(d.collectives(0).unsplit_ns() == device.collectives[0].unsplit_ns);
  CHECK(d.evidence().profiler_ns(3) == 8);
  const auto& records = device.comms.records;
  const pb::CommRecords& r = d.comms().records();
  CHECK(undelta(r.end_ns()) == values(records, [](const CommRecord& x) { return x.end_ns; }));
  CHECK(undelta(r.sequence()) == values(records, [](const CommRecord& x) { return x.sequence; }));
  CHECK(undelta(r.peer()) == std::vector<int64_t>(records.size(), -1));
  CHECK(undelta(d.comms().before().gc_ns()) ==
        values(device.comms.before,
               [](const BeforeRecord& x) { return x.ns[static_cast<size_t>(LateCategory::gc)]; }));
  CHECK(undelta(d.comms().edge_idle().open()) ==
        values(device.comms.edge_idle, [](const EdgeIdle& x) { return x.open; }));
  const ReplayRank& replay = *made.ranks[1].replay;
  CHECK(undelta(rank.replay().calls().pred()) ==
        values(replay.calls, [](const ReplayCall& x) { return x.pred; }));
  CHECK(undelta(rank.replay().calls().covered_gc_ns()) ==
        values(replay.calls, [](const ReplayCall& x) { return x.covered_ns[1]; }));
  CHECK(undelta(rank.replay().host_waits().op()) ==
        values(replay.host_waits, [](const auto& x) { return x.second; }));
  CHECK(undelta(rank.replay().ops().comm_record()) ==
        values(replay.ops, [](const ReplayOp& x) { return x.comm_record; }));
  CHECK(undelta(rank.replay().cuts(0).at_ns()) == replay.cuts[0].at_ns);
}

TEST_CASE("partial: fields of a later version are skipped, those left out are 0") {
  pb::Partial all = parsed(bytes_of(made::partial()));
  const auto add_unknown = [](google::protobuf::Message& m) {
    m.GetReflection()->MutableUnknownFields(&m)->AddVarint(900, 7);
    m.GetReflection()->MutableUnknownFields(&m)->AddLengthDelimited(901, "later");
  };
  add_unknown(all);
  add_unknown(*all.mutable_ranks(0));
  add_unknown(*all.mutable_ranks(0)->mutable_devices(0)->mutable_comms()->mutable_records());
  all.mutable_ranks(1)->clear_world_size();
  all.mutable_ranks(1)->clear_replay();
  const auto read = decode_partial(partial::stored(all.SerializeAsString()), "x.wspart");
  if (!read) FAIL(read.error().message);
  CHECK(read->ranks[0].devices[0].comms.records.size() == 7);
  CHECK(read->ranks[0].replay);
  CHECK(read->ranks[1].world_size == 0);
  CHECK_FALSE(read->ranks[1].replay);
}

TEST_CASE("partial: the run is the same with and without") {
  const auto run_of = [](std::vector<RankAnalysis> ranks) {
    auto run = combine_ranks(std::move(ranks), {});
    if (!run) FAIL(run.error().message);
    return std::move(*run);
  };
  const RunAnalysis at_once = run_of(made::partial().ranks);
  CHECK(at_once.across.split > 0);
  CHECK(at_once.means.mean[Leaf::comm_dp_wait] > 0);
  const auto read = decode_partial(bytes_of(made::partial()), "x.wspart");
  REQUIRE(read);
  const RunAnalysis merged = run_of(read->ranks);
  CHECK(merged.means.mean.ns == at_once.means.mean.ns);
  CHECK(merged.across.causes.size() == at_once.across.causes.size());
  CHECK(merged.verdict.cause == at_once.verdict.cause);
}

TEST_CASE("partial: files are replaced only where they are partials") {
  const std::string path = "/tmp/wallsight_partial_test." + std::to_string(getpid());
  std::remove(path.c_str());
  CHECK(may_replace_partial(path));
  REQUIRE(write_partial(made::partial(), path));
  CHECK(is_partial(path));
  CHECK(may_replace_partial(path));
  REQUIRE(write_partial(made::partial(), path));
  const auto read = read_partial(path);
  REQUIRE(read);
  CHECK(read->ranks.size() == 2);
  std::ofstream(path) << "a letter";
  CHECK_FALSE(is_partial(path));
  CHECK_FALSE(may_replace_partial(path));
  CHECK(read_partial(path).error().message.find(path + ": expected a partial, found") == 0);
  std::remove(path.c_str());
  CHECK(read_partial(path).error().message ==
        path +
            ": can not read the file (No such file or directory); check the name and the folder");
  CHECK_FALSE(write_partial(made::partial(), "/no/such/folder/x.wspart"));
}

TEST_CASE("partial: what nobody could read is not written") {
  Partial odd = made::partial();
  odd.ranks[0].devices[0].steps[2].window.end_ns += 1;
  const auto bytes = encode_partial(odd, "x.wspart");
  REQUIRE_FALSE(bytes);
  CHECK(bytes.error().message.find("x.wspart: expected ranks that fit") == 0);
}

}  // namespace
}  // namespace ws
