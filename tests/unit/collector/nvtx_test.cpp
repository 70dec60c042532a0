// NVTX through the client's tables: what is pushed comes out as rows, exactly; outside a window the
// tables are empty; threads, domains, payloads, full rings and windows that come and go.
#include <cstring>
#include <thread>

#include "collector/nvtx_handlers.h"
#include "collector/nvtx_source.h"
#include "recording.pb.h"
#include "support/catch.h"
#include "support/nvtx_client.h"
#include "support/scratch_folder.h"
#include "unit/collector/frames.h"

using namespace ws::collector;
using ws::test::NvtxClient;
namespace pb = wallsight::recording;

namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): C functions know no object
NvtxSource* g_under_test = nullptr;
int init(nvtx::GetExportTable get) { return g_under_test->add_client(get); }
int init_extension(nvtx::ExtensionModule* m) { return g_under_test->add_extension(m); }

struct Range {
  std::string name, domain;
  int64_t begin_ns, end_ns;
  uint64_t tid;
  uint32_t kind;
  bool has_collective;
  pb::Collective collective;
};

// A source with one client and a recording to look at.
class Fixture {
 public:
  Fixture() {
    g_under_test = &source;
    set_nvtx_source(&source);
    REQUIRE(out.open(folder_.path() + "/a.wst", UINT64_MAX, {}) == 0);
  }
  ~Fixture() { set_nvtx_source(nullptr); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  void attach() { REQUIRE(client.attach(init, init_extension)); }

  std::vector<Range> ranges() {
    source.take_ranges(out);
    out.finish({});
    std::vector<Range> all;
    for (const pb::Chunk& c : ws::test::chunks_of(folder_.path() + "/a.wst")) {
      for (const pb::Loss& l : c.losses()) lost += l.count();
      int64_t t = c.base_ns();
      const pb::Ranges& r = c.ranges();
      const auto at = [](const auto& column, int i) { return column.empty() ? 0 : column.Get(i); };
      for (int i = 0; i < r.begin_delta_size(); ++i) {
        t += r.begin_delta(i);
        Range one{std::string(names.text_of(at(r.name(), i))),
                  std::string(names.text_of(at(r.domain(), i))),
                  t,
                  t + at(r.duration(), i),
                  at(r.tid(), i),
                  at(r.kind(), i),
                  at(r.payload(), i) != 0,
                  {}};
        if (one.has_collective)
          one.collective = r.collectives(static_cast<int>(at(r.payload(), i)) - 1);
        all.push_back(one);
      }
    }
    return all;
  }

  Names names;
  int wakes = 0;
  NvtxSource source{names, [this] { ++wakes; }};
  Recording out{names};
  NvtxClient client;
  uint64_t lost = 0;

 private:
  ws::test::ScratchFolder folder_;
};

}  // namespace

TEST_CASE("outside a window the hot slots are empty") {
  Fixture f;
  f.attach();
  CHECK_FALSE(f.client.hot());
  f.client.push("before");  // costs nothing and says nothing
  f.source.start();
  CHECK(f.client.hot());
  f.client.pop();  // began before the window
  f.client.push("inside");
  f.client.pop();
  f.client.push("open at the end");
  CHECK(f.source.open_ranges() == 1);
  f.source.stop();
  CHECK_FALSE(f.client.hot());
  f.client.pop();
  f.source.start();
  CHECK(f.client.pop() == -1);  // of the earlier window
  f.source.stop();
  const auto all = f.ranges();
  REQUIRE(all.size() == 1);
  CHECK(all[0].name == "inside");
  CHECK(all[0].end_ns >= all[0].begin_ns);
}

TEST_CASE("nesting, domains, registered strings, marks and wide text") {
  Fixture f;
  f.attach();
  const auto domain = f.client.domain("NCCL");
  const auto registered = f.client.string(domain, "ncclAllReduce");
  f.source.start();
  CHECK(f.client.push("outer") == 0);
  auto a = NvtxClient::text(nullptr);
  a.message_type = nvtx::kRegistered;
  a.message.registered = registered;
  f.client.push(domain, a);
  CHECK(f.client.push("inner") == 2);
  CHECK(f.client.pop(domain) >= 0);  // ends the range of its domain, not the innermost
  CHECK(f.client.pop() == 1);
  f.client.core<int>(nvtx::kRangePushW, L"caf\u00e9 \U0001d11e");
  f.client.pop();
  f.client.core<void>(nvtx::kMarkA, "mark");
  CHECK(f.client.pop() == 0);
  CHECK(f.client.pop() == -1);
  auto broken = NvtxClient::text("of another version");
  broken.size = 8;
  f.client.push(domain, broken);
  f.client.pop(domain);
  const auto all = f.ranges();
  REQUIRE(all.size() == 6);
  CHECK(all[0].name == "ncclAllReduce");
  CHECK(all[0].domain == "NCCL");
  CHECK(all[1].name == "inner");
  CHECK(all[2].name == "caf\u00e9 \U0001d11e");
  CHECK(all[3].kind == pb::MARK);
  CHECK(all[3].begin_ns == all[3].end_ns);
  CHECK(all[4].name == "outer");
  CHECK(all[4].begin_ns <= all[0].begin_ns);
  CHECK(all[4].end_ns >= all[1].end_ns);
  CHECK(all[5].name.empty());
}

