#pragma once
// Small made traces for the tests of labels and steps: one process, threads and streams by number.
#include <string_view>

#include "analysis/label_ops.h"
#include "model/trace_builder.h"
#include "support/catch.h"

namespace ws::made {

inline const KernelClasses& classes() {
  static const KernelClasses k = [] {
    auto loaded = KernelClasses::load(WS_SOURCE_DIR "/rules/kernel_classes.json");
    if (!loaded) FAIL(loaded.error().message);
    return *loaded;
  }();
  return k;
}

inline constexpr std::string_view kGemm = "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NTN";
inline constexpr std::string_view kGrouped =
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::"
    "GroupProblemShape> >";
inline constexpr std::string_view kAttentionForward = "void pytorch_flash::flash_fwd_kernel<T>(T)";
inline constexpr std::string_view kAttentionBackward =
    "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<T>(T)";
inline constexpr std::string_view kAdd =
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int)";
inline constexpr std::string_view kAdam =
    "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctorMaster>";
inline constexpr std::string_view kAllReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(T)";
inline constexpr std::string_view kReduceScatter =
    "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(T)";
inline constexpr std::string_view kAllGather = "ncclDevKernel_AllGather_RING_LL(T)";
inline constexpr std::string_view kSendRecv = "ncclDevKernel_SendRecv(T)";

struct Maker {
  TraceBuilder b;
  ProcessId process = b.process(1);
  uint32_t correlation = 0;

  ThreadId thread(int64_t tid) { return b.thread(process, tid); }
  // A launch call at `launch` (1 ns long) and its op; returns nothing: rows move when sealed.
  void op(TimeNs launch, TimeNs begin, TimeNs end, std::string_view name, int64_t tid = 1,
          int64_t stream = 7, int32_t device = 0, OpKind kind = OpKind::kernel,
          uint32_t copy = kNoRow, uint32_t collective = kNoRow) {
    CallRow call;
    call.begin_ns = launch;
    call.end_ns = launch + 1;
    call.name = b.intern("cudaLaunchKernel");
    call.thread = thread(tid);
    call.correlation = ++correlation;
    b.add(call, {});
    OpRow row;
    row.begin_ns = begin;
    row.end_ns = end;
    row.name = b.intern(name);
    row.stream = b.stream(process, b.device(device), 1, stream);
    row.kind = kind;
    row.correlation = correlation;
    row.copy = copy;
    row.collective = collective;
    b.add(row, {});
  }
  void bare_op(TimeNs begin, TimeNs end, std::string_view name, int64_t stream = 7,
               int32_t device = 0) {
    OpRow row;
    row.begin_ns = begin;
    row.end_ns = end;
    row.name = b.intern(name);
    row.stream = b.stream(process, b.device(device), 1, stream);
    b.add(row, {});
  }
  void copy(TimeNs at, OpKind kind, int64_t bytes, bool pageable = false, int64_t tid = 1) {
    op(at, at + 10, at + 20, "Memcpy", tid, 7, 0, kind, b.add_copy({bytes, pageable}));
  }
  void range(TimeNs begin, TimeNs end, std::string_view name, int64_t tid = 1,
             RangeSource source = RangeSource::user_annotation, int64_t sequence = -1,
             uint32_t collective = kNoRow) {
    RangeRow row;
    row.begin_ns = begin;
    row.end_ns = end;
    row.name = b.intern(name);
    row.thread = thread(tid);
    row.source = source;
    row.sequence = sequence;
    row.collective = collective;
    b.add(row, {});
  }
  uint32_t collective(std::string_view name, std::string_view group, std::string_view desc,
                      int64_t in, int64_t out, std::string_view dtype = "BFloat16",
                      std::string_view members = "", int64_t size = -1) {
    CollectiveInfo info;
    info.name = b.intern(name);
    info.group_name = b.intern(group);
    info.group_desc = b.intern(desc);
    info.members = b.intern(members);
    info.dtype = b.intern(dtype);
    info.in_elements = in;
    info.out_elements = out;
    info.group_size = size;
    return b.add_collective(info);
  }
};

}  // namespace ws::made
