// One class per op through a table per name, so that millions of ops cost a look-up each; then
// communicators and kinds, recompute and offload. Tested by: label_ops_test.cpp
#include "analysis/label_ops.h"

#include "analysis/communicators.h"
#include "analysis/group_kinds.h"
#include "analysis/offload.h"
#include "analysis/pass_ranges.h"
#include "analysis/recompute.h"

namespace ws {
namespace {

OpClass class_of(OpKind kind) {
  switch (kind) {
    case OpKind::h2d:
      return OpClass::h2d;
    case OpKind::d2h:
      return OpClass::d2h;
    case OpKind::p2p:
      return OpClass::p2p;
    case OpKind::d2d:
    case OpKind::memset:
      return OpClass::membound;
    case OpKind::kernel:
    case OpKind::graph:
      break;
  }
  return OpClass::compute_other;
}

// Classes of the names that kernels have; other strings keep kNoRow.
struct NameTable {
  std::vector<uint32_t> of_name;
  std::vector<NameClass> classes;
};

NameTable classify_names(const Trace& trace, const KernelClasses& classes) {
  NameTable table;
  table.of_name.assign(trace.strings.size(), kNoRow);
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.ops.kind[i] != OpKind::kernel) continue;
    uint32_t& slot = table.of_name[row(trace.ops.name[i])];
    if (slot != kNoRow) continue;
    slot = static_cast<uint32_t>(table.classes.size());
    table.classes.push_back(classes.classify(trace.strings[trace.ops.name[i]]));
  }
  return table;
}

}  // namespace

Labels label_ops(const Trace& trace, const KernelClasses& classes) {
  const NameTable names = classify_names(trace, classes);
  const size_t n = trace.ops.size();
  Labels out;
  out.ops.cls.resize(n);
  out.ops.flags.assign(n, 0);
  out.ops.kind.assign(n, CommKind::other);
  out.ops.coll.assign(n, CollectiveOp::unknown);
  out.ops.communicator.assign(n, kNoRow);
  for (size_t i = 0; i < n; ++i) {
    if (trace.ops.kind[i] != OpKind::kernel) {
      out.ops.cls[i] = class_of(trace.ops.kind[i]);
      continue;
    }
    const NameClass& c = names.classes[names.of_name[row(trace.ops.name[i])]];
    out.ops.cls[i] = c.cls;
    out.ops.flags[i] = c.flags;
    if (c.cls == OpClass::comm) out.comm_ops.push_back({static_cast<uint32_t>(i)});
  }
  std::vector<PassHint> passes(trace.strings.size(), PassHint::none);
  for (size_t s = 0; s < passes.size(); ++s) {
    if (names.of_name[s] != kNoRow) passes[s] = names.classes[names.of_name[s]].pass;
  }
  find_communicators(trace, names.classes, names.of_name, out);
  const PassRanges ranges(trace);
  set_kinds(trace, ranges, passes, out);
  const RecomputeFlags recompute = flag_recompute(trace, ranges, passes, out.ops);
  out.recompute_would_show = recompute.would_show;
  out.recompute_ranges_would_show = recompute.ranges_would_show;
  if (recompute.inferred > 0) out.notes.add(NoteCode::recompute_inferred, {}, recompute.inferred);
  flag_offload(trace, out.ops);
  return out;
}

}  // namespace ws
