// Tested by: config_damage_test.cpp
#include "config/broken_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "config/readers.h"

namespace ws {
namespace {

std::string shown(std::string_view s) { return shorten(one_line(to_utf8(s)), 60); }

bool ends_with(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}

// Lines of TOML, as far as to tell where one can be none: values may go on over lines.
class TomlLines {
 public:
  // What the line should have been; "": it is well.
  std::string read(std::string_view line, size_t number) {
    if (!long_string_.empty()) return close_string(line);
    line = trimmed(line);
    if (depth_ > 0) return value(line);
    if (line.empty() || line[0] == '#') return "";
    if (line[0] == '[') return section(line);
    const size_t equals = line.find('=');
    const std::string_view key = trimmed(line.substr(0, equals));
    if (equals == std::string_view::npos || key.empty()) return "[section] or key = value";
    begun_ = number;
    const std::string_view rest = trimmed(line.substr(equals + 1));
    if (rest.empty() || rest[0] == '#') return "a value behind the =";
    return value(rest);
  }
  bool open() const { return depth_ > 0 || !long_string_.empty(); }
  size_t begun() const { return begun_; }  // line of the value that is open

 private:
  static std::string section(std::string_view line) {
    const bool twice = line.size() > 1 && line[1] == '[';
    const std::string_view end = twice ? "]]" : "]";
    const size_t close = line.find(end);
    const std::string_view name = line.substr(end.size(), close - end.size());
    if (close == std::string_view::npos || trimmed(name).empty()) return "a closed [section]";
    const std::string_view behind = trimmed(line.substr(close + end.size()));
    return behind.empty() || behind[0] == '#' ? "" : "nothing behind the [section]";
  }
  // Brackets and strings of one line of a value.
  std::string value(std::string_view s) {
    for (size_t i = 0; i < s.size(); ++i) {
      const char c = s[i];
      if (c == '#') break;
      if (c == '[' || c == '{') ++depth_;
      if (c == ']' || c == '}') --depth_;
      if (depth_ < 0) return "brackets that were opened";
      if (c != '"' && c != '\'') continue;
      const std::string three(3, c);
      if (s.substr(i, 3) == three) {
        const size_t end = s.find(three, i + 3);
        if (end == std::string_view::npos) return long_string_ = three, "";
        i = end + 2;
        continue;
      }
      size_t end = i + 1;
      while (end < s.size() && s[end] != c) end += c == '"' && s[end] == '\\' ? 2 : 1;
      if (end >= s.size()) return "a text that is closed on its line";
      i = end;
    }
    return "";
  }
  std::string close_string(std::string_view line) {
    const size_t end = line.find(long_string_);
    if (end == std::string_view::npos) return "";
    long_string_.clear();
    return value(line.substr(end + 3));
  }

  int depth_ = 0;
  std::string long_string_;
  size_t begun_ = 0;
};

// "line 3, column 7" of a byte, and the word that stands there.
struct Place {
  size_t line = 1, column = 1;
  std::string word;
};
Place place_of(std::string_view text, size_t byte) {
  byte = std::min(byte, text.size());
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  while (byte > 0 && byte < text.size() && in_word(text[byte]) && in_word(text[byte - 1])) --byte;
  Place out;
  for (size_t i = 0; i < byte; ++i) {
    out.column = text[i] == '\n' ? 1 : out.column + 1;
    out.line += text[i] == '\n';
  }
  const std::string_view rest = text.substr(byte);
  out.word = shown(rest.substr(0, std::min(rest.find_first_of(" \t\r\n,"), rest.size())));
  if (out.word.empty() && !rest.empty()) out.word = shown(rest.substr(0, 1));
  return out;
}

Error broken_json(std::string_view text, const std::string& source) {
  try {
    const auto unused = nlohmann::json::parse(text.begin(), text.end());
    (void)unused;
  } catch (const nlohmann::json::parse_error& e) {
    const size_t last = text.find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos || e.byte > last + 1) {
      return Error{fmt::format(
          "{}: line {}: expected JSON, found the end of the file inside it; complete the file",
          source, place_of(text, text.size()).line)};
    }
    const Place at = place_of(text, e.byte > 0 ? e.byte - 1 : 0);
    return Error{
        fmt::format("{}: line {}, column {}: expected JSON, found '{}' where it can not stand; "
                    "correct the file",
                    source, at.line, at.column, at.word)};
  } catch (const nlohmann::json::exception&) {
  }
  return Error{
      fmt::format("{}: expected keys with values, found JSON with numbers out of range or "
                  "the like; correct the file",
                  source)};
}

size_t longest_key(std::string_view text) {
  size_t longest = 0;
  const auto look = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key)
      longest = std::max(longest, parsed.get_ref<const std::string&>().size());
    return true;
  };
  const auto unused = nlohmann::json::parse(text.begin(), text.end(), look, false);
  (void)unused;
  return longest;
}

}  // namespace

