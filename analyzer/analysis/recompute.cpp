// Rule (a): on the launching thread the innermost open range that is either a recompute range or
// a backward op decides. Inside autograd's evaluate_function a forward op with a sequence number of
// its own is a recompute range as well: non-reentrant checkpoints show no other sign.
// Rule (b): a kernel that only the forward pass knows, launched while a backward is open.
// Tested by: recompute_test.cpp
#include "analysis/recompute.h"

#include <algorithm>
#include <map>

#include "analysis/open_ranges.h"
#include "analysis/range_names.h"

namespace ws {
namespace {

struct PassTag {
  bool recompute = false;
  bool in_evaluate = false;    // an evaluate_function is open here or outside
  int64_t node_sequence = -1;  // of that evaluate_function
  std::string_view node_name;  // "evaluate_function: MulBackward0" -> "MulBackward0"
};

struct PerThread {
  OpenRanges<PassTag> open;
  Stretches recompute, backward;
};

auto recorder(PerThread& t) {
  return [&t](const PassTag& tag, TimeNs begin, TimeNs end) {
    (tag.recompute ? t.recompute : t.backward).append(begin, end);
  };
}

struct NameInfo {
  PassRange pass = PassRange::none;
  bool backward_phase = false;
  bool known = false;
};

class Sweep {
 public:
  explicit Sweep(const Trace& trace)
      : trace_(trace), threads_(trace.threads.size()), names_(trace.strings.size()) {
    const HostRanges& r = trace.ranges;
    for (size_t i = 0; i < r.size(); ++i) {
      if (r.source[i] == RangeSource::gpu_annotation || r.source[i] == RangeSource::overhead ||
          r.source[i] == RangeSource::os_runtime || r.source[i] == RangeSource::mark)
        continue;
      add(i);
    }
    for (PerThread& t : threads_) t.open.finish(recorder(t));
    phases_ = Stretches::union_of(std::move(phase_spans_));
  }

  bool recompute_at(ThreadId thread, TimeNs t) const {
    return threads_[row(thread)].recompute.contains(t);
  }
  bool backward_at(ThreadId thread, TimeNs t) const {
    return threads_[row(thread)].backward.contains(t) || phases_.contains(t);
  }

 private:
  const NameInfo& info(StringId id) {
    NameInfo& n = names_[row(id)];
    if (!n.known) {
      n.known = true;
      n.pass = pass_range(trace_.strings[id]);
      n.backward_phase = is_backward_phase(trace_.strings[id]);
    }
    return n;
  }

  void add(size_t i) {
    const HostRanges& r = trace_.ranges;
    const NameInfo& name = info(r.name[i]);
    const bool user = r.source[i] != RangeSource::cpu_op && r.source[i] != RangeSource::python;
    if (name.backward_phase && user) phase_spans_.push_back({r.begin_ns[i], r.end_ns[i]});
    if (r.thread[i] == kNoThread || r.source[i] == RangeSource::nvtx_start_end) return;
    PerThread& t = threads_[row(r.thread[i])];
    t.open.advance(r.begin_ns[i], recorder(t));
    const auto* outer = t.open.innermost();
    PassTag tag = outer != nullptr ? outer->tag : PassTag{};
    if (!tagged(i, name, tag)) return;
    t.open.push(r.begin_ns[i], r.end_ns[i], tag, recorder(t));
  }

  // Sets the tag of a range that says which pass runs; false for all others.
  bool tagged(size_t i, const NameInfo& name, PassTag& tag) const {
    const std::string_view full = trace_.strings[trace_.ranges.name[i]];
    switch (name.pass) {
      case PassRange::recompute:
        tag.recompute = true;
        return true;
      case PassRange::backward:
        tag.recompute = false;
        return true;
      case PassRange::evaluate_function: {
        tag.recompute = false;
        tag.in_evaluate = true;
        tag.node_sequence = sequence(i);
        const std::string_view stem = range_stem(full);
        const size_t colon = stem.rfind(": ");
        tag.node_name =
            colon == std::string_view::npos ? std::string_view() : stem.substr(colon + 2);
        return true;
      }
      case PassRange::none:
        break;
    }
    if (!tag.in_evaluate || tag.recompute) return false;
    const int64_t own = sequence(i);
    if (own < 0 || own == tag.node_sequence || range_stem(full) == tag.node_name) return false;
    tag.recompute = true;
    return true;
  }

  int64_t sequence(size_t i) const {
    if (trace_.ranges.sequence[i] >= 0) return trace_.ranges.sequence[i];
    return sequence_in(trace_.strings[trace_.ranges.name[i]]).value_or(-1);
  }

  const Trace& trace_;
  std::vector<PerThread> threads_;
  std::vector<NameInfo> names_;
  std::vector<Interval> phase_spans_;
  Stretches phases_;
};

}  // namespace

void flag_recompute(const Trace& trace, const std::vector<PassHint>& passes, OpLabels& labels) {
  const Sweep sweep(trace);
  const GpuOps& ops = trace.ops;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops.launch[i] == kNoRow || is_copy(labels.cls[i])) continue;
    const ThreadId thread = trace.calls.thread[ops.launch[i]];
    const TimeNs at = trace.calls.begin_ns[ops.launch[i]];
    const bool forward_only =
        ops.kind[i] == OpKind::kernel && passes[row(ops.name[i])] == PassHint::forward;
    if (sweep.recompute_at(thread, at) || (forward_only && sweep.backward_at(thread, at)))
      labels.flags[i] |= kFlagRecompute;
  }
}

double recompute_estimate(const Trace& trace, const KernelClasses& classes, DeviceId device,
                          Interval window) {
  struct Family {
    int64_t forward = 0, backward = 0;
    double forward_ns = 0;
  };
  std::map<std::string_view, Family> families;
  std::vector<NameClass> of_name(trace.strings.size());
  std::vector<bool> known(trace.strings.size(), false);
  const GpuOps& ops = trace.ops;
  for (uint32_t i : trace.ops_by_device[row(device)]) {
    if (ops.kind[i] != OpKind::kernel || ops.begin_ns[i] < window.begin_ns ||
        ops.begin_ns[i] >= window.end_ns)
      continue;
    const size_t name = row(ops.name[i]);
    if (!known[name]) {
      known[name] = true;
      of_name[name] = classes.classify(trace.strings[ops.name[i]]);
    }
    if (of_name[name].pass == PassHint::none) continue;
    Family& f = families[of_name[name].family];
    if (of_name[name].pass == PassHint::backward) {
      ++f.backward;
    } else {
      ++f.forward;
      f.forward_ns += static_cast<double>(ops.end_ns[i] - ops.begin_ns[i]);
    }
  }
  double extra_ns = 0;
  for (const auto& [name, f] : families) {
    if (f.backward == 0 || f.forward <= f.backward) continue;
    extra_ns +=
        f.forward_ns * static_cast<double>(f.forward - f.backward) / static_cast<double>(f.forward);
  }
  const auto length = static_cast<double>(window.length());
  return length > 0 ? std::min(1.0, extra_ns / length) : 0;
}

}  // namespace ws
