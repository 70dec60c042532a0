#include "analysis/evidence.h"

#include <map>
#include <string>

#include "analysis/counted_steps.h"
#include "unit/analysis/made_trace.h"

using namespace ws;
using namespace ws::made;

namespace {

struct Steps {
  std::vector<Interval> windows;
  bool complete = true;
};

DeviceAnalysis evidence_in(Maker& m, const std::vector<Interval>& windows) {
  const Trace trace = m.b.seal();
  const Labels labels = label_ops(trace, classes());
  const HostStates host(trace, labels.ops);
  DeviceAnalysis out;
  for (const Interval& window : windows) {
    Step step;
    step.window = window;
    out.steps.push_back(step);
  }
  const Timeline timeline = build_timeline(trace, labels.ops, host, DeviceId{0}, out.constants,
                                           {windows.front().begin_ns, windows.back().end_ns});
  out.breakdowns = partition(timeline, windows);
  gather_evidence(trace, host, DeviceId{0}, timeline, windows, out);
  return out;
}

void call(Maker& m, TimeNs begin, TimeNs end, std::string_view name, uint32_t correlation) {
  CallRow row;
  row.begin_ns = begin;
  row.end_ns = end;
  row.name = m.b.intern(name);
  row.thread = m.thread(1);
  row.correlation = correlation;
  m.b.add(row, {});
}

}  // namespace