std::optional<Error> nothing_in(std::string_view text, const std::string& source) {
  bool any = false, comments = false;
  for_each_line(text, [&](std::string_view line, size_t) {
    line = trimmed(line);
    if (line.substr(0, 3) == "\xEF\xBB\xBF") line = trimmed(line.substr(3));
    comments |= !line.empty() && line[0] == '#';
    any |= !line.empty() && line[0] != '#' && line != "---" && line != "...";
  });
  if (any) return std::nullopt;
  return Error{
      fmt::format("{}: expected a run configuration, found {}; give the file that starts the run",
                  source, comments ? "comments alone" : "an empty file")};
}

std::optional<Error> python_program(std::string_view text, const std::string& source) {
  bool imports = false, defines = false, torchtitan = false;
  for_each_line(text, [&](std::string_view line, size_t) {
    const auto begins = [&](std::string_view with) { return line.substr(0, with.size()) == with; };
    const bool import =
        begins("import ") || (begins("from ") && line.find(" import ") != line.npos);
    imports |= import;
    torchtitan |= import && line.find("torchtitan") != line.npos;
    defines |= begins("def ") || begins("class ") || begins("@dataclass");
  });
  if (!imports || !(defines || torchtitan)) return std::nullopt;
  return Error{fmt::format(
      "{}: expected settings, found a program of Python, which makes them when it runs; give {}",
      source,
      torchtitan ? "the command that starts torchtitan with its flags (--training.seq_len 8192), a "
                   "TOML of torchtitan, or the keys of schemas/run_config.schema.json"
                 : "the command that starts the run, or the keys of "
                   "schemas/run_config.schema.json")};
}

bool meant_as_toml(std::string_view text, const std::string& source) {
  if (ends_with(source, ".toml")) return true;
  bool first = true, section = false, setting = false;
  for_each_line(text, [&](std::string_view line, size_t) {
    line = trimmed(line);
    if (line.empty() || line[0] == '#') return;
    const char c = line.size() > 1 ? static_cast<char>(line[1] | 0x20) : '\0';
    if (first) section = line[0] == '[' && c >= 'a' && c <= 'z' && line.find('"') == line.npos;
    const size_t equals = line.find(" = ");
    setting |= equals != std::string_view::npos && line.find(' ') == equals;
    first = false;
  });
  return section && setting;
}

std::optional<Error> broken_toml(std::string_view text, const std::string& source) {
  TomlLines lines;
  std::optional<Error> out;
  size_t last = 0;
  for_each_line(text, [&](std::string_view line, size_t number) {
    last = number;
    if (out) return;
    if (number == 1 && line.substr(0, 3) == "\xEF\xBB\xBF") line.remove_prefix(3);
    const std::string expected = lines.read(line, number);
    if (expected.empty()) return;
    out = Error{fmt::format("{}: line {}: expected {} (read as TOML), found '{}'; correct the line",
                            source, number, expected, shown(trimmed(line)))};
  });
  if (out || !lines.open()) return out;
  return Error{fmt::format(
      "{}: line {}: expected the value to be closed before line {} (read as TOML), found the end "
      "of the file; complete the file",
      source, lines.begun(), last + 1)};
}

Error broken_tree(std::string_view text, const std::string& source, size_t line, size_t column,
                  const std::string& why) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = ends_with(source, ".json") || (first != text.npos && text[first] == '{');
  if (json && !nlohmann::json::accept(text.begin(), text.end())) return broken_json(text, source);
  constexpr size_t kLongestKey = 1024;  // of a key that stands on one line of YAML
  if (const size_t longest = json ? longest_key(text) : 0; longest > kLongestKey) {
    return Error{fmt::format(
        "{}: line {}: expected keys of at most {} bytes, found one of {} in well-formed JSON; give "
        "the file without it",
        source, line, kLongestKey, longest)};
  }
  std::string_view there;
  for_each_line(text, [&](std::string_view l, size_t number) {
    if (number == line) there = l;
  });
  if (why.find("anchor") != std::string::npos) {
    std::string_view name = there.substr(std::min(column > 0 ? column - 1 : 0, there.size()));
    name = name.substr(0, name.find_first_of(" \t,]}"));
    if (!name.empty() && name[0] == '*') name.remove_prefix(1);
    return Error{fmt::format(
        "{}: line {}: expected every alias of the YAML to have its anchor before it, found *{} "
        "without &{}; write &{} before the value that it stands for, or the value itself here",
        source, line, shown(name), shown(name), shown(name))};
  }
  return Error{
      fmt::format("{}: line {}: expected YAML, found '{}' where it can not be read ({}); "
                  "correct the file",
                  source, line, shown(trimmed(there)), shown(why))};
}

}  // namespace ws
