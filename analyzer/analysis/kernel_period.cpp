// The rarest kernel that cuts the sequence into alike pieces gives the longest period, hence a step
// and not a micro-batch or a layer - if at least three steps were recorded. With fewer, the layers
// of one step repeat just as well, so a period must also look like a step:
//   - at least 5 kernels with 3 different names;
//   - when optimizer kernels were seen at all, every period has some; else most of them hold
//     something that belongs to a step and not to a layer: a copy from or to the host, or a
//     synchronizing call;
//   - what lies before the first and after the last period is made of the same kernels (a step's
//     embedding, loss and head stand outside the repeated layers and give them away).
// Tested by: kernel_period_test.cpp
#include "analysis/kernel_period.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/host_states.h"

namespace ws {
namespace {

constexpr size_t kMinRepeats = 3;
constexpr size_t kMaxCandidates = 50;
constexpr double kAlike = 0.9;
constexpr size_t kMinPeriodOps = 5, kMinPeriodNames = 3;

// Do at least half of the neighbouring segments agree? Counts per symbol, reset by touch lists, so
// that one candidate costs one pass; gives up as soon as half of them failed.
class SegmentCompare {
 public:
  explicit SegmentCompare(size_t symbols) : previous_(symbols, 0), current_(symbols, 0) {}

  bool alike(const std::vector<uint32_t>& s, const std::vector<uint32_t>& at) {
    // A name that cuts at random fails nearly everywhere: nine pairs spread over the sequence tell
    // before all of it is read.
    const size_t pairs = at.size() - 2;
    constexpr size_t kSamples = 9;
    if (pairs > 4 * kSamples) {
      size_t good = 0;
      for (size_t n = 0; n < kSamples; ++n) {
        const size_t first = n * (pairs - 1) / (kSamples - 1);
        good += alike(s, at, first, first + 2) ? 1 : 0;
      }
      if (good <= 1) return false;
    }
    return alike(s, at, 0, at.size() - 1);
  }

