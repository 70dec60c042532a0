// Which repeats of what a job asks NCCL for are steps, and when that is known: layouts of training
// jobs played with their times, and what breaks or hides the pattern.
#include "collector/step_pattern.h"

#include <functional>
#include <optional>
#include <random>
#include <vector>

#include "support/catch.h"

using namespace ws::collector;

namespace {

constexpr int64_t kMs = 1'000'000, kMb = 1 << 20;
constexpr uint64_t kWorld = 10, kTensor = 11, kData = 12, kPipeline = 13;

struct Random {
  std::mt19937 source;
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(source() % n); }
};

class Job {
 public:
  void call(uint64_t name, uint64_t communicator, int64_t bytes, int64_t took_ns) {
    now_ns_ += took_ns;
    take(pattern.add({name, communicator, bytes, false}, now_ns_));
  }
  void reduce(uint64_t communicator, int64_t bytes, int64_t took_ns) {
    call(1, communicator, bytes, took_ns);
  }
  void broadcast(int64_t bytes) { call(2, kWorld, bytes, kMs); }
  void send(int64_t bytes, int64_t took_ns) {
    now_ns_ += took_ns;
    take(pattern.add({3, kPipeline, bytes, true}, now_ns_));
  }
  // Says when step `n` really begins, so that what is told can be compared.
  void begin(int64_t n) { real = n; }

  StepPattern pattern;
  int64_t real = -1;
  int64_t first_told = -1, last_told = -1, wrong = 0, revisions = 0, told_before_revision = 0;

 private:
  void take(const StepPattern::Said& said) {
    if (said.revised) {
      ++revisions;
      told_before_revision = last_told;
      first_told = last_told = -1;
      wrong = 0;
    }
    if (said.begins < 0) return;
    if (first_told < 0) first_told = said.begins;
    if (last_told >= 0 && said.begins != last_told + 1) ++wrong;
    last_told = said.begins;
    if (said.begins != real + 1) ++wrong;  // behind the last operation of step `real`
  }
  int64_t now_ns_ = 0;
};

void ddp_step(Job& job, int64_t n) {
  job.begin(n);
  job.reduce(kData, 25 * kMb, 60 * kMs);
  job.reduce(kData, 24 * kMb, 10 * kMs);
  job.reduce(kData, 24 * kMb, 10 * kMs);
  job.reduce(kData, 7 * kMb, 10 * kMs);
}

// Layers of a tensor-parallel job, then the gradients.
void tensor_step(Job& job, int64_t n, int micro_batches, int layers, int64_t layer_ns) {
  job.begin(n);
  for (int i = 0; i < micro_batches * layers; ++i) {
    job.reduce(kTensor, 64 * kMb, layer_ns);
    job.reduce(kTensor, 64 * kMb, layer_ns);
  }
  job.call(4, kData, 400 * kMb, layer_ns);
  job.call(5, kData, 400 * kMb, 20 * kMs);
}

}  // namespace

TEST_CASE("buckets of DDP behind the broadcasts of the start") {
  Job job;
  for (int i = 0; i < 5; ++i) job.broadcast(3 * kMb + i);
  for (int64_t n = 0; n < 100; ++n) ddp_step(job, n);
  CHECK(job.revisions == 0);
  CHECK(job.wrong == 0);
  // Each step takes 90 ms; it is sure behind two seconds of repeats.
  CHECK(job.first_told >= 22);
  CHECK(job.first_told <= 27);
  CHECK(job.last_told == 100);
  CHECK(job.pattern.operations() == 4);
  CHECK(job.pattern.mean_ns() / kMs == 90);
}

TEST_CASE("a single bucket is a pattern") {
  Job job;
  for (int64_t n = 0; n < 100; ++n) {
    job.begin(n);
    job.reduce(kData, kMb, 100 * kMs);
  }
  CHECK(job.last_told == 100);
  CHECK(job.wrong == 0);
  CHECK(job.pattern.operations() == 1);
}

