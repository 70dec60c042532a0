// Tested by: write_facts_test.cpp
#include <algorithm>
#include <set>

#include "analysis/phrases.h"
#include "analysis/run_builder.h"
#include "base/text.h"
#include "facts/fact_writers.h"
#include "model/framework_names.h"

namespace ws {
namespace {

// FNV-1a: the same inputs give the same id on every machine.
class Fnv {
 public:
  void add(std::string_view bytes) {
    for (char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    hash_ = (hash_ ^ 0xffU) * 1099511628211ULL;  // "ab","c" is not "a","bc"
  }
  void add(int64_t v) { add(std::to_string(v)); }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  uint64_t hash_ = 14695981039346656037ULL;
};

std::string base_name(std::string_view path) {
  return one_line(to_utf8(path.substr(path.find_last_of('/') + 1)));
}

std::string run_id(const RunAnalysis& run) {
  Fnv hash;
  for (const RankAnalysis& rank : run.ranks) {
    hash.add(base_name(rank.path));
    hash.add(rank.rank);
    hash.add(rank.capture.begin_ns);
    hash.add(rank.capture.end_ns);
    for (const DeviceAnalysis& device : rank.devices) hash.add(device.ops);
  }
  hash.add(run.selection);
  return hash.text();
}

struct RunFacts {
  std::string os, format;
  int64_t world_size = 0, host_steps = 0;
  int64_t steady = 0;  // of the device with most complete steps
  StepOrigin origin = StepOrigin::whole;
};

// What a name of framework_of says, the surest first.
struct Told {
  std::string_view name, framework, by;
};
constexpr Told kTold[] = {{"megatron_bridge", "megatron_bridge", "program"},
                          {"megatron_lm", "megatron_lm", "program"},
                          {"megatron_core", "megatron_lm", "core"},
                          {"pytorch", "pytorch", "operators"},
                          {"pytorch_kernels", "pytorch", "kernels"}};

const Told* told_by(const RunAnalysis& run) {
  for (const Told& told : kTold)
    for (const RankAnalysis& rank : run.ranks)
      if (without_inference_mark(rank.framework) == told.name) return &told;
  return nullptr;
}

RunFacts facts_of(const FactInput& in) {
  RunFacts out;
  int64_t most = 0;
  bool origin_known = false;
  for (const RankAnalysis& rank : in.run.ranks) {
    out.world_size = std::max<int64_t>(out.world_size, rank.world_size);
    out.host_steps = std::max(out.host_steps, rank.host_steps);
    if (out.os.empty()) out.os = rank.os;
    if (&rank == &in.run.ranks.front()) out.format = rank.format;
    if (rank.format != out.format) out.format.clear();
    if (!origin_known && (!rank.devices.empty() || rank.host_steps > 0)) {
      out.origin = rank.step_origin;
      origin_known = true;
    }
    for (const DeviceAnalysis& device : rank.devices) {
      int64_t complete = 0, steady = 0;
      for (const Step& step : device.steps) {
        complete += step.complete ? 1 : 0;
        steady += step.complete && step.steady ? 1 : 0;
      }
      if (rank.step_origin == StepOrigin::whole || complete <= most) continue;
      most = complete;
      out.steady = steady;
    }
  }
  return out;
}

template <class T>
std::optional<T> known(bool is, T value) {
  return is ? std::optional<T>(std::move(value)) : std::nullopt;
}

std::optional<std::string> joined(const std::vector<std::string>& parts) {
  if (parts.empty()) return std::nullopt;
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + one_line(part);
  return out;
}

bool noted(const RunAnalysis& run, NoteCode code) {
  return std::any_of(run.ranks.begin(), run.ranks.end(),
                     [&](const RankAnalysis& rank) { return rank.notes.count(code) > 0; });
}

std::optional<int32_t> critical_rank(const RunMeans& means) {
  const DeviceMeans* longest = nullptr;
  for (const DeviceMeans& row : means.devices)
    if (longest == nullptr || row.mean.total() > longest->mean.total()) longest = &row;
  return longest == nullptr ? std::nullopt : std::optional(longest->rank);
}

std::string_view window_name(StepWindow window) {
  switch (window) {
    case StepWindow::device:
      return "device";
    case StepWindow::host:
      return "host";
    case StepWindow::whole:
      break;
  }
  return "whole";
}

TimeNs sum_of(const Breakdown& p, Leaf first, Leaf last) {
  TimeNs sum = 0;
  for (size_t i = static_cast<size_t>(first); i <= static_cast<size_t>(last); ++i) sum += p.ns[i];
  return sum;
}

Result<void> write_sources(const Database& db, const FactInput& in) {
  FactTable table(db, "fact_source");
  std::set<std::string> seen;
  for (const RankAnalysis& rank : in.run.ranks) {
    if (!seen.insert(rank.path).second) continue;
    const std::string version = one_line(to_utf8(rank.tool_version));
    table.row(shown_path(in, rank), rank.format, known(!version.empty(), version), rank.rank);
  }
  return table.result();
}

}  // namespace

RecordedGpu recorded_gpu(const RunAnalysis& run, const Platforms& platforms) {
  RecordedGpu out;
  for (const RankAnalysis& rank : run.ranks) {
    for (const DeviceAnalysis& device : rank.devices) {
      const int64_t bytes = platforms.memory_of(device.gpu, device.memory.capacity_bytes);
      if (out.name.empty() && !device.gpu.empty()) {
        out.name = device.gpu;
        out.memory_bytes = bytes;
        out.platform = platforms.find(device.gpu, bytes);
      }
      if (bytes > 0 && (out.smallest_bytes == 0 || bytes < out.smallest_bytes))
        out.smallest_bytes = bytes;
    }
  }
  return out;
}

std::string shown_path(const FactInput& in, const RankAnalysis& rank) {
  return in.options.show_names ? one_line(to_utf8(rank.path)) : base_name(rank.path);
}

std::optional<std::string> shown_host(const FactInput& in, const RankAnalysis& rank) {
  if (std::all_of(in.run.ranks.begin(), in.run.ranks.end(),
                  [](const RankAnalysis& r) { return r.host_name.empty(); }))
    return std::nullopt;
  if (in.options.show_names && !rank.host_name.empty()) return one_line(to_utf8(rank.host_name));
  return fmt::format("host{}", rank.host);
}

Result<void> write_run(const Database& db, const FactInput& in) {
  const RunFacts facts = facts_of(in);
  const RunVerdict& v = in.run.verdict;
  const RunMeans& means = in.run.means;
  const RunEvidence& e = in.evidence;
  const bool judged = v.kind != VerdictKind::insufficient;
  const bool devices = !means.devices.empty();
  const bool stepped = devices && e.complete_steps > 0;
  const TimeNs step = means.step_ns();
  const auto share = [&](Leaf first, Leaf last) {
    return known(devices, ratio(sum_of(means.mean, first, last), step));
  };
  const Platform* platform = in.gpu.platform;
  std::vector<std::string> ranks;
  for (int32_t rank : v.where_ranks) ranks.push_back(std::to_string(rank));
  std::optional<std::string> where_ranks = joined(ranks);
  if (where_ranks) std::erase(*where_ranks, ' ');
  const Told* told = told_by(in.run);
  FactTable table(db, "fact_run");
  table.row(run_id(in.run), WS_VERSION, in.run.ranks.size(), means.devices.size(),
            known(facts.world_size > 0, facts.world_size), v.single_rank_of_job,
            known(!in.gpu.name.empty(), in.gpu.name),
            known(in.gpu.smallest_bytes > 0, in.gpu.smallest_bytes),
            platform == nullptr ? std::nullopt : std::optional(platform->key),
            told == nullptr ? std::nullopt : std::optional(told->framework),
            told == nullptr ? std::nullopt : std::optional(told->by), name_of(facts.origin),
            window_name(in.run.step_window),
            stepped ? e.complete_steps : (devices ? int64_t{0} : facts.host_steps),
            stepped ? facts.steady : int64_t{0}, known(devices, step), known(stepped, e.median_ns),
            known(stepped, e.min_ns), known(stepped, e.max_ns), known(stepped, e.spread_share),
            critical_rank(means), known(!in.run.selection.empty(), in.run.selection),
            name_of(v.kind), v.loss ? std::optional(name_of(*v.loss)) : std::nullopt,
            v.wall ? std::optional(name_of(*v.wall)) : std::nullopt, name_of(v.cause),
            name_of(v.confidence), known(judged, v.share_lo), known(judged, v.share_hi),
            v.price ? std::optional(v.price->lo) : std::nullopt,
            v.price ? std::optional(v.price->hi) : std::nullopt,
            v.also ? std::optional(name_of(*v.also)) : std::nullopt,
            known(v.also.has_value(), name_of(v.also_cause)), where_ranks, joined(v.where_steps),
            share(Leaf::gemm, Leaf::recompute), share(Leaf::comm_tp_wait, Leaf::comm_other_unsplit),
            share(Leaf::copy_h2d, Leaf::copy_offload), share(Leaf::idle_launch, Leaf::idle_unknown),
            share(Leaf::idle_unknown, Leaf::idle_unknown), known(devices, e.profiler_share),
            v.latent_memory_wall, devices ? ratio(means.not_blocking_ns, step) : 0.0,
            devices ? ratio(means.opaque_ns, step) : 0.0, known(devices, e.linked_share),
            noted(in.run, NoteCode::other_accelerator),
            in.run.across.pipeline ? std::optional(in.run.across.pipeline->stage_max_over_mean)
                                   : std::nullopt,
            noted(in.run, NoteCode::truncated_file),
            known(facts.os == "linux" || facts.os == "windows", facts.os),
            looks_like_inference(in.run) ? std::optional<int64_t>(1) : std::nullopt,
            noted(in.run, NoteCode::damaged_file), noted(in.run, NoteCode::time_out_of_range),
            known(!facts.format.empty(), facts.format), lone_gpu(in.run, e));
  if (auto ok = table.result(); !ok) return ok;
  return write_sources(db, in);
}

}  // namespace ws
