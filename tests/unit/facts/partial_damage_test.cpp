// Damaged and hostile partials: a refusal of one line, or a run that nothing stumbles over.
#include <cmath>
#include <functional>
#include <utility>

#include "analysis/run_builder.h"
#include "facts/partial.h"
#include "facts/partial_file.h"
#include "support/catch.h"
#include "unit/facts/made_partial.h"

namespace ws {
namespace {

std::string made_file() {
  auto bytes = encode_partial(made::partial(), "x.wspart");
  if (!bytes) FAIL(bytes.error().message);
  return *bytes;
}

// The refusal, "" for none.
std::string refusal(std::string_view file) {
  const auto read = decode_partial(file, "x.wspart");
  if (read) return {};
  CHECK(read.error().message.find("x.wspart: expected ") == 0);
  CHECK(read.error().message.find('\n') == std::string::npos);
  return read.error().message;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("partial damage: a file that is cut off anywhere is refused") {
  const std::string file = made_file();
  REQUIRE(refusal(file).empty());
  for (size_t n = 0; n < file.size(); ++n) {
    const std::string why = refusal(file.substr(0, n));
    if (why.empty()) FAIL("cut at " << n);
    if (n >= partial::kHeaderBytes) CHECK(contains(why, " bytes of "));
  }
  CHECK_FALSE(refusal(file + "x").empty());
}

TEST_CASE("partial damage: every flipped byte is noticed") {
  const std::string file = made_file();
  for (size_t n = 0; n < file.size(); ++n) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::string odd = file;
      odd[n] = static_cast<char>(odd[n] ^ flip);
      if (refusal(odd).empty()) FAIL("byte " << n << " ^ " << flip);
    }
  }
}

TEST_CASE("partial damage: behind right checksums every byte may be anything") {
  const auto message = partial::unframed(made_file(), "x.wspart");
  REQUIRE(message);
  int refused = 0, taken = 0;
  const auto try_one = [&](const std::string& odd) {
    auto read = decode_partial(partial::stored(odd), "x.wspart");
    if (!read) {
      ++refused;
      return;
    }
    ++taken;
    RunOptions options;
    options.price.wanted = taken % 8 == 0;
    const auto run = combine_ranks(std::move(read->ranks), options);
    if (run) CHECK(run->ranks.size() <= 2);
  };
  for (size_t n = 0; n < message->size(); ++n) {
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string odd = *message;
      odd[n] = static_cast<char>(odd[n] ^ flip);
      try_one(odd);
    }
    try_one(message->substr(0, n));
  }
  CHECK(refused > 1000);
  CHECK(taken > 1000);
}

TEST_CASE("partial damage: a header that promises too much is refused before memory is taken") {
  std::string body(1000, '\0');
  std::string file = partial::stored(body);
  CHECK_FALSE(refusal(file).empty());
  CHECK(contains(refusal("WSP\xA7"), "the first bytes of one"));
  CHECK(contains(refusal("SQLite format 3"), "another file"));
  // Constant bytes compress further than a reader takes: they are stored as they are.
  const std::string big(1 << 20, 'x');
  const std::string framed = partial::framed(big);
  CHECK(framed.size() == big.size() + partial::kHeaderBytes);
  const auto back = partial::unframed(framed, "x.wspart");
  REQUIRE(back);
  CHECK(*back == big);
}

