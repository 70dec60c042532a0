#include "analysis/kernel_period.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

struct Run {
  Maker m;
  TimeNs t = 0;
  void add(std::string_view name, int64_t stream = 7, TimeNs length = 100) {
    m.op(t, t, t + length, name, 1, stream);
    t += length;
  }
};
struct Sealed {
  Trace trace;
  Labels labels;
};
Sealed seal(Run& r) {
  Sealed s;
  s.trace = r.m.b.seal();
  s.labels = label_ops(s.trace, classes());
  return s;
}
const char* const kNorm = "void cuApplyLayerNorm<c10::Half>(T)";
const char* const kLoss = "nll_loss_forward_reduce_cuda_kernel_2d";
const char* const kEmbedding = "indexSelectLargeIndex";

void step_of_layers(Run& r, int layers) {
  r.m.op(r.t, r.t, r.t + 10, "Memcpy", 1, 7, 0, OpKind::h2d);
  r.add(kEmbedding);
  for (int i = 0; i < layers; ++i) {
    r.add(kNorm);
    r.add(kGemm);
    r.add(kAttentionForward);
    r.add(kGemm);
    r.add(kAdd);
  }
  r.add(kLoss);
}

}  // namespace

TEST_CASE("period: the rarest symbol with alike segments") {
  std::vector<uint32_t> names;
  for (int i = 0; i < 5; ++i) {
    for (uint32_t s : {0u, 1u, 0u, 1u, 2u, 2u, 3u}) names.push_back(s);
  }
  CHECK(repeating_symbol(names) == std::vector<uint32_t>{6, 13, 20, 27, 34});
  CHECK(repeating_symbol({}).empty());
  CHECK(repeating_symbol({0, 1, 2, 3, 4, 5}).empty());
  // Neighbours: alike, unlike, alike, unlike: the median of four says no.
  CHECK(repeating_symbol({9, 1, 2, 3, 9, 1, 2, 3, 9, 4, 5, 6, 9, 4, 5, 6, 9, 1, 2, 3, 9}).empty());
  // Symbol 3 cuts it into unlike segments, 0 covers less than half.
  CHECK(repeating_symbol({3, 1, 1, 1, 1, 3, 2, 2, 3, 4, 4, 4, 3, 5, 6, 7, 0, 0, 0}).empty());
}

// Why the pattern of the kernels is not taken for steps; it must not be.
std::string refusal_of(const Sealed& s) {
  std::string out;
  CHECK(kernel_periods(s.trace, s.labels.ops, DeviceId{0}, &out).empty());
  return out;
}

TEST_CASE("period: three steps are found, their boundaries are the anchor's begins") {
  Run r;
  for (int i = 0; i < 4; ++i) step_of_layers(r, 6);
  const Sealed s = seal(r);
  const auto at = kernel_periods(s.trace, s.labels.ops, DeviceId{0});
  REQUIRE(at.size() == 4);
  CHECK(at[1] - at[0] == 3200);
  CHECK(at[0] == 0);
}

TEST_CASE("period: the layers of one step are not steps") {
  Run r;
  step_of_layers(r, 12);
  const Sealed s = seal(r);
  CHECK(kernel_periods(s.trace, s.labels.ops, DeviceId{0}).empty());
}

TEST_CASE("period: kernels around the periods that occur in none give layers away") {
  Run r;
  r.add(kEmbedding);
  for (int layer = 0; layer < 8; ++layer) {  // a copy in each: a router that asks the host
    r.m.op(r.t, r.t, r.t + 10, "Memcpy", 1, 7, 0, OpKind::d2h);
    for (std::string_view n : {std::string_view(kNorm), kGemm, kAttentionForward, kGemm, kAdd})
      r.add(n);
  }
  r.add(kLoss);
  CHECK(refusal_of(seal(r)) ==
        "a pattern of 5 kernels repeats 7 times, but other kernels stand around it, as around the "
        "layers of a step");
}

