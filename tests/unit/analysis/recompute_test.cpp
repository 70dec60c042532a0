#include "analysis/recompute.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {
std::vector<bool> flags(Maker& m) {
  const Trace t = m.b.seal();
  const Labels l = label_ops(t, classes());
  std::vector<bool> out;
  for (uint8_t f : l.ops.flags) out.push_back((f & kFlagRecompute) != 0);
  return out;
}
constexpr auto kCpu = RangeSource::cpu_op;
}  // namespace

TEST_CASE("recompute: the innermost recompute or backward range decides") {
  Maker m;
  m.range(0, 1000, "autograd::engine::evaluate_function: CheckpointFunctionBackward", 2, kCpu);
  m.range(10, 900, "CheckpointFunctionBackward", 2, kCpu);
  m.range(20, 400, "aten::linear", 2, kCpu);  // says nothing
  m.range(500, 800, "MmBackward0", 2, kCpu);
  m.op(30, 2000, 2010, kGemm, 2);       // inside the checkpoint: repeated
  m.op(40, 2010, 2020, kAllReduce, 2);  // collectives too
  m.op(510, 2020, 2030, kGemm, 2);      // its own backward
  m.op(850, 2030, 2040, kGemm, 2);      // after it, still inside the checkpoint
  m.op(35, 2040, 2050, kGemm, 1);       // another thread
  m.op(1500, 2050, 2060, kGemm, 2);     // afterwards
  m.bare_op(2060, 2070, kGemm);         // no launch known
  CHECK(flags(m) == std::vector<bool>{true, true, false, true, false, false, false});
}

TEST_CASE("recompute: where none would be missed") {
  constexpr const char* kForward = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(P)";
  constexpr const char* kBackward = "void flash_bwd_dq_dk_dv_loop_kernel<Traits<128>>(P)";
  const auto would_show = [&](bool range, bool forward, bool outside) {
    Maker m;
    if (range) m.range(1000, 2000, "autograd::engine::evaluate_function: FlashBackward", 2, kCpu);
    if (forward) m.op(10, 3000, 3010, kForward, 1);
    m.op(1010, 3010, 3020, kBackward, 2);
    if (outside) m.op(2500, 3020, 3030, kBackward, 2);
    const Trace t = m.b.seal();
    return label_ops(t, classes()).recompute_would_show;
  };
  CHECK(would_show(true, true, false));
  CHECK_FALSE(would_show(false, true, false));
  CHECK_FALSE(would_show(true, false, false));
  CHECK_FALSE(would_show(true, true, true));
}

TEST_CASE("recompute: checkpoints have ranges where backward ops have them, not by phases alone") {
  constexpr const char* kForward = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(P)";
  constexpr const char* kBackward = "void flash_bwd_dq_dk_dv_loop_kernel<Traits<128>>(P)";
  const auto labels = [&](const char* range, RangeSource source) {
    Maker m;
    m.range(1000, 2000, range, 2, source);
    m.op(10, 3000, 3010, kForward, 1);
    m.op(1010, 3010, 3020, kBackward, 2);
    return label_ops(m.b.seal(), classes());
  };
  const Labels ops = labels("autograd::engine::evaluate_function: FlashBackward", kCpu);
  CHECK(ops.recompute_would_show);
  CHECK(ops.recompute_ranges_would_show);
  const Labels phase = labels("backward compute", RangeSource::nvtx);
  CHECK(phase.recompute_would_show);
  CHECK_FALSE(phase.recompute_ranges_would_show);
}

TEST_CASE("recompute: copies are never flagged") {
  Maker m;
  m.range(0, 1000, "recompute");
  m.copy(10, OpKind::h2d, 4096);
  m.op(20, 100, 110, kGemm);
  CHECK(flags(m) == std::vector<bool>{false, true});
}

TEST_CASE("recompute: a forward op with a sequence number of its own inside the backward engine") {
  Maker m;
  m.range(0, 1000, "autograd::engine::evaluate_function: torch::autograd::CopyBackwards", 2, kCpu,
          7);
  m.range(10, 900, "torch::autograd::CopyBackwards", 2, kCpu, 7);  // the node itself
  m.range(20, 100, "aten::mm", 2, kCpu, 41);                       // grad mode is on: repeated
  m.range(200, 300, "aten::mm", 2, kCpu, -1);
  m.op(30, 2000, 2010, kGemm, 2);
  m.op(210, 2010, 2020, kGemm, 2);
  m.range(3000, 3100, "aten::mm", 1, kCpu, 50);  // plain forward
  m.op(3010, 4000, 4010, kGemm, 1);
  CHECK(flags(m) == std::vector<bool>{true, false, false});
}

namespace {
// A backward node at `at` with an op of the given sequence number and one kernel inside.
void node_with_op(Maker& m, TimeNs at, const std::string& op, int64_t op_sequence) {
  const std::string name = "MulBackward" + std::to_string(at % 7);
  m.range(at, at + 90, "autograd::engine::evaluate_function: " + name, 2, kCpu, at);
  m.range(at + 5, at + 85, name, 2, kCpu, at);
  m.range(at + 10, at + 40, op, 2, kCpu, op_sequence);
  m.op(at + 20, 100'000 + at, 100'000 + at + 10, kGemm, 2);
}
}  // namespace

