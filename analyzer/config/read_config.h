#pragma once
// read_config: a run configuration from any of its forms, chosen by content, never by name:
//   Megatron-LM    a launch script, a command line, its words (JSON list or NUL-separated), the
//                  argument dump in a log
//   Bridge, NeMo   YAML sections, overrides on a command line, cfg.x.y = v lines of a recipe
//   torchtitan     TOML
//   native         flat JSON or YAML with the keys of schemas/run_config.schema.json
// The file is not run, nothing it names is opened.
#include <string>
#include <string_view>

#include "config/run_config.h"

namespace ws {

Result<RunConfig> read_config_file(const std::string& path);
// `source`: the name for messages, without its folders.
Result<RunConfig> read_config(std::string_view text, const std::string& source);

}  // namespace ws
