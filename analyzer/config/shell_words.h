#pragma once
// The words of a shell script as far as they can be known without running it: comments, quotes,
// line continuations, assignments, defaults and small arithmetic are followed; what comes from
// outside (arguments, commands, other files) becomes kFromOutside inside the word. Nothing is run.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace ws {

inline constexpr char kFromOutside = '\x01';

struct ShellWord {
  std::string text;
  size_t line = 0;
  bool command_end = false;  // nothing that follows belongs to the same command
};

struct ShellAssignment {
  std::string name, value;
  size_t line = 0;
};

struct ShellScript {
  std::vector<ShellWord> words;  // in order, assignments among them left out
  std::vector<ShellAssignment> assignments;
  std::vector<std::string> outside;  // what was not known: "$TP", "the output of a command"
};

// `place` is the file's name for messages. Refuses scripts that expand to more than a few MB.
Result<ShellScript> shell_words(std::string_view text, const std::string& place);

}  // namespace ws
