#pragma once
// From ranks analyzed one by one, in any order, to the run. A caller reads a file, analyzes it,
// drops the trace and keeps the small RankAnalysis; several threads may do so at once:
//
//   auto parts = in_parallel(files.size(), threads, [&](size_t i) { ...read, analyze_rank... });
//   Result<RunAnalysis> run = combine_ranks(std::move(all), options);
#include "analysis/run_analysis.h"
#include "base/in_parallel.h"
#include "base/result.h"

namespace ws {

struct RunOptions {
  StepWindow step_window = StepWindow::device;
  std::vector<int32_t> ranks;  // --rank: keep these, empty: all
  PriceOptions price;          // what --no-what-if, --what-if and --threads chose
};

// ranks in the order of the inputs: their rank numbers are made unique (two files that claim one
// rank are kept apart, files that do not say are numbered in order), recordings of different runs
// are an error that lists them. notes: of the inputs as a whole.
Result<RunAnalysis> combine_ranks(std::vector<RankAnalysis> ranks, const RunOptions& options,
                                  Notes notes = {});

// By names of every rank: serving or a paged cache of keys and values, nothing of training.
bool looks_like_inference(const RunAnalysis& run);

}  // namespace ws
