#include "collector/step_pattern.h"

#include <algorithm>
#include <new>

namespace ws::collector {
namespace {

constexpr uint64_t kMix = 0x9e3779b97f4a7c15ull;
constexpr uint32_t kPeer =
    1;  // all sends and receives in a row: their sizes and number follow data

uint64_t mixed(uint64_t h, uint64_t value) {
  h = (h ^ value) * kMix;
  return h ^ h >> 29;
}

uint32_t sign(const NcclCall& c) {
  if (c.is_peer) return kPeer;
  const uint64_t h =
      mixed(mixed(mixed(kMix, c.name), c.communicator), static_cast<uint64_t>(c.bytes));
  return std::max<uint32_t>(kPeer + 1, static_cast<uint32_t>(h >> 32));
}

}  // namespace

StepPattern::Said StepPattern::add(const NcclCall& call, int64_t now_ns) noexcept {
  if (gave_up_ || call.bytes < kFewestBytes) return {};
  const uint32_t operation = sign(call);
  if (operation == kPeer && last_ == kPeer) return {};
  last_ = operation;
  ++seen_;
  last_ns_ = now_ns;
  try {
    return take(operation, now_ns);
  } catch (const std::bad_alloc&) {
    forget_history();
    gave_up_ = true;
    return {};
  }
}

StepPattern::Said StepPattern::take(uint32_t operation, int64_t now_ns) {
  Said said;
  const size_t at = history_.size();
  bool completed = false;
  if (!final_) {
    history_.push_back(operation);
    follow_candidates();
    find_candidate(now_ns);
    if (!pattern_.empty()) completed = advance(operation, at);
    const bool told = told_;
    if (try_candidates()) {
      said.revised = told;
      completed = matched_ == 0;  // it was put in force behind a whole repeat
    }
    trust(now_ns);
    if (!final_ && history_.size() >= kMostOperations) {
      forget_history();
      (sure_ ? final_ : gave_up_) = true;
    }
  } else {
    completed = advance(operation, ++last_break_);
  }
  if (completed && sure_) {
    said.begins = static_cast<int64_t>(completed_);
    told_ = true;
  }
  return said;
}

void StepPattern::follow_candidates() {
  const size_t at = history_.size() - 1;
  for (Candidate& c : candidates_) {
    if (c.period == 0) continue;
    if (history_[at] == history_[at - c.period]) {
      ++c.run;
    } else {
      c = {};
    }
  }
}

// The same few operations as some time before: perhaps the distance is that of all.
void StepPattern::find_candidate(int64_t now_ns) {
  const size_t n = history_.size();
  if (n < kContext) return;
  uint64_t h = kMix;
  for (size_t i = n - kContext; i < n; ++i) h = mixed(h, history_[i]);
  if (contexts_.empty()) contexts_.resize(kContexts);
  Context& known = contexts_[(h >> 16) % kContexts];
  const auto check = static_cast<uint32_t>(h >> 32) | 1u;
  const size_t before = known.check == check ? known.at : n;
  known = {check, static_cast<uint32_t>(n - 1)};
  if (before >= n - 1) return;
  const auto period = static_cast<uint32_t>(n - 1 - before);
  Candidate* room = candidates_.data();
  for (Candidate& c : candidates_) {
    // Known already, as itself or as a part.
    if (c.period != 0 && period % c.period == 0 && (c.period == period || c.run >= period)) return;
    if (c.run < room->run) room = &c;  // that of none is 0
  }
  *room = {period, kContext, now_ns, 0};
}

// The smallest that can be believed.
bool StepPattern::try_candidates() {
  Candidate* best = nullptr;
  for (Candidate& c : candidates_) {
    if (c.period == 0 || c.run < uint64_t{2} * c.period || c.run < c.next_try) continue;
    if (c.period == pattern_.size()) continue;  // an interruption is over
    if (best == nullptr || c.period < best->period) best = &c;
  }
  if (best == nullptr) return false;
  if (accept(*best)) return true;
  best->next_try = best->run + best->run / 2 + 1;
  return false;
}

bool StepPattern::accept(const Candidate& c) {
  const size_t n = history_.size(), p = c.period;
  size_t start = n - std::min<size_t>(n, c.run + p);
  while (start > 0 && history_[start - 1] == history_[start - 1 + p]) --start;
  if (!pattern_.empty() && last_break_ < start) return false;  // several repeats of that in force
  std::vector<uint32_t> own(history_.begin() + static_cast<std::ptrdiff_t>(n - p), history_.end());
  own.insert(own.end(), pattern_.begin(),
             pattern_.end());  // what is to be replaced counts against it
  std::sort(own.begin(), own.end());
  const auto first = std::find_if(history_.begin(), history_.end(), [&](uint32_t operation) {
    return std::binary_search(own.begin(), own.end(), operation);
  });
  const auto irregular = start - std::min(start, static_cast<size_t>(first - history_.begin()));
  if (n - start < 2 * irregular) return false;
  put_in_force(c, start);
  return true;
}

void StepPattern::put_in_force(const Candidate& c, size_t start) {
  const auto begin = history_.begin() + static_cast<std::ptrdiff_t>(start);
  pattern_.assign(begin, begin + c.period);
  failure_.assign(c.period, 0);
  for (size_t i = 1, k = 0; i < c.period; ++i) {
    while (k > 0 && pattern_[i] != pattern_[k]) k = failure_[k - 1];
    if (pattern_[i] == pattern_[k]) ++k;
    failure_[i] = static_cast<uint32_t>(k);
  }
  matched_ = 0;
  completed_ = 0;
  sure_ = told_ = false;
  for (size_t i = 0; i < history_.size(); ++i) advance(history_[i], i);
  unbroken_ = (c.run - kContext) / c.period;  // those behind since_ns
  unbroken_since_ns_ = c.since_ns;
}

// True when a repeat is complete.
bool StepPattern::advance(uint32_t operation, size_t at) {
  bool broken = false;
  while (matched_ > 0 && pattern_[matched_] != operation) {
    matched_ = failure_[matched_ - 1];
    broken = true;
  }
  if (pattern_[matched_] == operation) {
    ++matched_;
  } else {
    broken = true;
  }
  if (broken) {
    last_break_ = at;
    unbroken_ = 0;
    unbroken_since_ns_ = last_ns_;
  }
  if (matched_ < pattern_.size()) return false;
  matched_ = 0;
  ++completed_;
  ++unbroken_;
  return true;
}

int64_t StepPattern::mean_ns() const {
  return unbroken_ == 0 ? 0 : (last_ns_ - unbroken_since_ns_) / static_cast<int64_t>(unbroken_);
}

void StepPattern::trust(int64_t now_ns) {
  if (pattern_.empty() || unbroken_ < 2 || mean_ns() < kShortestStepNs) return;
  const int64_t lasted_ns = now_ns - unbroken_since_ns_;
  if (lasted_ns >= kSureNs) sure_ = true;
  if (lasted_ns < kFinalNs) return;
  final_ = true;
  forget_history();
}

void StepPattern::forget_history() {
  history_ = {};
  contexts_ = {};
  candidates_ = {};
}

}  // namespace ws::collector