TEST_CASE("start and end, on one thread and across threads") {
  Fixture f;
  f.attach();
  f.source.start();
  const auto here = f.client.core<nvtx::RangeId>(nvtx::kRangeStartA, "here");
  const auto across = f.client.core<nvtx::RangeId>(nvtx::kRangeStartA, "across");
  CHECK(here != across);
  std::thread([&] { f.client.core<void>(nvtx::kRangeEnd, across); }).join();
  f.client.core<void>(nvtx::kRangeEnd, here);
  f.client.core<void>(nvtx::kRangeEnd, here);  // twice
  f.client.core<void>(nvtx::kRangeEnd, nvtx::RangeId{123456});
  const auto all = f.ranges();
  REQUIRE(all.size() == 2);
  const Range& one = all[0].name == "here" ? all[0] : all[1];
  const Range& other = all[0].name == "here" ? all[1] : all[0];
  CHECK(one.kind == pb::START_END);
  CHECK(one.tid != 0);
  CHECK(other.tid == 0);
}

TEST_CASE("payloads become collectives") {
  Fixture f;
  f.attach();
  const auto domain = f.client.domain("NCCL");
  nvtx::SchemaEntry entries[3] = {};
  entries[0] = {0, nvtx::kUint64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr};
  entries[1] = {0, nvtx::kSize, "Message size [bytes]", nullptr, 0, 8, nullptr, nullptr};
  entries[2] = {0, nvtx::kInt, "Root", nullptr, 0, 0, nullptr, nullptr};  // offset by its size
  nvtx::SchemaAttributes schema{};
  schema.entries = entries;
  schema.entry_count = 3;
  const auto id = f.client.payload<uint64_t>(nvtx::kSchemaRegister, domain,
                                             static_cast<const nvtx::SchemaAttributes*>(&schema));
  CHECK(id >= nvtx::kFirstDynamicSchema);
  f.source.start();
  struct {
    uint64_t communicator = UINT64_MAX;
    size_t bytes = 4096;
    int root = -7;
  } values;
  nvtx::PayloadData data{id, sizeof values, &values};
  auto a = NvtxClient::text("ncclBroadcast");
  a.payload_type = nvtx::kPayloadExtended;
  a.payload_count = 1;
  a.payload = reinterpret_cast<uint64_t>(&data);
  f.client.push(domain, a);
  f.client.pop(domain);
  data.schema = 99;  // never registered
  f.client.push(domain, a);
  f.client.pop(domain);
  data = {id, SIZE_MAX, &values};  // size not known
  f.client.push(domain, a);
  f.client.pop(domain);
  const auto all = f.ranges();
  REQUIRE(all.size() == 3);
  REQUIRE(all[0].has_collective);
  CHECK(all[0].collective.communicator() == UINT64_MAX);
  CHECK(all[0].collective.bytes() == 4096);
  CHECK(all[0].collective.root() == -7);
  CHECK(all[0].collective.peer() == -1);
  CHECK_FALSE(all[1].has_collective);
  CHECK_FALSE(all[2].has_collective);
}

TEST_CASE("deeper than the stack and more than the ring are counted, and nothing is mispaired") {
  Fixture f;
  f.attach();
  f.source.start();
  for (int i = 0; i < 100; ++i) f.client.push("deep");
  for (int i = 0; i < 100; ++i) f.client.pop();
  f.client.push("after");
  f.client.pop();
  f.source.take_ranges(f.out);
  for (uint32_t i = 0; i < RangeRing::kEvents + 10; ++i) {
    f.client.push("many");
    f.client.pop();
  }
  CHECK(f.wakes > 0);
  const auto all = f.ranges();
  CHECK(all.size() == 64 + 1 + RangeRing::kEvents);
  CHECK(all[64].name == "after");
  CHECK(f.lost == 36 + 10);
}

TEST_CASE("more threads than rings, and rings of ended threads serve again") {
  Fixture f;
  f.attach();
  f.source.start();
  for (int i = 0; i < 200; ++i) {  // one after the other
    std::thread([&] {
      f.client.push("short");
      f.client.pop();
    }).join();
    f.source.take_ranges(f.out);
  }
  const auto all = f.ranges();
  CHECK(all.size() == 200);
  CHECK(f.lost == 0);
}

