#include "analysis/group_kinds.h"

#include "made_trace.h"

using namespace ws;
using namespace ws::made;

TEST_CASE("kinds from names: first match") {
  struct Row {
    const char* name;
    CommKind kind;
  };
  const Row rows[] = {{"TENSOR_MODEL_PARALLEL_GROUP", CommKind::tp},
                      {"PIPELINE_MODEL_PARALLEL_GROUP", CommKind::pp},
                      {"DATA_PARALLEL_GROUP", CommKind::dp},
                      {"DATA_PARALLEL_GROUP_WITH_CP", CommKind::dp},
                      {"CONTEXT_PARALLEL_GROUP", CommKind::cp},
                      {"EXPERT_MODEL_PARALLEL_GROUP", CommKind::ep},
                      {"EXPERT_TENSOR_AND_MODEL_PARALLEL_GROUP", CommKind::ep},
                      {"EXPERT_TENSOR_PARALLEL_GROUP", CommKind::tp},
                      {"EXPERT_DATA_PARALLEL_GROUP", CommKind::dp},
                      {"MODEL_PARALLEL_GROUP", CommKind::other},
                      {"EMBEDDING_GROUP", CommKind::other},
                      {"default_pg", CommKind::other},
                      {"mesh_dp_shard", CommKind::dp},
                      {"mesh_tp", CommKind::tp},
                      {"mesh_ep", CommKind::ep},
                      {"fsdp_pg", CommKind::dp},
                      {"ddp", CommKind::dp},
                      {"ulysses_group", CommKind::cp},
                      {"ring_attention", CommKind::cp},
                      {"monitoring", CommKind::other},
                      {"stepper", CommKind::other},
                      {"0", CommKind::other}};
  for (const Row& r : rows) {
    INFO(r.name);
    CHECK(name_of(kind_of_group(r.name)) == name_of(r.kind));
  }
}

namespace {

// Ops one after the other, 100 us each, on streams by role.
struct Sequence {
  Maker m;
  TimeNs t = 0;
  void add(std::string_view name, int64_t stream = 7, TimeNs length = 100'000) {
    m.op(t, t + 10, t + 10 + length, name, 1, stream);
    t += length + 10;
  }
  Labels labels() {
    const Trace trace = m.b.seal();
    return label_ops(trace, classes());
  }
};

CommKind only_kind(const Labels& l) {
  REQUIRE(l.communicators.size() == 1);
  return l.communicators[0].kind;
}

}  // namespace

TEST_CASE("pattern: reductions in the forward pass are tensor parallel") {
  Sequence s;
  for (int layer = 0; layer < 8; ++layer) {
    s.add(kAttentionForward);
    s.add(kGemm);
    s.add(kAllReduce, 20);
    s.add(kGemm);
    s.add(kAllReduce, 20);
  }
  for (int layer = 0; layer < 8; ++layer) {
    s.add(kGemm);
    s.add(kAllReduce, 20);
    s.add(kAttentionBackward);
    s.add(kAllReduce, 20);
  }
  const Labels l = s.labels();
  CHECK(only_kind(l) == CommKind::tp);
  CHECK(l.communicators[0].guessed);
  CHECK(l.notes.count(NoteCode::kinds_guessed) == 1);
}

TEST_CASE("pattern: after the last kernel of a forward pass alone it is still forward") {
  Sequence s;
  s.add(kAttentionForward);
  s.add(kGemm);
  s.add(kAllReduce, 20);
  CHECK(only_kind(s.labels()) == CommKind::tp);
}

TEST_CASE("pattern: of very many reductions some vote for all") {
  Sequence s;
  for (int layer = 0; layer < 9000; ++layer) {
    s.add(kAttentionForward);
    s.add(kAllReduce, 20);
    s.add(kGemm);
    s.add(kAllReduce, 20);
  }
  CHECK(only_kind(s.labels()) == CommKind::tp);
}

TEST_CASE("pattern: an inference trace with reductions is tensor parallel") {
  Sequence s;
  for (int layer = 0; layer < 8; ++layer) {
    s.add(kAttentionForward);
    s.add(kGemm);
    s.add(kAllReduce, 20);
  }
  CHECK(only_kind(s.labels()) == CommKind::tp);
}

TEST_CASE("pattern: reductions of gradients alone are data parallel, whatever gathers do") {
  Sequence s;
  for (int step = 0; step < 2; ++step) {
    for (int layer = 0; layer < 8; ++layer) {
      s.add(kAllGather, 20);  // fully sharded: gathers in both passes
      s.add(kGemm);
      s.add(kGemm);
      s.add(kAttentionForward);
      s.add(kGemm);
    }
    for (int layer = 0; layer < 8; ++layer) {
      s.add(kAllGather, 20);
      s.add(kGemm);
      s.add(kGemm);
      s.add(kAttentionBackward);
      s.add(kGemm);
      s.add(kReduceScatter, 20);
    }
    s.add(kAdam);
  }
  CHECK(only_kind(s.labels()) == CommKind::dp);
}