TEST_CASE("period: without copies, syncs and optimizer it may be a layer") {
  for (bool sync : {false, true}) {
    Run r;
    for (int layer = 0; layer < 6; ++layer) {
      for (std::string_view n : {std::string_view(kNorm), kGemm, kAttentionForward, kGemm, kAdd})
        r.add(n);
      CallRow call;
      call.begin_ns = r.t - 10;
      call.end_ns = r.t - 5;
      call.name = r.m.b.intern("cudaStreamSynchronize");
      call.thread = r.m.thread(1);
      if (sync) r.m.b.add(call, {});
    }
    const Sealed s = seal(r);
    CHECK(kernel_periods(s.trace, s.labels.ops, DeviceId{0}).empty() != sync);
    if (!sync)
      CHECK(refusal_of(s) ==
            "a pattern of 5 kernels repeats 5 times, but nothing in it tells a step from a layer: "
            "no optimizer, no copy from or to the host, no synchronising call");
  }
}

TEST_CASE("period: one kernel over and over is no step, nor are periods of few kernels") {
  Run same;
  for (int i = 0; i < 30; ++i) same.add(kGemm);
  CHECK(refusal_of(seal(same)) ==
        "a pattern of 1 kernel repeats 29 times, but its shortest repeat is too little for a step: "
        "that has 5 "
        "kernels of 3 "
        "names at least");
  Run few;
  for (int i = 0; i < 10; ++i) {
    few.add(kGemm);
    few.add(kAdd);
    few.add(kNorm);
  }
  CHECK(refusal_of(seal(few)).find(
            "a pattern of 3 kernels repeats 9 times, but its shortest repeat is too") == 0);
}

TEST_CASE("period: a period without the optimizer that exists is no step") {
  Run r;
  for (int micro = 0; micro < 4; ++micro) step_of_layers(r, 12);
  r.add(kAdam);
  r.add(kAdam);
  CHECK_FALSE(refusal_of(seal(r)).empty());
}

TEST_CASE("optimizer bursts: three or more, ends of the last kernel") {
  Run r;
  for (int i = 0; i < 4; ++i) {
    step_of_layers(r, 6);
    for (int k = 0; k < 5; ++k) {
      r.add(kAdam);
      r.add(kAdd);
    }
  }
  const Sealed s = seal(r);
  const auto ends = optimizer_bursts(s.trace, s.labels.ops, DeviceId{0});
  REQUIRE(ends.size() == 4);
  CHECK(ends[0] == 3200 + 900);
  CHECK(ends[1] - ends[0] == 4200);
  Run two;
  for (int i = 0; i < 2; ++i) {
    step_of_layers(two, 6);
    two.add(kAdam);
  }
  const Sealed t = seal(two);
  CHECK(optimizer_bursts(t.trace, t.labels.ops, DeviceId{0}).empty());
}

TEST_CASE("collectives repeat: the smallest lag of the whole sequence, not that of a layer") {
  std::vector<uint32_t> symbols;
  for (int step = 0; step < 5; ++step) {
    for (int layer = 0; layer < 12; ++layer) symbols.insert(symbols.end(), {0, 1});
    symbols.push_back(2);
  }
  CHECK(repeating_lag(symbols) == 25);
  CHECK(repeating_lag({0, 0, 0, 0, 0, 0, 0}) == 0);
  CHECK(repeating_lag({0, 1, 2, 3, 4, 5, 6}) == 0);
  CHECK(repeating_lag({}) == 0);
  Run r;
  for (int step = 0; step < 4; ++step) {
    for (int layer = 0; layer < 4; ++layer) {
      r.add(kAllGather, 20);
      r.add(kReduceScatter, 20);
    }
    r.add(kAllReduce, 20, 1000);
  }
  const Sealed s = seal(r);
  CHECK(collective_period(s.trace, s.labels.ops, DeviceId{0}) == 1800);
}

TEST_CASE("period: hostile sequences end quickly") {
  std::vector<uint32_t> many(400'000);
  for (uint32_t i = 0; i < many.size(); ++i) many[i] = (i * 2654435761u) % 65'536;
  CHECK(repeating_symbol(many).size() < many.size());
}
