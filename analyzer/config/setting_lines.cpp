// Settings as lines: torchtitan's TOML and the assignments of a Bridge recipe in Python. Only the
// forms a run configuration needs: strings, numbers, booleans and flat lists on one line.
// Tested by: read_config_test.cpp
#include "config/readers.h"

namespace ws {

std::string_view trimmed(std::string_view s) {
  const size_t first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

namespace {

bool is_dotted_name(std::string_view s) {
  if (s.empty()) return false;
  for (const char c : s) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '.' || c == '-';
    if (!ok) return false;
  }
  return true;
}

std::string_view section_of(std::string_view line) {
  line = trimmed(line.substr(0, line.find('#')));
  if (line.size() < 3 || line.front() != '[' || line.back() != ']') return {};
  const std::string_view name = line.substr(1, line.size() - 2);
  return is_dotted_name(name) ? name : std::string_view{};
}

// A value up to its comment: `8  # ranks`, `"none"`, `["a", "b"]`.
std::string_view value_of(std::string_view s) {
  char quote = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (quote != 0) {
      if (s[i] == quote) quote = 0;
    } else if (s[i] == '"' || s[i] == '\'') {
      quote = s[i];
    } else if (s[i] == '#') {
      s = s.substr(0, i);
      break;
    }
  }
  s = trimmed(s);
  const bool quoted = s.size() >= 2 && (s.front() == '"' || s.front() == '\'') &&
                      s.back() == s.front() && s.find(s.front(), 1) == s.size() - 1;
  return quoted ? s.substr(1, s.size() - 2) : s;
}

struct Setting {
  std::string_view name, value;
};

Setting setting_of(std::string_view line) {
  line = trimmed(line);
  const size_t equals = line.find('=');
  if (line.empty() || line[0] == '#' || equals == std::string_view::npos) return {};
  if (equals + 1 < line.size() && line[equals + 1] == '=') return {};  // a comparison
  const std::string_view name = trimmed(line.substr(0, equals));
  return is_dotted_name(name) ? Setting{name, value_of(line.substr(equals + 1))} : Setting{};
}

}  // namespace

bool has_toml(std::string_view text) {
  bool section = false, setting = false;
  for_each_line(text, [&](std::string_view line, size_t) {
    section |= !section_of(line).empty();
    setting |= section && !setting_of(line).name.empty();
  });
  return section && setting;
}

bool has_python_settings(std::string_view text) {
  bool found = false;
  for_each_line(text, [&](std::string_view line, size_t) {
    found |= setting_of(line).name.rfind("cfg.", 0) == 0;
  });
  return found;
}

void read_settings(std::string_view text, ConfigBuilder& out) {
  std::string section;
  for_each_line(text, [&](std::string_view line, size_t number) {
    if (const std::string_view name = section_of(line); !name.empty()) {
      section = name;
      return;
    }
    const Setting s = setting_of(line);
    if (s.name.empty()) return;
    const bool python = s.name.rfind("cfg.", 0) == 0;
    if (section.empty() && !python) return;  // other lines of a program
    const std::string path =
        python ? std::string(s.name.substr(4)) : section + "." + std::string(s.name);
    const Spelling* own = section == "wallsight" ? key_table().by_native(s.name) : nullptr;
    if (const Spelling* spelling = own != nullptr ? own : key_table().by_path(path))
      out.set(*spelling, s.value, path, number);
    else
      out.unknown(path, number);
  });
}

}  // namespace ws