TEST_CASE("pattern: without kernels of one pass the optimizer tells where the forward pass is") {
  Sequence s;
  for (int step = 0; step < 3; ++step) {
    for (int layer = 0; layer < 30; ++layer) {
      s.add(kGemm);
      if (layer >= 14) s.add(kAllReduce, 20);
    }
    s.add(kAdam);
  }
  CHECK(only_kind(s.labels()) == CommKind::dp);
  Sequence u;
  for (int i = 0; i < 30; ++i) {
    u.add(kGemm);
    u.add(kAllReduce, 20);
  }
  const Labels unknown = u.labels();  // nothing tells
  CHECK(only_kind(unknown) == CommKind::other);
  CHECK(unknown.notes.count(NoteCode::kinds_unknown) == 1);
}

TEST_CASE("pattern: a reduction per step among many forward kernels is data parallel") {
  Sequence s;  // no kernel of the backward pass has a telling name
  for (int step = 0; step < 3; ++step) {
    for (int layer = 0; layer < 6; ++layer) {
      s.add(kAttentionForward);
      s.add(kGemm);
    }
    s.add(kAllReduce, 20);
  }
  CHECK(only_kind(s.labels()) == CommKind::dp);
}

TEST_CASE("pattern: ranges that speak of gradients or of the backward pass") {
  for (const char* range : {"all_reduce grad [layers.0.w1]", "backward"}) {
    Sequence s;
    for (int i = 0; i < 10; ++i) {
      s.add(kGemm);
      s.m.range(s.t, s.t + 5, range);
      s.add(kAllReduce, 20);
    }
    INFO(range);
    CHECK(only_kind(s.labels()) == CommKind::dp);
  }
}

TEST_CASE("pattern: exchanges and reductions of one communicator may vote apart") {
  Sequence s;
  for (int step = 0; step < 3; ++step) {
    for (int layer = 0; layer < 8; ++layer) {
      s.add(kAttentionForward);
      for (int i = 0; i < 3; ++i) s.add(kAdd);
      s.add(kSendRecv, 20);
      s.add(kGrouped);
    }
    s.add(kAllReduce, 20);
  }
  const Labels l = s.labels();
  CHECK(only_kind(l) == CommKind::other);
  CHECK(l.communicators[0].guessed);
  for (const CommOp& c : l.comm_ops) {
    const bool exchange = l.ops.coll[c.op] == CollectiveOp::send_recv;
    CHECK(name_of(l.ops.kind[c.op]) == name_of(exchange ? CommKind::ep : CommKind::dp));
  }
}

TEST_CASE("pattern: exchanges beside experts, attention, neither") {
  Sequence ep;
  for (int layer = 0; layer < 8; ++layer) {
    ep.add(kAttentionForward);
    for (int i = 0; i < 4; ++i) ep.add(kAdd);
    ep.add(kSendRecv, 20);
    ep.add(kGrouped);
    ep.add(kSendRecv, 20);
    for (int i = 0; i < 4; ++i) ep.add(kAdd);
  }
  CHECK(only_kind(ep.labels()) == CommKind::ep);
  Sequence cp;
  for (int layer = 0; layer < 8; ++layer) {
    for (int i = 0; i < 4; ++i) cp.add(kGemm);
    cp.add(kSendRecv, 20);
    cp.add(kAttentionForward);
  }
  CHECK(only_kind(cp.labels()) == CommKind::cp);
  Sequence pp;
  for (int micro = 0; micro < 8; ++micro) {
    pp.add(kSendRecv, 20);
    for (int i = 0; i < 5; ++i) pp.add(kGemm);
    pp.add(kAttentionForward);
    for (int i = 0; i < 5; ++i) pp.add(kGemm);
  }
  CHECK(only_kind(pp.labels()) == CommKind::pp);
}

TEST_CASE("pattern: an all-to-all beside nothing telling stays unknown") {
  Sequence s;
  for (int i = 0; i < 8; ++i) {
    s.m.range(s.t, s.t + 5, "nccl:all_to_all");
    s.add(kSendRecv, 20);
    for (int k = 0; k < 6; ++k) s.add(kGemm);
  }
  const Labels l = s.labels();
  CHECK(only_kind(l) == CommKind::other);
  CHECK(l.notes.count(NoteCode::kinds_unknown) == 1);
}

TEST_CASE("pattern: gathers of keys and values beside attention are context parallel") {
  Sequence s;
  for (int layer = 0; layer < 8; ++layer) {
    for (int i = 0; i < 4; ++i) s.add(kGemm);
    s.add(kAllGather, 20);
    s.add(kAttentionForward);
  }
  CHECK(only_kind(s.labels()) == CommKind::cp);
}

TEST_CASE("pattern: tiny reductions are other, without a note") {
  Sequence s;
  for (int i = 0; i < 20; ++i) {
    s.add(kGemm);
    const auto c = s.m.collective("allreduce", "9", "", 1, 1, "Float");
    s.m.op(s.t, s.t + 10, s.t + 20, kAllReduce, 1, 20, 0, OpKind::kernel, kNoRow, c);
    s.t += 30;
  }
  const Labels l = s.labels();
  CHECK(only_kind(l) == CommKind::other);
  CHECK(l.notes.all().empty());
}
