#pragma once
// Models and published configurations (rules/configurations.json): sizes by name, and what others
// ran that is nearest to a configuration.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/layout.h"
#include "config/run_config.h"

namespace ws {

struct KnownModel {
  std::string about, source;
  std::vector<std::string> also;                           // further names
  std::vector<std::pair<std::string, ConfigValue>> sizes;  // keys of the run configuration
};

struct KnownRun {
  std::string model, name, platform, precision, dispatcher, recompute, graphs, tflops_per_gpu;
  std::string source, note;
  int64_t gpus = 0, seq_len = 0, tp = 1, cp = 1, ep = 1, etp = 1, pp = 1, vpp = 1;
};

struct KnownRuns {
  std::map<std::string, KnownModel> models;
  std::vector<KnownRun> runs;
};

Result<KnownRuns> load_known_runs(const std::string& path);

// Adds the sizes of the model the configuration names; a name that is not known is a note.
void add_model_sizes(RunConfig& config, const KnownRuns& known);

// The run of the same model (named, or of the same sizes) whose platform, length and layout are
// nearest; nullptr: nobody published one of this model.
const KnownRun* nearest_run(const RunConfig& config, const Layout& layout,
                            const std::string& platform, const KnownRuns& known);

}  // namespace ws
