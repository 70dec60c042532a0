// Tested by: read_config_test.cpp
#include <algorithm>

#include "config/readers.h"

namespace ws {
namespace {

bool is_flag(std::string_view w) {
  return w.size() > 2 && w[0] == '-' && w[1] == '-' && (w[2] < '0' || w[2] > '9');
}

// "CUDA_DEVICE_MAX_CONNECTIONS=1" before or as an argument of the command.
void read_assignment(const ShellWord& word, ConfigBuilder& out) {
  const size_t equals = word.text.find('=');
  if (equals == std::string::npos || equals == 0) return;
  std::string_view name = std::string_view(word.text).substr(0, equals);
  const std::string_view value = std::string_view(word.text).substr(equals + 1);
  while (!name.empty() && (name[0] == '+' || name[0] == '~')) name.remove_prefix(1);
  if (name.find('.') != std::string_view::npos) {
    if (const Spelling* s = key_table().by_path(name))
      out.set(*s, value, name, word.line);
    else
      out.unknown(name, word.line);
    return;
  }
  out.set_variable(name, value, word.line);
}

// How many of the words after `flag` are its values.
size_t count_values(const std::vector<ShellWord>& words, size_t flag) {
  size_t n = 0;
  for (size_t i = flag; !words[i].command_end && i + 1 < words.size(); ++i, ++n)
    if (is_flag(words[i + 1].text)) break;
  return n;
}

}  // namespace

void read_words(const std::vector<ShellWord>& words, ConfigBuilder& out) {
  for (size_t i = 0; i < words.size(); ++i) {
    const ShellWord& word = words[i];
    if (!is_flag(word.text)) {
      read_assignment(word, out);
      continue;
    }
    const size_t equals = word.text.find('=');
    const std::string name = word.text.substr(0, equals);
    const Spelling* s = key_table().by_flag(name);
    if (s == nullptr) {
      out.unknown(name, word.line);
      continue;
    }
    if (equals != std::string::npos) {
      out.set(*s, std::string_view(word.text).substr(equals + 1), name, word.line);
      continue;
    }
    const bool bare = !s->constant.empty() || s->key->type == KeyType::boolean;
    const size_t values = count_values(words, i);
    if (bare) {
      out.set(*s, "true", name, word.line);
    } else if (values == 0) {
      out.refuse(word.line, name, "a value", "none");
    } else if (s->key->type == KeyType::list) {
      std::vector<std::string> list;
      for (size_t k = 1; k <= values; ++k) list.push_back(words[i + k].text);
      out.set_list(*s, list, name, word.line);
      i += values;
    } else {
      out.set(*s, words[i + 1].text, name, word.line);
      ++i;
    }
  }
}

}  // namespace ws
