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

// torchtitan's flags are the paths of its TOML, with either dash: "--training.seq-len".
const Spelling* by_dotted_flag(std::string_view name) {
  std::string path(name.substr(2));
  std::replace(path.begin(), path.end(), '-', '_');
  return path.find('.') == std::string::npos ? nullptr : key_table().by_path(path);
}

bool is_truth(std::string_view w) {
  return w == "True" || w == "False" || w == "true" || w == "false";
}

// How many of the words after `flag` are its values.
size_t count_values(const std::vector<ShellWord>& words, size_t flag) {
  size_t n = 0;
  for (size_t i = flag; !words[i].command_end && i + 1 < words.size(); ++i, ++n)
    if (is_flag(words[i + 1].text)) break;
  return n;
}

}  // namespace

const Spelling* flag_spelling(std::string_view name) {
  const Spelling* s = key_table().by_flag(name);
  return s != nullptr || !is_flag(name) ? s : by_dotted_flag(name);
}

bool starts_torchtitan(const std::vector<ShellWord>& words) {
  return std::any_of(words.begin(), words.end(), [](const ShellWord& w) {
    const std::string name = w.text.substr(0, w.text.find('='));
    return w.text.find("torchtitan") != std::string::npos ||
           (is_flag(name) && by_dotted_flag(name) != nullptr);
  });
}

void read_words(const std::vector<ShellWord>& words, ConfigBuilder& out) {
  for (size_t i = 0; i < words.size(); ++i) {
    const ShellWord& word = words[i];
    if (!is_flag(word.text)) {
      read_assignment(word, out);
      continue;
    }
    const size_t equals = word.text.find('=');
    const std::string name = word.text.substr(0, equals);
    const Spelling* s = flag_spelling(name);
    if (s == nullptr) {
      out.unknown(name, word.line);
      continue;
    }
    if (equals != std::string::npos) {
      out.set(*s, std::string_view(word.text).substr(equals + 1), name, word.line);
      continue;
    }
    const size_t values = count_values(words, i);
    const bool dotted = name.find('.') != std::string::npos;
    const bool bare =
        !s->constant.empty() || (s->key->type == KeyType::boolean &&
                                 !(dotted && values > 0 && is_truth(words[i + 1].text)));
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
