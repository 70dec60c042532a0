// Tested by: tests/rules/hostile_test.cpp, tests/unit/advise/rule_test.cpp
#include "advise/json_text.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/file_error.h"
#include "base/text.h"

namespace ws {
namespace {

constexpr int kDepthLimit = 12;

// Byte of the bracket that nests too deep, or npos. Runs before the parser, which would build all.
size_t too_deep_at(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDepthLimit) return i;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<std::string> read_small_file(const std::string& path, size_t limit) {
  std::error_code ec, unknown;
  if (!std::filesystem::exists(path, ec)) return can_not_read(path, ec ? ec.value() : ENOENT);
  if (!std::filesystem::is_regular_file(path, ec))
    return not_a_file(path, std::filesystem::is_directory(path, unknown));
  std::ifstream in(path, std::ios::binary);
  if (!in) return can_not_read(path, EACCES);
  std::string text(limit + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > limit) {
    return Error{
        fmt::format("{}: expected at most {} bytes, found more; split the file", path, limit)};
  }
  return text;
}

Result<nlohmann::json> parse_json(std::string_view text, const std::string& place) {
  using nlohmann::json;
  if (const size_t at = too_deep_at(text); at != std::string_view::npos) {
    return Error{fmt::format("{}: byte {}: expected at most {} levels of nesting, found more",
                             place, at, kDepthLimit)};
  }
  std::vector<std::set<std::string>> keys;
  std::string twice;
  const auto watch = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(value.get<std::string>()).second)
      twice = value.get<std::string>();
    return true;
  };
  try {
    json parsed = json::parse(text.begin(), text.end(), watch);
    if (twice.empty()) return parsed;
    return Error{fmt::format("{}: expected every key once, found `{}` twice", place,
                             shorten(one_line(to_utf8(twice)), 60))};
  } catch (const json::parse_error& e) {
    return Error{
        fmt::format("{}: byte {}: expected JSON in UTF-8, found something else", place, e.byte)};
  } catch (const json::exception&) {
    return Error{fmt::format("{}: expected JSON, found a value out of range", place)};
  }
}

}  // namespace ws
