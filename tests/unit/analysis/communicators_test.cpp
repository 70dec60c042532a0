#include "analysis/communicators.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

TEST_CASE("collective names of torch and NCCL") {
  struct Row {
    const char* name;
    CollectiveOp op;
  };
  const Row rows[] = {{"allreduce", CollectiveOp::all_reduce},
                      {"ncclAllReduce", CollectiveOp::all_reduce},
                      {"allreduce_coalesced", CollectiveOp::all_reduce},
                      {"_allgather_base", CollectiveOp::all_gather},
                      {"all_gather_into_tensor_coalesced", CollectiveOp::all_gather},
                      {"_reduce_scatter_base", CollectiveOp::reduce_scatter},
                      {"all_to_allv", CollectiveOp::all_to_all},
                      {"nccl:all_to_all", CollectiveOp::all_to_all},
                      {"ncclBcast", CollectiveOp::broadcast},
                      {"ncclReduce", CollectiveOp::reduce},
                      {"gather", CollectiveOp::gather},
                      {"scatter", CollectiveOp::scatter},
                      {"send", CollectiveOp::send},
                      {"ncclRecv", CollectiveOp::recv},
                      {"coalesced", CollectiveOp::send_recv},
                      {"barrier", CollectiveOp::barrier},
                      {"wait", CollectiveOp::unknown},
                      {"", CollectiveOp::unknown}};
  for (const Row& r : rows) {
    INFO(r.name);
    CHECK(name_of(collective_op(r.name)) == name_of(r.op));
  }
  CHECK(bytes_of_dtype("BFloat16") == 2);
  CHECK(bytes_of_dtype("Float") == 4);
  CHECK(bytes_of_dtype("ncclFloat64") == 8);
  CHECK(bytes_of_dtype("Float8_e4m3fn") == 1);
  CHECK(bytes_of_dtype("Long") == 8);
  CHECK(bytes_of_dtype("Byte") == 1);
  CHECK(bytes_of_dtype("") == 4);
}

TEST_CASE("communicators: the op's own record") {
  Maker m;
  m.b.trace.groups.push_back({"3", "EXPERT_MODEL_PARALLEL_GROUP", {0, 2}});
  const auto a = m.collective("all_to_allv", "3", "", 100, 300, "BFloat16", "", 2);
  const auto b = m.collective("allreduce", "5", "DATA_PARALLEL_GROUP", 10, 10, "Float", "0,1", 2);
  const auto c = m.collective("allreduce", "5", "DATA_PARALLEL_GROUP", 10, 10, "Float", "2,3", 2);
  m.op(0, 10, 20, kSendRecv, 1, 20, 0, OpKind::kernel, kNoRow, a);
  m.op(1, 20, 30, kAllReduce, 1, 20, 0, OpKind::kernel, kNoRow, b);
  m.op(2, 30, 40, kAllReduce, 1, 20, 0, OpKind::kernel, kNoRow, c);  // same name, other members
  m.op(3, 40, 50, kAllReduce, 1, 20, 0, OpKind::kernel, kNoRow, b);
  const Trace t = m.b.seal();
  const Labels l = label_ops(t, classes());
  REQUIRE(l.communicators.size() == 3);
  CHECK(l.communicators[0].name == "EXPERT_MODEL_PARALLEL_GROUP");
  CHECK(l.communicators[0].kind == CommKind::ep);
  CHECK(l.communicators[0].members == std::vector<int64_t>{0, 2});
  CHECK(l.communicators[0].named);
  CHECK(l.communicators[1].members == std::vector<int64_t>{0, 1});
  CHECK(l.communicators[1].size == 2);
  CHECK(l.ops.communicator == std::vector<uint32_t>{0, 1, 2, 1});
  CHECK(l.ops.coll[0] == CollectiveOp::all_to_all);  // the kernel's name says send/recv
  CHECK(l.ops.kind[1] == CommKind::dp);
  REQUIRE(l.comm_ops.size() == 4);
  CHECK(l.comm_ops[0].bytes == 600);
  CHECK(l.comm_ops[1].bytes == 40);
  CHECK(l.comm_ops[0].collective == a);
}

