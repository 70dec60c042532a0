#pragma once
// From ranks analyzed one by one, in any order, to the run. A caller reads a file, analyzes it,
// drops the trace and keeps the small RankAnalysis; several threads may do so at once:
//
//   auto parts = in_parallel(files.size(), threads, [&](size_t i) { ...read, analyze_rank... });
//   Result<RunAnalysis> run = combine_ranks(std::move(all), options);
#include <atomic>
#include <thread>

#include "analysis/run_analysis.h"
#include "base/result.h"

namespace ws {

struct RunOptions {
  StepWindow step_window = StepWindow::device;
  std::vector<int32_t> ranks;  // --rank: keep these, empty: all
  std::string selection;       // printable, see RunAnalysis
};

// ranks in the order of the inputs: their rank numbers are made unique (two files that claim one
// rank are kept apart, files that do not say are numbered in order), recordings of different runs
// are an error that lists them. notes: of the inputs as a whole.
Result<RunAnalysis> combine_ranks(std::vector<RankAnalysis> ranks, const RunOptions& options,
                                  Notes notes = {});

// Results of make(0) .. make(n - 1) in that order, whatever the number of threads.
template <class Make>
auto in_parallel(size_t n, unsigned threads, Make make) {
  std::vector<std::optional<decltype(make(size_t{0}))>> slots(n);
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < n; i = next++) slots[i].emplace(make(i));
  };
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < threads && t < n; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::vector<decltype(make(size_t{0}))> out;
  out.reserve(n);
  for (auto& slot : slots) out.push_back(std::move(*slot));
  return out;
}

}  // namespace ws