TEST_CASE("a watched range is announced outside a window, with and without a number") {
  Fixture f;
  std::vector<uint64_t> seen;
  f.source.watch("iteration", [&](uint64_t nth, int64_t) { seen.push_back(nth); });
  f.attach();
  for (const char* name : {"iteration", "iteration 7", "iteration#8", "iteration_9", "iterations",
                           "iteration x", "iteration 7b", "other"}) {
    f.client.push(name);
    f.client.pop();
  }
  auto a = NvtxClient::text(nullptr);
  a.message_type = nvtx::kRegistered;
  a.message.registered = f.client.string(nullptr, "iteration 10");
  f.client.core<int>(nvtx::kRangePushEx, static_cast<const nvtx::EventAttributes*>(&a));
  CHECK(seen == std::vector<uint64_t>{0, 1, 2, 3, 4});
  CHECK(f.client.hot());
  f.source.unwatch();
  f.source.stop();
  CHECK_FALSE(f.client.hot());
  CHECK(f.ranges().empty());
}

TEST_CASE("what NCCL is asked for is announced outside a window, the rest of its ranges is not") {
  Fixture f;
  std::vector<NcclCall> seen;
  f.source.watch_calls([&](const NcclCall& call, int64_t) { seen.push_back(call); });
  f.attach();
  CHECK(f.client.hot());
  const auto nccl = f.client.domain("NCCL"), other = f.client.domain("other");
  nvtx::SchemaEntry entries[3] = {};
  entries[0] = {0, nvtx::kUint64, "NCCL communicator ID", nullptr, 0, 0, nullptr, nullptr};
  entries[1] = {0, nvtx::kSize, "Message size [bytes]", nullptr, 0, 8, nullptr, nullptr};
  entries[2] = {0, nvtx::kInt, "Peer rank", nullptr, 0, 16, nullptr, nullptr};
  const auto schema = [&](size_t count) {
    nvtx::SchemaAttributes s{};
    s.entries = entries;
    s.entry_count = count;
    return f.client.payload<uint64_t>(nvtx::kSchemaRegister, nccl,
                                      static_cast<const nvtx::SchemaAttributes*>(&s));
  };
  const uint64_t of_communicator = schema(1), of_collective = schema(2), of_peer = schema(3);
  struct {
    uint64_t communicator = 77;
    size_t bytes = 4096;
    int peer = 3, unused = 0;
  } values;
  const auto push = [&](nvtx::Domain domain, const char* name, uint64_t id, size_t size) {
    nvtx::PayloadData data{id, size, &values};
    auto a = NvtxClient::text(name);
    a.payload_type = nvtx::kPayloadExtended;
    a.payload_count = 1;
    a.payload = reinterpret_cast<uint64_t>(&data);
    f.client.push(domain, a);
    f.client.pop(domain);
  };
  push(nccl, "ncclCommInitRank", of_communicator, 8);
  push(nccl, "ncclAllReduce", of_collective, 16);
  push(other, "ncclAllReduce", of_collective, 16);
  f.client.push(nccl, NvtxClient::text("ncclGroupStart"));
  f.client.pop(nccl);
  push(nccl, "ncclSend", of_peer, sizeof values);
  NcclOperation told_twice;
  told_twice.bytes = 4096;
  NvtxSource::announce_call(told_twice);
  REQUIRE(seen.size() == 2);
  CHECK((seen[0].communicator == 77 && seen[0].bytes == 4096 && !seen[0].is_peer));
  CHECK(seen[1].is_peer);
  CHECK(seen[0].name != seen[1].name);
  f.source.unwatch_calls();
  f.source.stop();
  CHECK_FALSE(f.client.hot());
  CHECK(f.ranges().empty());
}

TEST_CASE("where its NVTX is silent NCCL's profiler interface tells what it is asked for") {
  Fixture f;
  std::vector<NcclCall> seen;
  f.source.watch_calls([&](const NcclCall& call, int64_t) { seen.push_back(call); });
  NcclOperation o;
  std::strcpy(o.function, "Send");
  o.is_collective = false;
  o.communicator = 5;
  o.bytes = 8192;
  NvtxSource::announce_call(o);
  o.bytes = -1;  // of a type that is not known
  NvtxSource::announce_call(o);
  REQUIRE(seen.size() == 1);
  CHECK((seen[0].is_peer && seen[0].communicator == 5 && seen[0].bytes == 8192));
  f.source.become_inert();
  o.bytes = 8192;
  NvtxSource::announce_call(o);
  CHECK(seen.size() == 1);
}

TEST_CASE("windows come and go under the load of many threads") {
  Fixture f;
  f.attach();
  std::atomic<bool> stop{false};
  constexpr int kThreads = 4;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto domain = f.client.domain("d");
      while (!stop) {
        f.client.push("a");
        f.client.push(domain, NvtxClient::text("b"));
        f.client.pop(domain);
        f.client.pop();
      }
    });
  }
  for (int i = 0; i < 2'000; ++i) {
    f.source.start();
    if (i % 16 == 0) f.source.take_ranges(f.out);
    f.source.stop();
  }
  stop = true;
  for (std::thread& t : threads) t.join();
  for (const Range& r : f.ranges()) {
    if (r.end_ns < r.begin_ns || (r.name != "a" && r.name != "b")) FAIL("a mispaired range");
    if ((r.name == "b") != (r.domain == "d")) FAIL("a range of the wrong domain");
  }
}
