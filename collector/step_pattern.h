#pragma once
// Steps of a job that marks none, from what it asks NCCL for: the smallest pattern of operations
// that repeats and explains all that was asked. While a job runs the layers of its first step
// repeat too, and nothing in the sequence tells them from steps. So a pattern is believed in
// degrees:
//   in force  its last three repeats are exact, and with all before them they make up two thirds of
//             what came since the first of its operations, or of those of the pattern in force
//             before: layers fail this from the second step on
//   sure      it has lasted for a time that layers of one step seldom take, and is not too short
//             for a step: from here on steps are told
//   final     it has lasted longer than any step: what breaks it now is an interruption
// Until it is final a longer pattern that breaks it takes its place, and the steps are counted anew
// from the first operation on. Memory is bounded: see kMostOperations. One caller at a time.
// Tested by: step_pattern_test.cpp
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ws::collector {

struct NcclCall {
  uint64_t name = 0;  // any number that is the operation's own
  uint64_t communicator = 0;
  int64_t bytes = 0;
  bool is_peer = false;  // a send or a receive
};

class StepPattern {
 public:
  // Smaller operations carry counts, norms and flags: they come at odd times and end no step.
  static constexpr int64_t kFewestBytes = 4096;
  static constexpr int64_t kSureNs = 2'000'000'000, kFinalNs = 60'000'000'000;
  static constexpr int64_t kShortestStepNs = 10'000'000;
  static constexpr size_t kMostOperations = size_t{1} << 20;  // looked through for a pattern

  struct Said {
    int64_t begins = -1;   // the step that begins, counted from 0; -1: none
    bool revised = false;  // what was told as steps before were parts of steps
  };
  Said add(const NcclCall& call, int64_t now_ns) noexcept;

  bool is_final() const { return final_; }
  bool gave_up() const { return gave_up_; }
  uint64_t seen() const { return seen_; }  // operations that count
  size_t operations() const {
    return pattern_.size();
  }  // of the pattern in force; 0: there is none
  uint64_t repeats() const { return completed_; }
  int64_t mean_ns() const;  // of its repeats; 0: not known

 private:
  // A distance at which the sequence has been repeating itself.
  struct Candidate {
    uint32_t period = 0;  // 0: none
    uint64_t run = 0;     // operations that were equal to the one a period before
    int64_t since_ns = 0;
    uint64_t next_try = 0;  // at this run
  };
  static constexpr size_t kContext = 4, kCandidates = 16;
  static constexpr uint32_t kContexts = 1u << 16;
  struct Context {  // the last place at which these kContext operations came
    uint32_t check = 0, at = 0;
  };

  Said take(uint32_t operation, int64_t now_ns);
  void follow_candidates();
  void find_candidate(int64_t now_ns);
  bool try_candidates();
  bool accept(const Candidate& c);
  bool advance(uint32_t operation, size_t at);
  void put_in_force(const Candidate& c, size_t start);
  void trust(int64_t now_ns);
  void forget_history();

  std::vector<uint32_t> history_;
  std::vector<Context> contexts_;
  std::array<Candidate, kCandidates> candidates_;
  uint64_t seen_ = 0;
  uint32_t last_ = 0;

  std::vector<uint32_t> pattern_,
      failure_;  // in force; failure function of Knuth, Morris and Pratt
  size_t matched_ = 0, last_break_ = 0;
  uint64_t completed_ = 0, unbroken_ = 0;  // repeats: all, and those since unbroken_since_ns_
  int64_t unbroken_since_ns_ = 0, last_ns_ = 0;
  bool sure_ = false, told_ = false, final_ = false, gave_up_ = false;
};

}  // namespace ws::collector