TEST_CASE("partial damage: many empty parts are no way to much memory") {
  std::string ranks;
  for (int i = 0; i < 100'000; ++i) ranks += std::string("\x2a\x00", 2);  // field 5, empty
  CHECK(contains(refusal(partial::stored(ranks)), "more rows than its size allows"));
}

TEST_CASE("partial damage: versions and names are those of this program") {
  std::string file = made_file();
  file[4] = 2;
  CHECK(contains(refusal(file), "damaged bytes"));  // the checksum of the header is the old one
  // "0.1.0" and a list of leaves with one spelled otherwise.
  auto message = partial::unframed(made_file(), "x.wspart");
  REQUIRE(message);
  const size_t at = message->find("idle.gc");
  REQUIRE(at != std::string::npos);
  (*message)[at] = 'I';
  CHECK(contains(refusal(partial::stored(*message)), "found one of wallsight "));
}

TEST_CASE("partial damage: no replay asks for hours") {
  Partial odd = made::partial();
  ReplayRank& replay = *odd.ranks[0].replay;
  replay.ops.resize(60'000, replay.ops.back());
  for (int i = 0; i < 20'000; ++i) {
    const TimeNs end = replay.host_steps.back().end_ns;
    replay.host_steps.push_back({end, end});
    replay.step_index.push_back(replay.step_index.back() + 1);
    replay.cuts[0].at_ns.push_back(end);
  }
  const auto bytes = encode_partial(std::move(odd), "x.wspart");
  REQUIRE_FALSE(bytes);
  CHECK(contains(bytes.error().message, "more steps than can be simulated again"));
}

// What is wrong with a rank that was changed after the writer's own check: both use the same one.
std::string wrong_after(const std::function<void(RankAnalysis&)>& change) {
  Partial odd = made::partial();
  change(odd.ranks[1]);
  const auto bytes = encode_partial(std::move(odd), "x.wspart");
  return bytes ? "" : bytes.error().message;
}

TEST_CASE("partial damage: every row that is named has to be there") {
  struct Row {
    const char* why;
    std::function<void(RankAnalysis&)> change;
  };
  const auto device = [](RankAnalysis& r) -> DeviceAnalysis& { return r.devices[0]; };
  const auto comms = [](RankAnalysis& r) -> DeviceComms& { return r.devices[0].comms; };
  const std::vector<Row> kRows = {
      {"a rank that is out of range", [](auto& r) { r.rank = -1; }},
      {"a clock that is out of range", [](auto& r) { r.clock_base_ns = INT64_MIN; }},
      {"a clock without a resolution", [](auto& r) { r.tick_ns = 0; }},
      {"an amount that is out of range", [](auto& r) { r.recorder.window_ns = -2; }},
      {"an amount that is out of range", [](auto& r) { r.recorder.tool_ns = INT64_MAX; }},
      {"an amount that is out of range",
       [](auto& r) {
         r.capture = {10, 0};
       }},
      {"a time far from its recording", [&](auto& r) { comms(r).records[0].order_ns = INT64_MIN; }},
      {"an amount that is out of range", [&](auto& r) { device(r).kernels[0].total_ns = -1; }},
      {"an amount that is out of range", [&](auto& r) { device(r).counts.kernels = NAN; }},
      {"an amount that is out of range",
       [&](auto& r) { device(r).memory.copies.back().large_busy_ns = -1; }},
      {"an idle cause that is none", [&](auto& r) { device(r).idle[0].leaf = Leaf::gemm; }},
      {"a device without steps", [&](auto& r) { device(r).steps.clear(); }},
      {"lists of different lengths", [&](auto& r) { device(r).breakdowns.pop_back(); }},
      {"lists of different lengths", [&](auto& r) { device(r).evidence.pause_ns.clear(); }},
      {"steps out of order",
       [&](auto& r) { std::swap(device(r).steps[1].window, device(r).steps[2].window); }},
      {"a step that is not the sum of its parts",
       [&](auto& r) { device(r).breakdowns[1][Leaf::gemm] += 1; }},
      {"lists of different lengths", [&](auto& r) { comms(r).before.pop_back(); }},
      {"operations out of order",
       [&](auto& r) { std::swap(comms(r).records[1], comms(r).records[2]); }},
      {"an operation of a communicator that is not there",
       [&](auto& r) { comms(r).records[0].communicator = 1; }},
      {"an operation of a collective that is not there", [&](auto& r) { comms(r).row[3] = 1; }},
      {"an operation of a step that is not there", [&](auto& r) { comms(r).step[3] = 7; }},
      {"exposed time of an operation that is not there",
       [&](auto& r) { comms(r).exposed[3].record = 7; }},
      {"exposed time of a step that is not there", [&](auto& r) { comms(r).exposed[3].step = 7; }},
      {"exposed time out of order",
       [&](auto& r) { comms(r).exposed[3].span.begin_ns -= 1'000'000; }},
      {"more exposed time than its step has",
       [&](auto& r) {
         for (auto& record : comms(r).records) record.kind = CommKind::tp;
       }},
      {"more exposed time than its collective has",
       [&](auto& r) { device(r).collectives[0].unsplit_ns = 1; }},
      {"lists of different lengths", [&](auto& r) { comms(r).stage_steps.pop_back(); }},
      {"idle time of a step that is not there", [&](auto& r) { comms(r).edge_idle[0].step = 7; }},
      {"a call of a thread that is not there", [](auto& r) { r.replay->calls[0].thread = 2; }},
      {"a name that is not there", [](auto& r) { r.replay->ops[0].name = 3; }},
      {"a stream that is not there", [](auto& r) { r.replay->ops[0].stream = 2; }},
      {"a call that is not there", [](auto& r) { r.replay->ops[0].call = 4; }},
      {"an operation that is not there", [](auto& r) { r.replay->ops[1].comm_record = 7; }},
      {"a device record that is not there", [](auto& r) { r.replay->waits[0].second = 4; }},
      {"steps out of order", [](auto& r) { r.replay->step_index[1] = 3; }},
      {"lists of different lengths", [](auto& r) { r.replay->cuts[0].at_ns.pop_back(); }},
      {"steps of a device that is not there",
       [](auto& r) { r.replay->cuts.push_back(r.replay->cuts[0]); }},
      {"a range of a thread that is not there", [](auto& r) { r.replay->ranges[0].thread = 2; }},
      {"a number that is out of range", [](auto& r) { r.replay->streams[0].device = 1u << 20; }},
  };
  CHECK(wrong_after([](RankAnalysis&) {}).empty());
  for (const Row& row : kRows) {
    INFO(row.why);
    CHECK(contains(wrong_after(row.change), row.why));
  }
}

}  // namespace
}  // namespace ws