 private:
  // Segments [from, to): do at least half of the neighbours agree?
  bool alike(const std::vector<uint32_t>& s, const std::vector<uint32_t>& at, size_t from,
             size_t to) {
    const size_t pairs = to - from - 1;
    size_t failed = 0;
    bool ok = true;
    for (size_t i = from; i < to && ok; ++i) {
      for (uint32_t k = at[i]; k < at[i + 1]; ++k) {
        if (current_[s[k]]++ == 0) touched_.push_back(s[k]);
      }
      if (i > from && !neighbours_alike(at[i + 1] - at[i], at[i] - at[i - 1])) ++failed;
      ok = 2 * failed < pairs;
      turn();
    }
    clear();
    return ok;
  }
  bool neighbours_alike(size_t now, size_t before) const {
    size_t common = 0;
    for (uint32_t symbol : touched_) common += std::min(current_[symbol], previous_[symbol]);
    const size_t all = now + before - common;
    return static_cast<double>(common) >= kAlike * static_cast<double>(all);
  }
  void turn() {
    for (uint32_t symbol : before_) previous_[symbol] = 0;
    for (uint32_t symbol : touched_) {
      previous_[symbol] = current_[symbol];
      current_[symbol] = 0;
    }
    before_.swap(touched_);
    touched_.clear();
  }
  void clear() {
    for (uint32_t symbol : before_) previous_[symbol] = 0;
    for (uint32_t symbol : touched_) current_[symbol] = 0;
    before_.clear();
    touched_.clear();
  }
  std::vector<uint32_t> previous_, current_, touched_, before_;
};

struct Sequence {
  std::vector<uint32_t> ops, symbols;  // rows of ops; names made dense
  size_t names = 0;
};

// Kernels of the stream with most compute time, in order of begin.
Sequence main_stream(const Trace& trace, const OpLabels& labels, DeviceId device) {
  std::vector<TimeNs> busy(trace.streams.size(), 0);
  const auto& rows = trace.ops_by_device[row(device)];
  for (uint32_t i : rows) {
    if (is_compute(labels.cls[i]))
      busy[row(trace.ops.stream[i])] += trace.ops.end_ns[i] - trace.ops.begin_ns[i];
  }
  Sequence out;
  if (busy.empty()) return out;
  const auto stream =
      static_cast<size_t>(std::max_element(busy.begin(), busy.end()) - busy.begin());
  std::vector<uint32_t> dense(trace.strings.size(), kNoRow);
  for (uint32_t i : rows) {
    if (row(trace.ops.stream[i]) != stream || trace.ops.kind[i] != OpKind::kernel) continue;
    uint32_t& symbol = dense[row(trace.ops.name[i])];
    if (symbol == kNoRow) symbol = static_cast<uint32_t>(out.names++);
    out.ops.push_back(i);
    out.symbols.push_back(symbol);
  }
  return out;
}

// Numbers of the periods in which each of the times lies, each number once.
size_t periods_with(std::vector<TimeNs> times, const std::vector<TimeNs>& boundaries) {
  std::sort(times.begin(), times.end());
  size_t with = 0;
  auto t = times.begin();
  for (size_t i = 0; i + 1 < boundaries.size(); ++i) {
    t = std::lower_bound(t, times.end(), boundaries[i]);
    with += t != times.end() && *t < boundaries[i + 1] ? 1 : 0;
  }
  return with;
}

// Does most of the periods hold something that only a step has?
bool has_step_sign(const Trace& trace, const OpLabels& labels, DeviceId device,
                   const std::vector<TimeNs>& boundaries) {
  std::vector<TimeNs> copies, syncs;
  for (uint32_t i : trace.ops_by_device[row(device)]) {
    if (is_copy(labels.cls[i])) copies.push_back(trace.ops.begin_ns[i]);
  }
  std::vector<int8_t> is_sync(trace.strings.size(), -1);
  for (size_t i = 0; i < trace.calls.size(); ++i) {
    int8_t& sync = is_sync[row(trace.calls.name[i])];
    if (sync < 0)
      sync = state_of_call(trace.strings[trace.calls.name[i]]) == HostState::sync ? 1 : 0;
    if (sync == 1) syncs.push_back(trace.calls.end_ns[i]);
  }
  const size_t most = (4 * (boundaries.size() - 1) + 4) / 5;
  return periods_with(std::move(copies), boundaries) >= most ||
         periods_with(std::move(syncs), boundaries) >= most;
}

// Long enough, of several kernels, with the optimizer if there is one.
struct Shape {
  bool big_enough = true, with_optimizer = true, any_optimizer = false;
  size_t strange = 0;  // ops around the periods whose kernels occur in none
};

Shape shape_of(const Sequence& s, const std::vector<uint32_t>& at, const OpLabels& labels) {
  Shape out;
  const auto optimizes = [&](uint32_t op) { return (labels.flags[op] & kFlagOptimizer) != 0; };
  out.any_optimizer = std::any_of(s.ops.begin(), s.ops.end(), optimizes);
  std::vector<uint32_t> last_seen(s.names, kNoRow);  // period in which a name was met last
  for (uint32_t i = 0; i + 1 < at.size(); ++i) {
    size_t names = 0;
    bool optimizer = false;
    for (uint32_t k = at[i]; k < at[i + 1]; ++k) {
      names += last_seen[s.symbols[k]] != i ? 1 : 0;
      last_seen[s.symbols[k]] = i;
      optimizer = optimizer || optimizes(s.ops[k]);
    }
    if (names < kMinPeriodNames || at[i + 1] - at[i] < kMinPeriodOps) out.big_enough = false;
    if (!optimizer) out.with_optimizer = false;
  }
  for (size_t k = 0; k < s.symbols.size(); ++k) {
    if (k < at.front() || k >= at.back()) out.strange += last_seen[s.symbols[k]] == kNoRow ? 1 : 0;
  }
  return out;
}

}  // namespace

std::vector<TimeNs> optimizer_bursts(const Trace& trace, const OpLabels& labels, DeviceId device) {
  struct Optimizer {
    size_t index = 0;  // among the compute ops
    TimeNs end_ns = 0;
  };
  std::vector<Optimizer> optimizers;
  size_t n = 0, longest = 0;
  for (uint32_t i : trace.ops_by_device[row(device)]) {
    if (!is_compute(labels.cls[i])) continue;
    if ((labels.flags[i] & kFlagOptimizer) != 0) {
      if (!optimizers.empty()) longest = std::max(longest, n - optimizers.back().index);
      optimizers.push_back({n, trace.ops.end_ns[i]});
    }
    ++n;
  }
  const size_t apart = std::max<size_t>(8, longest / 4);
  std::vector<TimeNs> out;
  size_t first = 0;
  for (size_t i = 0; i < optimizers.size(); ++i) {
    if (i == 0 || optimizers[i].index - optimizers[i - 1].index > apart) {
      out.push_back(optimizers[i].end_ns);
      if (i == 0) first = optimizers[i].index;
    } else {
      out.back() = std::max(out.back(), optimizers[i].end_ns);
    }
  }
  if (out.size() < kMinRepeats || 2 * (optimizers.back().index - first) < n) return {};
  for (size_t i = 1; i < out.size(); ++i) out[i] = std::max(out[i], out[i - 1]);
  return out;
}

std::vector<uint32_t> repeating_symbol(const std::vector<uint32_t>& symbols) {
  if (symbols.empty()) return {};
  const size_t names = size_t{*std::max_element(symbols.begin(), symbols.end())} + 1;
  std::vector<uint32_t> count(names, 0), first(names, kNoRow), last(names, 0);
  for (uint32_t k = 0; k < symbols.size(); ++k) {
    ++count[symbols[k]];
    if (first[symbols[k]] == kNoRow) first[symbols[k]] = k;
    last[symbols[k]] = k;
  }
  std::vector<uint32_t> candidates;
  for (uint32_t s = 0; s < names; ++s) {
    if (count[s] >= kMinRepeats && 2 * size_t{last[s] - first[s]} >= symbols.size())
      candidates.push_back(s);
  }
  std::sort(candidates.begin(), candidates.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(count[a], first[a]) < std::pair(count[b], first[b]);
  });
  if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
  SegmentCompare compare(names);
  for (uint32_t candidate : candidates) {
    std::vector<uint32_t> at;
    for (uint32_t k = first[candidate]; k <= last[candidate]; ++k) {
      if (symbols[k] == candidate) at.push_back(k);
    }
    if (compare.alike(symbols, at)) return at;
  }
  return {};
}

