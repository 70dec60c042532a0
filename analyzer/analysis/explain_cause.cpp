// One function per family of causes; every number is of the mean steady step. Counts are of the
// device that loses most to the cause's group.
// Tested by: explain_test.cpp
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "analysis/causes.h"
#include "analysis/counted_steps.h"
#include "analysis/explain.h"
#include "analysis/idle_summary.h"
#include "analysis/phrases.h"
#include "base/text.h"

namespace ws {
namespace {

struct View {
  const std::vector<RankAnalysis>& ranks;
  const RunMeans& means;
  const RunVerdict& verdict;
  const DeviceAnalysis& device;  // the one looked at
  const Breakdown& p;            // its mean step
  int64_t steps;                 // behind the mean
  TimeNs step_ns() const { return p.total(); }
  std::string share(TimeNs ns) const { return percent(ratio(ns, step_ns())); }
};

TimeNs idle_of(const Breakdown& p) {
  TimeNs sum = 0;
  for (size_t i = static_cast<size_t>(Leaf::idle_launch); i < kLeafCount; ++i) sum += p.ns[i];
  return sum;
}

TimeNs cause_ns(const View& v, LossGroup group, Cause cause) {
  for (const CauseShare& part : causes_of(group, v.ranks, v.means))
    if (part.cause == cause) return part.ns;
  return 0;
}

// Launch bound is what runs between kernels that are launched one by one, not the calls alone.
std::string launch_bound(const View& v) {
  const StepCounts& c = v.device.counts;
  std::string out = fmt::format("{} launches per step", number(c.launches));
  if (c.launch_spacing_ns > 0) {
    // So many to a step are this far apart in the mean; some follow each other at once.
    const auto mean =
        static_cast<TimeNs>(static_cast<double>(v.step_ns()) / std::max(1.0, c.launches));
    const bool alike = std::abs(mean - c.launch_spacing_ns) * 50 <= mean;
    out += fmt::format(
        ", one every {}{}, kernels of {}", duration(mean),
        alike ? "" : fmt::format(" (median distance {})", duration(c.launch_spacing_ns)),
        duration(c.mean_kernel_ns));
  }
  out += fmt::format(": the GPU is idle {} of the step", v.share(idle_of(v.p)));
  const TimeNs calls = v.p[Leaf::idle_launch] + v.p[Leaf::idle_graph_launch];
  const TimeNs between = v.p[Leaf::idle_host];
  if (between > calls)
    return out + fmt::format(", {} in framework code between launches and {} in the launch calls",
                             v.share(between), v.share(calls));
  return out + fmt::format(", {} in the launch calls", v.share(calls));
}

std::string host_sync(const View& v) {
  const StepCounts& c = v.device.counts;
  const TimeNs idle = v.p[Leaf::idle_sync];
  std::string out =
      fmt::format("{} calls per step block the host until the GPU is done", number(c.syncs));
  if (c.small_d2h >= 1)
    out += fmt::format(" ({} reads of at most 64 bytes, as .item() does)", number(c.small_d2h));
  const double each = c.syncs > 0 ? static_cast<double>(idle) / c.syncs : 0;
  out += fmt::format("; the GPU then runs dry for {} a step ({}), {} after each", duration(idle),
                     v.share(idle), duration(static_cast<TimeNs>(each)));
  if (c.sync_host_ns > idle) {
    out += fmt::format(
        ". The {} the host spends inside these calls are not the loss: the GPU works through "
        "most of them",
        duration(c.sync_host_ns));
  }
  return out;
}

const IdleRow* row_of(const DeviceAnalysis& device, Leaf leaf) {
  for (const IdleRow& row : device.idle)
    if (row.leaf == leaf) return &row;
  return nullptr;
}

// Where in its step the longest stretch of a leaf begins.
std::string position_in_step(const DeviceAnalysis& device, const IdleRow& row) {
  for (const Step& step : device.steps) {
    if (row.largest.begin_ns < step.window.begin_ns || row.largest.begin_ns >= step.window.end_ns)
      continue;
    const double at = ratio(row.largest.begin_ns - step.window.begin_ns, step.window.length());
    return at < 0.1 ? " at the start of each step" : at > 0.9 ? " at the end of each step" : "";
  }
  return "";
}

// Steps with more than a trace of it.
int64_t steps_with(const View& v, Leaf leaf) {
  int64_t count = 0;
  for (size_t row : counted_steps(v.device.steps))
    count += v.device.breakdowns[row][leaf] * 10 > v.p[leaf];
  return count;
}

// How the stretches of a leaf lie over the steps.
std::string blocks(const View& v, const IdleRow& row) {
  const std::string longest = duration(row.largest.length());
  const int64_t with = steps_with(v, row.leaf);
  if (10 * with < 9 * v.steps)
    return fmt::format("in {} of {} steps, the longest block of {}", with, v.steps, longest);
  if (row.count <= v.steps + 1) {
    const bool alike = row.largest.length() * 10 <= v.p[row.leaf] * 11;
    return fmt::format("one block of {}{}{}", alike ? "" : "up to ", longest,
                       position_in_step(v.device, row));
  }
  return fmt::format("{} blocks a step, the longest of {}", number(ratio(row.count, v.steps)),
                     longest);
}

std::string input_pipeline(const View& v) {
  const TimeNs loading = v.p[Leaf::idle_dataload];
  const TimeNs copies = v.p[Leaf::copy_h2d];
  std::string out;
  if (loading > 0) {
    const IdleRow* row = row_of(v.device, Leaf::idle_dataload);
    out = fmt::format("the GPU is empty for {} of each step ({}) while the host is in data loading",
                      duration(loading), v.share(loading));
    if (row != nullptr) out += ": " + blocks(v, *row);
  }
  if (copies > 0)
    out += fmt::format("{}copies of input to the GPU are exposed for {} ({})",
                       out.empty() ? "" : "; ", duration(copies), v.share(copies));
  return out;
}

std::string gc_pause(const View& v) {
  TimeNs longest = 0;
  std::string name;
  std::set<int64_t> hit, counted;  // steps, whatever the rank
  std::set<int32_t> ranks;
  int32_t rank = 0;
  for (const DeviceMeans& means : v.means.devices) {
    const DeviceAnalysis& device = v.ranks[means.rank_row].devices[means.device_row];
    for (size_t row : counted_steps(device.steps)) {
      const TimeNs pause =
          std::max(device.breakdowns[row][Leaf::idle_gc],
                   row < device.evidence.pause_ns.size() ? device.evidence.pause_ns[row] : 0);
      counted.insert(device.steps[row].index);
      if (pause <= kPauseNs) continue;
      hit.insert(device.steps[row].index);
      ranks.insert(means.rank);
      if (pause <= longest) continue;
      longest = pause;
      name = device.steps[row].name;
      rank = means.rank;
    }
  }
  const bool gc = v.p[Leaf::idle_gc] > 0;
  return fmt::format(
      "the host of rank {} stands still for {} in {} while the GPU is idle{}; {} of the {} steps "
      "in "
      "the means {} hit{}: a pause, not launch overhead",
      rank, duration(longest), name, gc ? " (garbage collection)" : "", hit.size(), counted.size(),
      hit.size() == 1 ? "is" : "are",
      v.ranks.size() > 1 ? fmt::format(", on {} of {} ranks", ranks.size(), v.ranks.size()) : "");
}

std::string pageable_copy(const View& v) {
  const MemoryRow& m = v.device.memory;
  const TimeNs ns = cause_ns(v, LossGroup::host, Cause::pageable_copy);
  const double gbps =
      m.pageable_ns > 0 ? static_cast<double>(m.pageable_bytes) / static_cast<double>(m.pageable_ns)
                        : 0;
  return fmt::format(
      "{} copies per step use pageable host memory ({}): {} at {:.2f} GB/s, with the host blocked "
      "inside the copy call; the GPU computes nothing for {} of it ({})",
      number(v.device.counts.pageable_copies),
      m.h2d_ns >= m.d2h_ns ? "Pageable -> Device" : "Device -> Pageable",
      byte_count(m.pageable_bytes), gbps, duration(ns), v.share(ns));
}

std::string allocator(const View& v) {
  const TimeNs ns = v.p[Leaf::idle_alloc];
  return fmt::format(
      "{} cudaMalloc/cudaFree calls inside every steady step: each free waits for the GPU to "
      "drain, "
      "each allocation keeps it waiting; idle for {} ({})",
      number(v.device.counts.alloc_calls), duration(ns), v.share(ns));
}

std::string recompute(const View& v) {
  const TimeNs ns = v.p[Leaf::recompute];
  const bool inferred = std::any_of(v.ranks.begin(), v.ranks.end(), [](const RankAnalysis& rank) {
    return rank.notes.count(NoteCode::recompute_inferred) > 0;
  });
  return fmt::format(
      "{} of the step ({}) repeats forward kernels in the backward pass: they are launched {}",
      v.share(ns), duration(ns),
      inferred ? "by forward operators that run inside a backward node, as a non-reentrant "
                 "checkpoint lets them; no range names it"
               : "inside recompute ranges (CheckpointFunctionBackward and the like)");
}

std::string offload(const View& v) {
  const TimeNs copies = v.p[Leaf::copy_offload];
  const TimeNs idle = v.device.memory.offload_idle_ns;
  if (20 * idle < copies + idle) {  // no CPU work worth naming: activations, or state moved alone
    return fmt::format("copies of offloaded state are exposed for {} ({}; {} per step)",
                       duration(copies), v.share(copies),
                       byte_count(v.device.memory.offload_bytes));
  }
  return fmt::format(
      "copy down, CPU work and copy up are one chain of {} a step ({}): {} of exposed copies "
      "({} per step), and {} with the GPU idle while the CPU works",
      duration(copies + idle), v.share(copies + idle), duration(copies),
      byte_count(v.device.memory.offload_bytes), duration(idle));
}

bool belongs(Cause cause, const CollectiveRow& row) {
  const bool parameter = row.op == CollectiveOp::all_gather || row.op == CollectiveOp::broadcast;
  switch (cause) {
    case Cause::ep_all_to_all:
      return row.kind == CommKind::ep;
    case Cause::tp_collective:
      return row.kind == CommKind::tp;
    case Cause::cp_exchange:
      return row.kind == CommKind::cp;
    case Cause::pp_transfer:
      return row.kind == CommKind::pp;
    case Cause::dp_parameter:
      return row.kind == CommKind::dp && parameter;
    case Cause::dp_gradient:
      return row.kind == CommKind::dp && !parameter;
    default:
      return row.kind == CommKind::other;
  }
}

std::string collectives(const View& v, Cause cause) {
  TimeNs exposed = 0, total = 0, hidden = 0;
  int64_t count = 0;
  CollectiveOp op = CollectiveOp::unknown;
  TimeNs most = -1;
  for (const CollectiveRow& row : v.device.collectives) {
    if (row.peer_copy || !belongs(cause, row)) continue;
    const TimeNs own = row.wait_ns + row.transfer_ns + row.unsplit_ns;
    exposed += own;
    total += row.total_ns;
    hidden += row.hidden_ns;
    count += row.count;
    if (own <= most) continue;
    most = own;
    op = row.op;
  }
  const TimeNs per_step = rounded(exposed, v.steps);
  return fmt::format(
      "collectives ({}, mostly {}, {} per step) are exposed for {} ({}); {} of their time is "
      "hidden "
      "under compute",
      cause == Cause::unknown ? "of unknown groups" : words_of(cause), words_of(op),
      number(ratio(count, v.steps)), duration(per_step), v.share(per_step),
      percent(ratio(hidden, std::max<TimeNs>(1, total))));
}

std::string compute(const View& v, Cause cause) {
  const TimeNs useful = at(losses_of(v.p, 0), LossGroup::useful).lo_ns;
  const auto class_share = [&](Leaf leaf) { return percent(ratio(v.p[leaf], useful)); };
  std::string out = fmt::format(
      "the GPU computes for {} of the step (gemm {}, attention {}, memory bound {}, other {} of "
      "it); how near to its peak that is the times alone do not tell",
      v.share(useful), class_share(Leaf::gemm), class_share(Leaf::attention),
      class_share(Leaf::membound), class_share(Leaf::compute_other));
  if (cause == Cause::membound_kernels)
    out += ". Memory bound kernels are a matter of bandwidth and fusion, not of the memory wall";
  return out;
}

// Host time without a known state: where it is, since why is not recorded.
std::string unknown_host(const View& v) {
  const TimeNs jit = v.p[Leaf::idle_jit];
  const TimeNs copies = v.p[Leaf::copy_h2d] + v.p[Leaf::copy_d2h];
  if (v.device.counts.kernels == 0 && 2 * copies > v.step_ns()) {
    const TimeNs to_device = v.device.memory.h2d_ns, to_host = v.device.memory.d2h_ns;
    std::string out = fmt::format(
        "copies between host and GPU take {} a step ({}) and no kernel runs: nothing shows what "
        "they are for",
        duration(copies), v.share(copies));
    if (to_device > 0 && to_host > 0) {
      out += fmt::format("; to the device {}, to the host {}{}", duration(to_device),
                         duration(to_host),
                         (to_device + to_host) * 100 > copies * 101
                             ? ": both at once in part, which the table counts for the copy that "
                               "ends first"
                             : "");
    }
    return out;
  }
  std::string out;
  if (jit * 100 >= v.step_ns())
    out = fmt::format("the GPU waits {} a step ({}) while the host loads or compiles code",
                      duration(jit), v.share(jit));
  const TimeNs host = v.p[Leaf::idle_host];
  const IdleRow* row = row_of(v.device, Leaf::idle_host);
  if (host <= jit || row == nullptr) return out;
  out += fmt::format(
      "{}the GPU waits {} a step ({}) for the host, which is in framework or Python code that "
      "launches nothing; longest {}",
      out.empty() ? "" : "; ", duration(host), v.share(host), duration(row->largest.length()));
  if (!row->after.empty()) out += fmt::format(", before {}", shorten(row->after, 60));
  return out;
}

std::string sentence(Cause cause, const View& v) {
  switch (cause) {
    case Cause::launch_bound:
      return launch_bound(v);
    case Cause::host_sync:
      return host_sync(v);
    case Cause::input_pipeline:
      return input_pipeline(v);
    case Cause::gc_pause:
      return gc_pause(v);
    case Cause::pageable_copy:
      return pageable_copy(v);
    case Cause::allocator:
      return allocator(v);
    case Cause::recompute:
      return recompute(v);
    case Cause::offload:
      return offload(v);
    case Cause::ep_all_to_all:
    case Cause::tp_collective:
    case Cause::dp_gradient:
    case Cause::dp_parameter:
    case Cause::cp_exchange:
    case Cause::pp_transfer:
      return collectives(v, cause);
    case Cause::pipeline_bubble:
      return fmt::format("stages wait {} of the step for their neighbours: a pipeline bubble",
                         v.share(at(losses_of(v.p, 0), LossGroup::bubble).lo_ns));
    case Cause::gemm_bound:
    case Cause::attention_bound:
    case Cause::membound_kernels:
    case Cause::compute_bound:
    case Cause::comm_contention:
      return compute(v, cause);
    default:
      break;
  }
  if (v.verdict.loss == LossGroup::communication) return collectives(v, cause);
  return v.verdict.loss == LossGroup::host ? unknown_host(v) : std::string();
}

}  // namespace

std::string why_cause(Cause cause, const std::vector<RankAnalysis>& ranks, const RunMeans& means,
                      const RunVerdict& verdict) {
  const LossGroup loss = verdict.loss.value_or(LossGroup::useful);
  const DeviceMeans* most = &means.devices.front();
  const auto own = [&](const DeviceMeans& row) {
    const TimeNs offload = ranks[row.rank_row].devices[row.device_row].memory.offload_idle_ns;
    return at(losses_of(row.mean, offload), loss).hi_ns;
  };
  for (const DeviceMeans& row : means.devices)
    if (own(row) > own(*most)) most = &row;
  const View v{ranks,      means,
               verdict,    ranks[most->rank_row].devices[most->device_row],
               most->mean, std::max<int64_t>(1, most->steps)};
  std::string text = sentence(cause, v);
  if (text.empty() || means.devices.size() == 1 || cause == Cause::gc_pause) return text;
  return fmt::format("rank {}: {}", most->rank, text);
}

}  // namespace ws
