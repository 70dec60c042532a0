#pragma once
// What was asked for and what was recorded, as one row. The recording wins: advice is for what
// really ran. Where they contradict each other the row says what was asked, and so does a note.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/layout.h"
#include "facts/config_denials.h"

namespace ws {

struct Contradiction {
  std::string key, configured, recorded;
  bool told_by_rule = false;  // a rule says so, with what to check
  // "tp: the configuration says 4, the recording shows 2"
  std::string sentence(std::string_view said_by = "the configuration") const;
};

struct ConfigMerge {
  FactRowValues row;
  std::vector<Contradiction> contradictions;
  // Sizes of the parallel groups or the framework are among them: it is the file of another run,
  // and the row has nothing of it.
  bool other_run = false;
  // The file's own sizes make no grid of the job's GPUs: that is told with its arithmetic.
  bool unfit = false;
  // Another number of GPUs: settings may be this run's, rates of the whole job are not.
  bool other_scale = false;
  std::set<std::string> not_in_use;  // keys whose value in the file is not that of the run
};

// defaults: keys that the file does not name. A script may be half of a command, so they make no
// other run. unfit: see layout_against_gpus. of_other_run: what else shows that it is one.
ConfigMerge merge_config(const FactRowValues& asked, const FactRowValues& recorded,
                         const std::set<std::string>& defaults = {},
                         const std::optional<Contradiction>& unfit = std::nullopt,
                         const ConfigShown& shown = {},
                         const std::vector<Contradiction>& of_other_run = {});

// The file with what the run has instead of what the recording denies: layout, memory and lists of
// modules are of that. That of another run stays as it is.
RunConfig as_it_ran(const RunConfig& file, const ConfigMerge& merge);

// A file of Megatron against a program that can not be one, or a file of PyTorch against
// Megatron's: of torchtitan against any name of Megatron, of PyTorch against Megatron's own
// training loop, since Megatron Core is a library too. Megatron-LM and Bridge stand in for each
// other: one program may have both.
std::optional<Contradiction> framework_against_names(const RunConfig& config,
                                                     const ConfigShown& shown);

// Sizes of the file that do not divide its GPUs, or those of the job that ran; world: its ranks, 0:
// not known. A file for more GPUs than ran whose layout fits into those too is told by other_scale.
std::optional<Contradiction> layout_against_gpus(const Layout& layout, int64_t world);

}  // namespace ws