TEST_CASE("a first step with other buckets is no step of the pattern") {
  Job job;
  job.begin(-1);
  for (int i = 0; i < 3; ++i) job.reduce(kData, 30 * kMb + i, 100 * kMs);
  job.broadcast(5'000);
  for (int64_t n = 0; n < 60; ++n) ddp_step(job, n);
  CHECK(job.wrong == 0);
  CHECK(job.last_told == 60);
}

TEST_CASE("layers of the first step are no steps while they are short") {
  Job job;
  for (int64_t n = 0; n < 20; ++n) tensor_step(job, n, 1, 64, 2 * kMs);
  CHECK(job.revisions == 0);
  CHECK(job.wrong == 0);
  CHECK(job.last_told == 20);
  CHECK(job.pattern.operations() == 130);
}

TEST_CASE("long layers of a first step are taken for steps, and that is taken back") {
  Job job;
  for (int64_t n = 0; n < 12; ++n) {
    tensor_step(job, n, 1, 64, 30 * kMs);
    if (n == 0) CHECK(job.last_told > 20);  // a layer
  }
  CHECK(job.revisions == 1);
  CHECK(job.told_before_revision > 20);
  CHECK(job.wrong == 0);
  CHECK(job.last_told == 12);
  CHECK(job.pattern.operations() == 130);
}

TEST_CASE("tensor parallel layers in micro-batches between sends, then the gradients") {
  Job job;
  Random random{std::mt19937(5)};
  for (int64_t n = 0; n < 12; ++n) {
    job.begin(n);
    for (int m = 0; m < 8; ++m) {
      // Sizes and numbers of sends follow the data.
      for (uint32_t i = random.below(3) + 1; i > 0; --i) job.send(kMb + random.below(1000), kMs);
      for (int layer = 0; layer < 10; ++layer) job.reduce(kTensor, 64 * kMb, 3 * kMs);
      job.send(kMb + random.below(1000), kMs);
      for (int layer = 0; layer < 10; ++layer) job.reduce(kTensor, 64 * kMb, 3 * kMs);
    }
    job.reduce(kData, 300 * kMb, 5 * kMs);
    job.reduce(kWorld, 4, kMs);  // the norm of the gradients
  }
  CHECK(job.wrong == 0);
  CHECK(job.revisions == 0);
  CHECK(job.last_told == 12);
  CHECK(job.pattern.operations() == 8 * 22 + 1);
}

TEST_CASE("shards: gathers forward, gathers and scatters backward, all of one size") {
  Job job;
  for (int64_t n = 0; n < 30; ++n) {
    job.begin(n);
    for (int layer = 0; layer < 32; ++layer) job.call(6, kData, 100 * kMb, 2 * kMs);
    for (int layer = 0; layer < 32; ++layer) {
      job.call(6, kData, 100 * kMb, 2 * kMs);
      job.call(7, kData, 100 * kMb, 2 * kMs);
    }
  }
  CHECK(job.wrong == 0);
  CHECK(job.revisions == 0);
  CHECK(job.last_told == 30);
  CHECK(job.pattern.operations() == 96);
}

TEST_CASE("an evaluation lets the step in which it happens last, and the count goes on") {
  // Every 200 steps; a stretch without one lasts 18 s, so three of them would pass for steps of a
  // longer pattern if they were all alike.
  Job job;
  Random random{std::mt19937(3)};
  for (int64_t n = 0; n < 1'000; ++n) {
    ddp_step(job, n);
    if (n % 200 != 199) continue;
    for (uint32_t i = 20 + random.below(5); i > 0; --i) job.reduce(kWorld, kMb, 20 * kMs);
    job.reduce(kWorld, 8, kMs);
  }
  CHECK(job.wrong == 0);
  CHECK(job.revisions == 0);
  CHECK(job.last_told == 1'000);
  // Metrics are small and do not even interrupt.
  Job metrics;
  for (int64_t n = 0; n < 200; ++n) {
    ddp_step(metrics, n);
    if (n % 10 == 9) metrics.reduce(kWorld, 64, kMs);
  }
  CHECK(metrics.wrong == 0);
  CHECK(metrics.last_told == 200);
  CHECK(metrics.pattern.operations() == 4);
}

TEST_CASE("what has lasted a minute is final, whatever comes at regular times then") {
  Job job;
  for (int64_t n = 0; n < 8'000; ++n) {
    ddp_step(job, n);
    if (n % 1'000 == 999)
      for (int i = 0; i < 30; ++i) job.reduce(kWorld, kMb, 20 * kMs);
  }
  CHECK(job.pattern.is_final());
  CHECK(job.revisions == 0);
  CHECK(job.wrong == 0);
  CHECK(job.last_told == 8'000);
}

TEST_CASE("noise has no pattern, and the search ends") {
  Job job;
  Random random{std::mt19937(1)};
  for (size_t i = 0; i < StepPattern::kMostOperations + 10; ++i)
    job.reduce(kData, 5'000 + random.below(50), kMs);
  CHECK(job.last_told == -1);
  CHECK(job.revisions == 0);
  CHECK(job.pattern.gave_up());
  CHECK(job.pattern.operations() == 0);
  CHECK(job.pattern.seen() == StepPattern::kMostOperations);
}

TEST_CASE("few operations that come in no order, and those that only ever repeat too fast") {
  Job few;
  Random random{std::mt19937(2)};
  for (int i = 0; i < 200'000; ++i) few.reduce(kData, 5'000 + random.below(2), kMs);
  CHECK(few.last_told == -1);
  Job fast;
  for (int i = 0; i < 200'000; ++i) fast.reduce(kTensor, kMb, kMs);
  CHECK(fast.last_told == -1);
  CHECK(fast.pattern.operations() == 1);
}

TEST_CASE("random jobs: whatever is told at the end is the step") {
  Random random{std::mt19937(11)};
  const auto below = [&](uint32_t n) { return random.below(n); };
  for (int round = 0; round < 60; ++round) {
    Job job;
    const uint32_t layers = 1 + below(40), kinds = 1 + below(3), micro = 1 + below(6);
    const uint32_t buckets = 1 + below(5);
    const int64_t layer_ns = (1 + below(20)) * kMs;
    const uint32_t start = below(8);
    for (uint32_t i = 0; i < start; ++i) job.broadcast(kMb + below(1000));
    // Long enough to be sure whatever the layers were taken for.
    for (int64_t n = 0; n < 60; ++n) {
      job.begin(n);
      for (uint32_t i = 0; i < layers * micro; ++i)
        for (uint32_t k = 0; k < kinds; ++k) job.call(20 + k, kTensor, kMb, layer_ns);
      for (uint32_t i = 0; i < buckets; ++i) job.reduce(kData, 9 * kMb + i, 20 * kMs);
    }
    INFO("round " << round);
    CHECK(job.wrong == 0);
    CHECK(job.last_told == 60);
    CHECK(job.pattern.operations() == layers * micro * kinds + buckets);
  }
}