TEST_CASE("communicators: the innermost collective range around the launch") {
  Maker m;
  const auto record = m.collective("_allgather_base", "7", "TENSOR_MODEL_PARALLEL_GROUP", 4, 8);
  const auto wait = m.collective("wait", "7", "", 0, 0, "Byte");
  const auto nothing = m.collective("allreduce", "7", "", 0, 0);
  m.range(0, 100, "record_param_comms", 1, RangeSource::cpu_op, -1, record);
  m.range(10, 90, "nccl:_all_gather_base", 1);  // a bare name inside adds nothing
  m.op(50, 1000, 1010, kAllGather, 1, 20);
  m.range(200, 300, "record_param_comms", 1, RangeSource::cpu_op, -1, wait);
  m.op(250, 1020, 1030, kAllGather, 1, 20);
  m.op(100, 1040, 1050, kAllGather, 1, 20);  // the range ended here
  m.op(60, 1060, 1070, kAllGather, 2, 20);   // another thread
  m.range(400, 500, "nccl:all_to_all", 1);
  m.op(450, 1080, 1090, kSendRecv, 1, 21);
  m.range(600, 700, "record_param_comms", 1, RangeSource::cpu_op, -1, nothing);
  m.op(650, 1100, 1110, kAllReduce, 1, 20);
  const Trace t = m.b.seal();
  const Labels l = label_ops(t, classes());
  CHECK(l.communicators[l.ops.communicator[0]].name == "TENSOR_MODEL_PARALLEL_GROUP");
  CHECK(l.comm_ops[0].bytes == 16);
  for (size_t i : {1u, 2u, 3u, 5u}) {
    CHECK(l.communicators[l.ops.communicator[i]].name == "stream 20");
    CHECK_FALSE(l.communicators[l.ops.communicator[i]].named);
  }
  CHECK(l.comm_ops[1].bytes == -1);
  CHECK(l.ops.coll[4] == CollectiveOp::all_to_all);
  CHECK(l.communicators[l.ops.communicator[4]].name == "stream 21");
}

TEST_CASE("communicators: streams of two devices are two communicators") {
  Maker m;
  m.op(0, 10, 20, kAllReduce, 1, 20, 0);
  m.op(1, 10, 20, kAllReduce, 1, 20, 1);
  m.op(2, 30, 40, kAllReduce, 1, 20, 0);
  const Trace t = m.b.seal();
  const Labels l = label_ops(t, classes());
  CHECK(l.communicators.size() == 2);
  CHECK(l.ops.communicator == std::vector<uint32_t>{0, 1, 0});
}

TEST_CASE("communicators: kernels of expert libraries carry their kind") {
  Maker m;
  m.op(0, 10, 20, "void deep_ep::intranode::dispatch<8>(int)", 1, 20);
  m.op(1, 20, 30, kAllReduce, 1, 20);
  const Trace t = m.b.seal();
  const Labels l = label_ops(t, classes());
  CHECK(l.ops.kind[0] == CommKind::ep);
  CHECK(l.ops.coll[0] == CollectiveOp::all_to_all);
  CHECK((l.ops.flags[0] & kFlagEpLibrary) != 0);
  CHECK_FALSE(l.communicators[l.ops.communicator[0]].guessed);
  CHECK(l.ops.communicator[0] != l.ops.communicator[1]);
}

TEST_CASE("communicators: many collectives inside deep ranges stay linear") {
  Maker m;
  const auto record = m.collective("allreduce", "1", "DATA_PARALLEL_GROUP", 1 << 20, 1 << 20);
  constexpr int kDepth = 100'000;
  for (int i = 0; i < kDepth; ++i)
    m.range(i, 4 * kDepth - i, "record_param_comms", 1, RangeSource::cpu_op, -1, record);
  for (int i = 0; i < 50'000; ++i)
    m.op(kDepth + i, 5 * kDepth + 2 * i, 5 * kDepth + 2 * i + 1, kAllReduce, 1, 20);
  const Trace t = m.b.seal();
  const Labels l = label_ops(t, classes());
  CHECK(l.communicators.size() == 1);
  CHECK(l.communicators[0].kind == CommKind::dp);
}
