// One sweep over the ranges of all threads. Inside autograd's evaluate_function a forward op with a
// sequence number of its own is a recompute range: a non-reentrant checkpoint repeats the forward
// pass while a backward node unpacks its saved tensors, and shows no other sign. Gradients of
// gradients look alike (create_graph): there node after node records all it does, while a node that
// unpacked goes on with plain ops.
// Tested by: recompute_test.cpp, group_kinds_test.cpp
#include "analysis/pass_ranges.h"

namespace ws {

PassRanges::PassRanges(const Trace& trace)
    : trace_(trace), threads_(trace.threads.size()), names_(trace.strings.size()) {
  const HostRanges& r = trace.ranges;
  for (size_t i = 0; i < r.size(); ++i) {
    if (r.source[i] != RangeSource::gpu_annotation && r.source[i] != RangeSource::overhead &&
        r.source[i] != RangeSource::os_runtime && r.source[i] != RangeSource::mark)
      add(i);
  }
  for (PerThread& t : threads_) {
    t.open.finish([&t](const Tag& tag, TimeNs b, TimeNs e) { record(t, tag, b, e); });
    keep_repeated(t);
    t.gradients = Stretches::union_of(std::move(t.gradient_spans));
  }
  phases_ = Stretches::union_of(std::move(phase_spans_));
}

bool PassRanges::recompute_at(ThreadId thread, TimeNs t) const {
  return threads_[row(thread)].recompute.contains(t);
}
bool PassRanges::repeated_at(ThreadId thread, TimeNs t) const {
  return threads_[row(thread)].repeated.contains(t);
}
bool PassRanges::backward_op_at(ThreadId thread, TimeNs t) const {
  return threads_[row(thread)].backward.contains(t);
}

bool PassRanges::backward_at(ThreadId thread, TimeNs t) const {
  return backward_op_at(thread, t) || phases_.contains(t);
}
bool PassRanges::gradients_at(ThreadId thread, TimeNs t) const {
  return threads_[row(thread)].gradients.contains(t);
}

void PassRanges::record(PerThread& t, const Tag& tag, TimeNs begin, TimeNs end) {
  if (tag.recompute && tag.inferred)
    t.repeated_spans.push_back({begin, end});
  else
    (tag.recompute ? t.recompute : t.backward).append(begin, end);
}

void PassRanges::keep_repeated(PerThread& t) {
  std::erase_if(t.nodes, [](const Node& n) { return !n.recorded && !n.plain; });
  const auto differentiated = [&](size_t i) {
    return i < t.nodes.size() && t.nodes[i].recorded && !t.nodes[i].plain;
  };
  size_t next = 0;  // spans and nodes are both in order of time
  for (const Interval& span : t.repeated_spans) {
    while (next < t.nodes.size() && t.nodes[next].begin_ns <= span.begin_ns) ++next;
    const size_t own = next - 1;  // wraps round where a crossing range lost its node
    const bool twice = differentiated(own) && (differentiated(own + 1) || differentiated(own - 1));
    (twice ? t.backward : t.repeated).append(span.begin_ns, span.end_ns);
  }
}

const PassRanges::NameInfo& PassRanges::info(StringId id) {
  NameInfo& n = names_[row(id)];
  if (!n.known) {
    n.known = true;
    n.pass = pass_range(trace_.strings[id]);
    n.backward_phase = is_backward_phase(trace_.strings[id]);
    n.gradients = speaks_of_gradients(trace_.strings[id]);
    n.computes = is_computing_op(trace_.strings[id]);
  }
  return n;
}

void PassRanges::add(size_t i) {
  const HostRanges& r = trace_.ranges;
  const NameInfo& name = info(r.name[i]);
  const bool user = r.source[i] != RangeSource::cpu_op && r.source[i] != RangeSource::python;
  if (name.backward_phase && user) phase_spans_.push_back({r.begin_ns[i], r.end_ns[i]});
  if (r.thread[i] == kNoThread || r.source[i] == RangeSource::nvtx_start_end) return;
  PerThread& t = threads_[row(r.thread[i])];
  if (name.gradients && user) t.gradient_spans.push_back({r.begin_ns[i], r.end_ns[i]});
  const auto keep = [&t](const Tag& tag, TimeNs b, TimeNs e) { record(t, tag, b, e); };
  t.open.advance(r.begin_ns[i], keep);
  const auto* outer = t.open.innermost();
  Tag tag = outer != nullptr ? outer->tag : Tag{};
  if (tagged(i, name, t, tag)) t.open.push(r.begin_ns[i], r.end_ns[i], tag, keep);
}

// Sets the tag of a range that says which pass runs; false for all others.
bool PassRanges::tagged(size_t i, const NameInfo& name, PerThread& t, Tag& tag) const {
  const std::string_view full = trace_.strings[trace_.ranges.name[i]];
  switch (name.pass) {
    case PassRange::recompute:
      tag.recompute = true;
      tag.inferred = false;
      return true;
    case PassRange::backward:
      if (tag.in_evaluate && !tag.recompute) note_op(i, name, tag, t);
      tag.recompute = false;
      return true;
    case PassRange::evaluate_function: {
      tag.recompute = false;
      tag.in_evaluate = true;
      tag.node_sequence = sequence(i);
      t.nodes.push_back({trace_.ranges.begin_ns[i], false, false});
      const std::string_view stem = range_stem(full);
      const size_t colon = stem.rfind(": ");
      tag.node_name = colon == std::string_view::npos ? std::string_view() : stem.substr(colon + 2);
      return true;
    }
    case PassRange::none:
      break;
  }
  if (!tag.in_evaluate || tag.recompute || !note_op(i, name, tag, t)) return false;
  tag.recompute = tag.inferred = true;
  return true;
}

// An op directly inside a backward node: true when the engine recorded it.
bool PassRanges::note_op(size_t i, const NameInfo& name, const Tag& tag, PerThread& t) const {
  const int64_t own = sequence(i);
  if ((own >= 0 && own == tag.node_sequence) || t.nodes.empty() ||
      range_stem(trace_.strings[trace_.ranges.name[i]]) == tag.node_name)
    return false;
  Node& node = t.nodes.back();
  if (own >= 0)
    node.recorded = true;
  else if (name.computes)
    node.plain = true;
  return own >= 0;
}

int64_t PassRanges::sequence(size_t i) const {
  if (trace_.ranges.sequence[i] >= 0) return trace_.ranges.sequence[i];
  return sequence_in(trace_.strings[trace_.ranges.name[i]]).value_or(-1);
}

}  // namespace ws
