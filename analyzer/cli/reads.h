#pragma once
// All files that a command reads. None of them may be in the place of an output: the one table
// that check_targets asks.
#include <string>
#include <vector>

namespace ws::cli {

struct Reads {
  std::vector<std::string> files;         // traces, partials, fact databases, run configurations
  std::vector<std::string> rule_folders;  // of --rules; the catalogue is added where it lies
};

// What the command reads, with what comes along unnamed: later segments of a recording.
Reads reads_of(std::vector<std::string> inputs, const std::string& config,
               const std::vector<std::string>& rule_folders);

// What `target` is, or would be to the next command: "an input of this command"; "" when nothing
// reads it.
std::string read_as(const std::string& target, const Reads& reads);

}  // namespace ws::cli
