// Megatron-LM prints every argument at start, also those left at their default:
//
//   ------------------------ arguments ------------------------
//     tensor_model_parallel_size ...................... 2
//   -------------------- end of arguments ---------------------
//
// Launchers put "0: " or "[rank0]: " before each line. Tested by: read_config_test.cpp
#include "config/readers.h"

namespace ws {
namespace {

constexpr std::string_view kBegin = "- arguments -", kEnd = "- end of arguments -";

// The word before the dots: prefixes of the launcher end in a blank.
std::string_view last_word(std::string_view s) {
  s = trimmed(s);
  const size_t blank = s.find_last_of(" \t");
  return blank == std::string_view::npos ? s : s.substr(blank + 1);
}

}  // namespace

bool has_argument_dump(std::string_view text) {
  return text.find(kBegin) != std::string_view::npos;
}

void read_argument_dump(std::string_view text, ConfigBuilder& out) {
  bool inside = false, done = false;
  for_each_line(text, [&](std::string_view line, size_t number) {
    if (done) return;  // the same dump again, from a restart in the same log
    if (line.find(kBegin) != std::string_view::npos) {
      inside = true;
      return;
    }
    if (inside && line.find(kEnd) != std::string_view::npos) {
      inside = false;
      done = true;
      return;
    }
    const size_t dots = line.find(" ..");
    if (!inside || dots == std::string_view::npos) return;
    const std::string_view name = last_word(line.substr(0, dots));
    const size_t value_at = line.find_first_not_of('.', dots + 1);
    if (name.empty() || value_at == std::string_view::npos) return;
    const std::string_view value = trimmed(line.substr(value_at));
    const Spelling* s = key_table().by_attribute(name);
    if (s == nullptr) return out.unknown(name, number);
    // A flag that stands for a constant says so only when it was given.
    if (!s->constant.empty() && value != "True") return;
    out.set(*s, value, name, number);
  });
}

}  // namespace ws