namespace {

// Why a pattern that repeats is not taken for steps; "": it is.
std::string why_no_step(const Shape& shape, size_t period, bool step_sign) {
  if (!shape.big_enough) {
    return fmt::format(
        "its shortest repeat is too little for a step: that has {} kernels of {} names at least",
        kMinPeriodOps, kMinPeriodNames);
  }
  if (shape.strange > 1 && 20 * shape.strange > period)
    return "other kernels stand around it, as around the layers of a step";
  if (shape.any_optimizer && !shape.with_optimizer)
    return "not every repeat holds kernels of the optimizer, so that it may be a micro-batch";
  if (!shape.any_optimizer && !step_sign)
    return "nothing in it tells a step from a layer: no optimizer, no copy from or to the host, no "
           "synchronising call";
  return "";
}

}  // namespace

std::vector<TimeNs> kernel_periods(const Trace& trace, const OpLabels& labels, DeviceId device,
                                   std::string* refused) {
  const Sequence s = main_stream(trace, labels, device);
  const std::vector<uint32_t> at = repeating_symbol(s.symbols);
  if (at.empty()) return {};
  const Shape shape = shape_of(s, at, labels);
  const size_t period = (at.back() - at.front()) / (at.size() - 1);
  std::vector<TimeNs> out;
  out.reserve(at.size());
  for (uint32_t k : at) out.push_back(trace.ops.begin_ns[s.ops[k]]);
  const bool sign = !shape.any_optimizer && has_step_sign(trace, labels, device, out);
  const std::string why = why_no_step(shape, period, sign);
  if (why.empty()) return out;
  if (refused != nullptr)
    *refused = fmt::format("a pattern of {} kernel{} repeats {} times, but {}", period,
                           period == 1 ? "" : "s", at.size() - 1, why);
  return {};
}

size_t repeating_lag(const std::vector<uint32_t>& symbols) {
  constexpr double kPeak = 0.95, kPerfect = 0.995;
  const size_t n = symbols.size();
  if (n < 6 ||
      std::all_of(symbols.begin(), symbols.end(), [&](uint32_t s) { return s == symbols.front(); }))
    return 0;
  size_t best = 0;
  double best_match = kPeak;
  for (size_t lag = 1; lag <= n / 2; ++lag) {
    size_t equal = 0;
    for (size_t i = 0; i + lag < n; ++i) equal += symbols[i] == symbols[i + lag] ? 1 : 0;
    const double match = static_cast<double>(equal) / static_cast<double>(n - lag);
    if (match >= kPerfect) return lag;
    if (match > best_match) {
      best = lag;
      best_match = match;
    }
  }
  return best;
}

TimeNs collective_period(const Trace& trace, const OpLabels& labels, DeviceId device) {
  constexpr size_t kMost = 4096;  // the comparison of all lags is quadratic
  using Key = std::pair<CollectiveOp, uint32_t>;
  std::map<Key, uint32_t> dense;
  std::vector<uint32_t> symbols;
  std::vector<TimeNs> begin;
  for (uint32_t i : trace.ops_by_device[row(device)]) {
    if (labels.cls[i] != OpClass::comm) continue;
    const Key key{labels.coll[i], labels.communicator[i]};
    symbols.push_back(dense.try_emplace(key, static_cast<uint32_t>(dense.size())).first->second);
    begin.push_back(trace.ops.begin_ns[i]);
    if (symbols.size() == kMost) break;
  }
  const size_t lag = repeating_lag(symbols);
  if (lag == 0) return 0;
  std::vector<TimeNs> apart;
  for (size_t i = 0; i + lag < begin.size(); ++i) apart.push_back(begin[i + lag] - begin[i]);
  const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
  std::nth_element(apart.begin(), middle, apart.end());
  return *middle;
}

}  // namespace ws
