#pragma once
// One reader per form of a run configuration; read_config() chooses by content. Private to config/.
#include <string_view>

#include "config/config_builder.h"
#include "config/shell_words.h"

namespace ws {

// Words of a command: Megatron-LM flags, torchtitan's (--training.seq_len 8192), launcher flags,
// Bridge overrides (model.x=8), NAME=VALUE.
void read_words(const std::vector<ShellWord>& words, ConfigBuilder& out);
// nullptr: no flag of a known setting.
const Spelling* flag_spelling(std::string_view name);
// torchtitan is named, or one of its flags.
bool starts_torchtitan(const std::vector<ShellWord>& words);
// What Megatron-LM prints at start, between its two lines of dashes.
bool has_argument_dump(std::string_view text);
void read_argument_dump(std::string_view text, ConfigBuilder& out);
// YAML and JSON as trees of sections: Bridge, NeMo, Hugging Face and the native form.
Result<RunConfig> read_tree(std::string_view text, const std::string& source);
// "[section]" and "key = value" lines (torchtitan), and "cfg.model.x = value" lines (Bridge).
bool has_toml(std::string_view text);
bool has_python_settings(std::string_view text);
void read_settings(std::string_view text, ConfigBuilder& out);

// Without spaces and tabs at both ends.
std::string_view trimmed(std::string_view s);

// f(line text without its end, line number from 1)
template <class F>
void for_each_line(std::string_view text, F f) {
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    f(line, ++number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace ws