TEST_CASE("recompute: gradients that are differentiated again repeat nothing") {
  Maker all;  // create_graph: every node records what it does
  for (TimeNs at : {1000, 1100, 1200}) node_with_op(all, at, "aten::mm", 40 + at);
  // Making a tensor is no sign: it is recorded nowhere.
  all.range(1250, 1255, "aten::empty_like", 2, kCpu, -1);
  CHECK(flags(all) == std::vector<bool>{false, false, false});

  Maker unpacked;  // between plain nodes one that unpacks, and then does its own work
  node_with_op(unpacked, 1000, "aten::mm", -1);
  node_with_op(unpacked, 1100, "aten::conv2d", 40);
  unpacked.range(1150, 1160, "aten::threshold_backward", 2, kCpu, -1);
  node_with_op(unpacked, 1200, "aten::mm", -1);
  CHECK(flags(unpacked) == std::vector<bool>{false, true, false});

  Maker every;  // each node unpacks a checkpoint of its own
  for (TimeNs at : {1000, 1100}) {
    node_with_op(every, at, "aten::gelu", 40 + at);
    every.range(at + 50, at + 60, "aten::gelu_backward", 2, kCpu, -1);
  }
  CHECK(flags(every) == std::vector<bool>{true, true});

  Maker named;  // what a range names counts, whatever lies around
  for (TimeNs at : {1000, 1100}) {
    node_with_op(named, at, "aten::mm", 40 + at);
    named.range(at + 12, at + 38, "torch/utils/checkpoint.py(1500): recompute_fn", 2,
                RangeSource::python);
  }
  CHECK(flags(named) == std::vector<bool>{true, true});
}

TEST_CASE("recompute: what no range names is counted as inferred") {
  const auto inferred = [](Maker& m) {
    return label_ops(m.b.seal(), classes()).notes.count(NoteCode::recompute_inferred);
  };
  Maker by_name, by_op, by_kernel;
  by_name.range(0, 100, "recompute");
  by_name.op(10, 200, 210, kGemm);
  CHECK(inferred(by_name) == 0);
  node_with_op(by_op, 1000, "aten::mm", 40);
  CHECK(inferred(by_op) == 1);
  by_kernel.range(0, 1000, "backward");
  by_kernel.op(30, 2000, 2010, kAttentionForward, 2);
  by_kernel.op(40, 2010, 2020, kAttentionForward, 2);
  CHECK(inferred(by_kernel) == 2);
}

TEST_CASE("recompute: the node of the backward engine is no forward op, whatever its name") {
  Maker m;
  m.range(0, 1000, "autograd::engine::evaluate_function: torch::autograd::CopyBackwards", 2, kCpu,
          7);
  m.range(10, 900, "my_node", 2, kCpu, 7);  // same number: the node itself
  m.op(30, 2000, 2010, kGemm, 2);
  CHECK(flags(m) == std::vector<bool>{false});
}

TEST_CASE("recompute: sequence numbers in the names of emit_nvtx") {
  Maker m;
  m.range(0, 1000, "autograd::engine::evaluate_function: torch::autograd::CopyBackwards", 2,
          RangeSource::nvtx);
  m.range(10, 900, "torch::autograd::CopyBackwards, seq = 5, op_id = 9", 2, RangeSource::nvtx);
  m.range(20, 100, "aten::mm, seq = 41, op_id = 11", 2, RangeSource::nvtx);
  m.range(200, 300, "aten::mm, op_id = 12", 2, RangeSource::nvtx);
  m.op(30, 2000, 2010, kGemm, 2);
  m.op(210, 2010, 2020, kGemm, 2);
  CHECK(flags(m) == std::vector<bool>{true, false});
}

TEST_CASE("recompute: a forward-only kernel launched in a backward phase") {
  Maker m;
  m.range(0, 1000, "backward");  // main thread
  m.op(30, 2000, 2010, kAttentionForward, 2);
  m.op(40, 2010, 2020, kAttentionBackward, 2);
  m.op(50, 2020, 2030, kGemm, 2);
  m.op(1500, 2030, 2040, kAttentionForward, 1);
  CHECK(flags(m) == std::vector<bool>{true, false, false, false});
}

TEST_CASE("recompute: crossing and deep ranges stay linear") {
  Maker m;
  constexpr int kDepth = 100'000;
  for (int i = 0; i < kDepth; ++i) m.range(i, 3 * kDepth - i, "recompute");
  m.range(10, 12, "x.backward");  // crosses nothing, ends early
  for (int i = 0; i < 1000; ++i)
    m.op(kDepth + i, kDepth * 4 + 2 * i, kDepth * 4 + 2 * i + 1, kGemm);
  const auto f = flags(m);
  CHECK(std::count(f.begin(), f.end(), true) == 1000);
  Maker c;
  c.range(0, 100, "recompute");
  c.range(50, 150, "MmBackward0");  // crosses: the one that began last counts while it is open
  c.op(40, 200, 210, kGemm);
  c.op(60, 210, 220, kGemm);
  c.op(120, 220, 230, kGemm);
  c.op(160, 230, 240, kGemm);
  CHECK(flags(c) == std::vector<bool>{true, false, false, false});
}

TEST_CASE("recompute estimate: forward launches beyond one per backward launch") {
  Maker m;
  for (int i = 0; i < 4; ++i) m.bare_op(TimeNs{i} * 100, i * 100 + 50, kAttentionForward);
  for (int i = 4; i < 6; ++i) m.bare_op(TimeNs{i} * 100, i * 100 + 80, kAttentionBackward);
  m.bare_op(600, 1000, kGemm);
  const Trace t = m.b.seal();
  CHECK(recompute_estimate(t, classes(), DeviceId{0}, {0, 1000}) == Approx(0.1));  // 2 x 50
  CHECK(recompute_estimate(t, classes(), DeviceId{0}, {200, 1000}) == Approx(0.0));
  Maker forward;
  for (int i = 0; i < 4; ++i) forward.bare_op(TimeNs{i} * 100, i * 100 + 50, kAttentionForward);
  const Trace f = forward.b.seal();
  CHECK(recompute_estimate(f, classes(), DeviceId{0}, {0, 400}) == 0.0);  // inference
}
