#pragma once
// Everything the facts need of one run: its ranks, their means, the verdict.
#include <string>
#include <vector>

#include "analysis/across_ranks.h"
#include "analysis/price_run.h"
#include "analysis/verdict.h"

namespace ws {

struct RunAnalysis {
  std::vector<RankAnalysis> ranks;  // by rank; rank numbers are unique
  AcrossRanks across;
  RunMeans means;
  PricedRun what_if;
  RunVerdict verdict;
  StepWindow step_window = StepWindow::device;
  std::string selection;  // what --step, --rank, --time chose; "": everything
  Notes notes;            // of the files, of every rank, of the run
};

}  // namespace ws