TEST_CASE("evidence: launches whose record is missing, and records whose launch is missing") {
  Maker m;
  m.op(100, 200, 300, kGemm);
  call(m, 400, 410, "cudaLaunchKernel", 900);           // nothing recorded
  call(m, 402, 408, "cuLaunchKernel", 900);             // the same launch
  call(m, 412, 414, "cudaLaunchKernel", 904);           // nothing recorded
  call(m, 420, 430, "cudaLaunchHostFunc_v10000", 901);  // launches no kernel
  call(m, 440, 450, "cudaMemcpyAsync", 902);
  m.bare_op(500, 600, kGemm);
  m.op(700, 800, 900, kGemm);
  call(m, 950, 960, "cudaLaunchKernel", 903);  // after the last recorded one: cut off, not lost
  const DeviceAnalysis d = evidence_in(m, {{0, 1'000}});
  CHECK(d.expected_launches == 4);
  CHECK(d.launches_without_op == 1);  // of two: one may have launched the kernel without a launch
  CHECK(d.ops == 3);
  CHECK(d.ops_with_launch == 2);
  CHECK(d.evidence.step_ops == 3);
  CHECK(d.evidence.step_ops_with_launch == 2);
  CHECK_FALSE(d.evidence.cuda_graphs);
}

TEST_CASE("evidence: in the gaps of a file that is cut off may be what stands behind the cut") {
  const auto steps = [](bool cut) {
    Maker m;
    m.op(0, 100, 300, kGemm);
    m.range(310, 50'000, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
    m.op(60'000, 70'000, 71'000, kGemm);
    m.op(70'500, 71'500, 72'000, kGemm);
    call(m, 72'100, 80'000, "cudaDeviceSynchronize", 900);
    if (cut) m.b.trace.notes.add(NoteCode::truncated_file);
    return evidence_in(m, {{0, 71'000}, {71'000, 90'000}}).breakdowns;
  };
  for (const Breakdown& whole : steps(false))
    CHECK(whole[Leaf::gemm] + whole[Leaf::idle_unknown] < whole.total());
  for (const Breakdown& cut : steps(true))
    CHECK(cut[Leaf::gemm] + cut[Leaf::idle_unknown] == cut.total());
}

TEST_CASE("evidence: a record that contains a whole step") {
  Maker m;
  m.op(0, 50, 350, kGemm);
  m.op(360, 370, 380, kGemm);
  CHECK(evidence_in(m, {{0, 100}, {100, 200}, {200, 400}}).evidence.ops_over_steps == 1);
  Maker n;
  n.op(0, 50, 200, kGemm);
  n.op(360, 370, 380, kGemm);
  CHECK(evidence_in(n, {{0, 100}, {100, 200}, {200, 400}}).evidence.ops_over_steps == 0);
}

TEST_CASE("evidence: time inside whole-graph records is opaque") {
  Maker m;
  m.op(0, 100, 300, "", 1, 7, 0, OpKind::graph);
  m.op(400, 500, 600, kGemm);
  const DeviceAnalysis d = evidence_in(m, {{0, 300}, {300, 600}});
  CHECK(d.evidence.opaque_ns == 100);
  CHECK(d.evidence.cuda_graphs);
}

TEST_CASE("evidence: idle beside large pageable copies is staging, beside scalars it is not") {
  const auto staged = [](int64_t bytes, bool pageable) {
    Maker m;
    m.op(0, 100, 1'000, kGemm);
    CallRow row;
    row.begin_ns = 1'000;
    row.end_ns = 60'000;
    row.name = m.b.intern("cudaMemcpyAsync");
    row.thread = m.thread(1);
    row.correlation = 500;
    m.b.add(row, {});
    OpRow op;
    op.begin_ns = 30'000;
    op.end_ns = 50'000;
    op.name = m.b.intern("Memcpy HtoD");
    op.stream = m.b.stream(m.process, m.b.device(0), 1, 7);
    op.kind = OpKind::h2d;
    op.correlation = 500;
    op.copy = m.b.add_copy({bytes, pageable});
    m.b.add(op, {});
    return evidence_in(m, {{0, 50'000}}).evidence.staging_ns;
  };
  CHECK(staged(1 << 20, true) == 29'000);
  CHECK(staged(1 << 20, false) == 0);
  CHECK(staged(8, true) == 0);
}

TEST_CASE("evidence: the profiler's own time, nested rows once") {
  Maker m;
  m.op(0, 100, 1'000, kGemm);
  m.range(200, 600, "Activity Buffer Request", -1, RangeSource::overhead);
  m.range(300, 500, "Activity Buffer Request", -1, RangeSource::overhead);
  m.range(900, 1'200, "Activity Buffer Request", -1, RangeSource::overhead);
  m.op(1'500, 1'600, 2'000, kGemm);
  const DeviceAnalysis d = evidence_in(m, {{0, 1'000}, {1'000, 2'000}});
  CHECK(d.evidence.profiler_ns == std::vector<TimeNs>{500, 200});
}

TEST_CASE("configuration: dispatcher and precision as the kernels show them") {
  Maker m;
  const uint32_t info = m.collective("all_to_all", "1", "EXPERT_MODEL_PARALLEL_GROUP", 100, 100);
  m.op(0, 100, 200, kSendRecv, 1, 20, 0, OpKind::kernel, kNoRow, info);
  m.op(300, 400, 500, "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn");
  m.op(600, 700, 800, "ampere_sgemm_128x64_nn");
  Trace trace = m.b.seal();
  ConfigSeen seen = config_seen(trace, label_ops(trace, classes()), classes());
  CHECK(seen.nccl_all_to_all_on_ep);
  CHECK_FALSE(seen.deepep);
  CHECK(seen.precisions == std::vector<std::string>{"bf16", "fp32"});

  const auto types_of = [&](const char* gemm) {
    Maker g;
    g.op(0, 100, 200, gemm);
    const Trace t = g.b.seal();
    return config_seen(t, label_ops(t, classes()), classes()).precisions;
  };
  // Convolutions of cuDNN: the s is that of sgemm, and a type in the name comes before it.
  for (const char* name :
       {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)",
        "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7>(int)",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
        "volta_scudnn_128x64_relu_interior_nn_v1"}) {
    INFO(name);
    CHECK(types_of(name) == std::vector<std::string>{"fp32"});
  }
  CHECK(types_of("volta_fp16_scudnn_fp16_128x64_relu_interior_nn_v1") ==
        std::vector<std::string>{"fp16"});
  CHECK(types_of("void cudnn::detail::dgrad_engine<__half, 512, 6, 5>(int)").empty());

  const auto seldom_told = [&](TimeNs untold_ns) {
    Maker o;
    o.op(0, 100, 200, "ampere_sgemm_128x64_nn");
    o.op(300, 400, 400 + untold_ns, "_grouped_gemm_kernel");
    o.op(600, 9'000, 9'100, "ampere_sgemm_128x64_nn");
    const Trace t = o.b.seal();
    const ConfigSeen s = config_seen(t, label_ops(t, classes()), classes());
    return std::count(s.settings.begin(), s.settings.end(),
                      std::pair<std::string, std::string>("gemm_types_seldom_told", "1"));
  };
  CHECK(seldom_told(200) == 0);
  CHECK(seldom_told(201) == 1);

  Maker n;
  n.op(0, 100, 200, "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)");
  n.op(300, 400, 500, "void hybrid_ep::dispatch_kernel<4>(int*)");
  trace = n.b.seal();
  seen = config_seen(trace, label_ops(trace, classes()), classes());
  CHECK(seen.deepep);
  CHECK(seen.hybridep);
  CHECK_FALSE(seen.nccl_all_to_all_on_ep);
  CHECK(seen.precisions.empty());
}

TEST_CASE("configuration: what no program of Megatron has, where no name of Megatron stands") {
  const auto sign = [](std::string_view framework, std::initializer_list<const char*> names) {
    Maker m;
    m.op(0, 100, 200, "ampere_s1688gemm_128x64_nn");
    for (const char* name : names) m.range(0, 50, name);
    Trace trace = m.b.seal();
    trace.framework = framework;
    for (const auto& [name, value] :
         config_seen(trace, label_ops(trace, classes()), classes()).settings)
      if (name == "no_megatron") return value;
    return std::string();
  };
  CHECK(sign("pytorch", {"DistributedDataParallel.forward"}) ==
        "DistributedDataParallel of PyTorch");
  CHECK(sign("pytorch", {"FullyShardedDataParallel.forward"}) ==
        "FullyShardedDataParallel of PyTorch");
  CHECK(sign("pytorch", {"torchtitan/train.py(300): train_step"}) == "torchtitan");
  CHECK(sign("pytorch", {"transformers/trainer.py(2500): training_step"}) ==
        "the trainer of transformers");
  CHECK(sign("pytorch", {"torchvision/models/resnet.py(89): forward"}) == "a model of torchvision");
  CHECK(sign("pytorch", {"aten::_embedding_bag"}) == "embedding bags");
  CHECK(sign("pytorch", {"split_embedding_codegen_forward"}) == "embedding tables of FBGEMM");
  // The loss of an image network has a softmax of its own.
  CHECK(sign("pytorch", {"aten::cudnn_batch_norm", "aten::_log_softmax"}) ==
        "batch normalisation and no attention");
  for (const char* layer : {"aten::_softmax", "aten::_scaled_dot_product_flash_attention",
                            "FusedAttnFunc", "ScaledUpperTriangMaskedSoftmax", "MambaMixer"}) {
    INFO(layer);  // an encoder of speech has both
    CHECK(sign("pytorch", {"aten::batch_norm", layer}).empty());
  }
  // What Megatron runs as well proves nothing, nor does anything beside a name of Megatron's.
  CHECK(sign("pytorch", {"aten::mm", "aten::addmm", "nn.Module: DistributedDataParallel_0",
                         "FSDP::all_gather", "Optimizer.step#AdamW.step", "_LayerNormLinear"})
            .empty());
  CHECK(sign("megatron_core", {"DistributedDataParallel.forward"}).empty());
  CHECK(sign("pytorch_kernels", {"DistributedDataParallel.forward"}).empty());
}

TEST_CASE("configuration: what names of ranges and the types of reductions show") {
  const auto seen = [](Maker& m) {
    const Trace trace = m.b.seal();
    const ConfigSeen config = config_seen(trace, label_ops(trace, classes()), classes());
    return std::map<std::string, std::string>(config.settings.begin(), config.settings.end());
  };
  using Told = std::map<std::string, std::string>;
  const auto reduced = [&](std::string_view dtype, std::string_view kernel) {
    Maker m;
    const uint32_t loss = m.collective("allreduce", "1", "DATA_PARALLEL_GROUP", 1, 1, "Float");
    const uint32_t gradients =
        m.collective("allreduce", "1", "DATA_PARALLEL_GROUP", 100'000, 100'000, dtype);
    m.op(0, 100, 200, "ncclDevKernel_Generic", 1, 20, 0, OpKind::kernel, kNoRow, loss);
    m.op(300, 400, 500, kernel, 1, 20, 0, OpKind::kernel, kNoRow, gradients);
    return seen(m);
  };
  CHECK(reduced("BFloat16", "ncclDevKernel_Generic") == Told{{"reduces_in_16_bits", "1"}});
  CHECK(reduced("Float", "ncclDevKernel_Generic") == Told{{"reduces_in_16_bits", "0"}});
  CHECK(reduced("", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL") ==
        Told{{"reduces_in_16_bits", "1"}});
  CHECK(reduced("", "ncclDevKernel_AllReduce_Sum_f32_RING_LL") ==
        Told{{"reduces_in_16_bits", "0"}});
  CHECK(reduced("", "ncclDevKernel_Generic") == Told{});

  Maker m;
  m.op(0, 100, 200, "ampere_s1688gemm_128x64_nn");
  m.range(0, 50, "Optimizer.step#SGD.step");
  m.range(0, 50, "DistributedDataParallel.forward");
  m.range(0, 50, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
  CHECK(seen(m) == Told{{"optimizer_seen", "sgd"},
                        {"ddp_seen", "1"},
                        {"loader_workers_seen", "0"},
                        {"no_experts_seen", "1"}});
  Maker u;
  u.op(0, 100, 200, "ampere_s1688gemm_128x64_nn");
  u.op(300, 400, 500, "kuserbuffers_pushsend(int, int)");
  CHECK(seen(u) == Told{{"user_buffers_seen", "1"}, {"no_experts_seen", "1"}});
  Maker n;
  n.op(0, 100, 200, "ampere_s1688gemm_128x64_nn");
  n.range(0, 50, "Optimizer.step#FusedAdam.step");
  n.range(0, 50, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  CHECK(seen(n) ==
        Told{{"optimizer_seen", "adam"}, {"loader_workers_seen", "1"}, {"no_experts_seen", "1"}});
  // What sorts may route tokens; GEMMs of groups are of experts.
  Maker sorts;
  sorts.op(0, 100, 200, "ampere_s1688gemm_128x64_nn");
  sorts.op(300, 400, 500, "void cub::DeviceRadixSortOnesweepKernel<Policy>(int)");
  CHECK(seen(sorts) == Told{});
  Maker groups;
  groups.op(0, 100, 200,
            "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<"
            "cutlass::gemm::GroupProblemShape<int>>>(Params)");
  CHECK(seen(groups).count("experts_seen") == 1);
}
