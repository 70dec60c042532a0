// The table as data: rules/kernel_classes.json, whose "about" documents the pattern language. A
// row's words become conditions of one NameMatcher; a name is read once, then the rows are tried in
// order on the bits found. Tested by: kernel_classes_test.cpp, kernel_table_test.cpp
#include "analysis/kernel_classes.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "analysis/labels.h"
#include "analysis/name_matcher.h"

namespace ws {

struct KernelClasses::Table {
  struct Alternative {
    std::vector<uint16_t> needed, absent;
  };
  struct Row {
    NameClass result;  // family is set when the rows no longer move
    std::string family;
    std::vector<Alternative> match;
  };
  std::vector<Row> rows;
  NameMatcher matcher;
};

namespace {

using Json = nlohmann::json;
using Table = KernelClasses::Table;

struct FlagName {
  std::string_view name;
  uint8_t bit;
};
constexpr std::array<FlagName, 5> kFlags = {{{"fused_comm", kFlagFusedComm},
                                             {"grouped", kFlagGrouped},
                                             {"optimizer", kFlagOptimizer},
                                             {"moe", kFlagMoe},
                                             {"ep_library", kFlagEpLibrary}}};
constexpr std::array<std::string_view, 9> kKeys = {"family", "class", "collective", "kind", "pass",
                                                   "flags",  "match", "seen",       "note"};

std::string small(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string text_of(const Json& row, const char* key) {
  const auto it = row.find(key);
  return it != row.end() && it->is_string() ? it->get<std::string>() : std::string();
}

// "^flash_fwd device_kernel !norm" -> conditions.
std::optional<std::string> add_alternative(std::string_view pattern, NameMatcher& matcher,
                                           Table::Row& row) {
  Table::Alternative alternative;
  size_t i = 0;
  while (i < pattern.size()) {
    const size_t blank = std::min(pattern.find(' ', i), pattern.size());
    std::string_view word = pattern.substr(i, blank - i);
    i = blank + 1;
    uint8_t place = NameMatcher::kAnywhere;
    bool absent = false;
    if (!word.empty() && (word[0] == '^' || word[0] == '@' || word[0] == '!')) {
      absent = word[0] == '!';
      if (word[0] == '^') place = NameMatcher::kStart;
      if (word[0] == '@') place = NameMatcher::kOutside;
      word.remove_prefix(1);
    }
    if (!word.empty() && word.back() == '$') {
      place |= NameMatcher::kEnd;
      word.remove_suffix(1);
    }
    if (word.empty()) return fmt::format("an empty word in '{}'", pattern);
    if (matcher.size() >= 60000) return "too many words";
    (absent ? alternative.absent : alternative.needed).push_back(matcher.add(small(word), place));
  }
  if (alternative.needed.empty()) return fmt::format("no word to find in '{}'", pattern);
  row.match.push_back(std::move(alternative));
  return std::nullopt;
}

std::optional<std::string> read_flags(const Json& row, NameClass& result) {
  const auto it = row.find("flags");
  if (it == row.end()) return std::nullopt;
  if (!it->is_array()) return "flags: an array was expected";
  for (const Json& flag : *it) {
    bool known = false;
    for (const FlagName& f : kFlags) {
      if (!flag.is_string() || flag.get_ref<const std::string&>() != f.name) continue;
      result.flags = static_cast<uint8_t>(result.flags | f.bit);
      known = true;
    }
    if (!known) return fmt::format("flags: unknown flag {}", flag.dump());
  }
  return std::nullopt;
}

// What the row says of a name; an error text when it says it wrongly.
std::optional<std::string> read_result(const Json& row, NameClass& result) {
  const auto cls = op_class_from(text_of(row, "class"));
  if (!cls || is_copy(*cls) || *cls == OpClass::p2p)
    return fmt::format("class: unknown class '{}'", text_of(row, "class"));
  result.cls = *cls;
  if (row.contains("collective")) {
    const auto coll = collective_from(text_of(row, "collective"));
    if (!coll || result.cls != OpClass::comm) return "collective: not a collective of a comm row";
    result.coll = *coll;
  }
  if (row.contains("kind")) {
    const auto kind = comm_kind_from(text_of(row, "kind"));
    if (!kind || result.cls != OpClass::comm) return "kind: not a kind of a comm row";
    result.kind = *kind;
  }
  const std::string pass = text_of(row, "pass");
  if (pass == "forward") result.pass = PassHint::forward;
  if (pass == "backward") result.pass = PassHint::backward;
  if (row.contains("pass") && result.pass == PassHint::none)
    return "pass: forward or backward was expected";
  return read_flags(row, result);
}

std::optional<std::string> read_row(const Json& json, Table& table) {
  if (!json.is_object()) return "an object was expected";
  for (const auto& item : json.items()) {
    bool known = false;
    for (std::string_view key : kKeys) known = known || item.key() == key;
    if (!known) return fmt::format("unknown key '{}'", item.key());
  }
  Table::Row row;
  row.family = text_of(json, "family");
  if (row.family.empty()) return "family: a name was expected";
  if (text_of(json, "seen").empty()) return "seen: where the name was met was expected";
  if (auto error = read_result(json, row.result)) return error;
  const auto match = json.find("match");
  if (match == json.end() || !match->is_array() || match->empty())
    return "match: an array of patterns was expected";
  for (const Json& pattern : *match) {
    if (!pattern.is_string()) return "match: text was expected";
    if (auto error = add_alternative(pattern.get_ref<const std::string&>(), table.matcher, row))
      return "match: " + *error;
  }
  table.rows.push_back(std::move(row));
  return std::nullopt;
}

bool matches(const Table::Alternative& a, const std::vector<uint8_t>& found) {
  for (uint16_t c : a.needed) {
    if (found[c] == 0) return false;
  }
  for (uint16_t c : a.absent) {
    if (found[c] != 0) return false;
  }
  return true;
}

}  // namespace

Result<KernelClasses> KernelClasses::load(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{fmt::format("{}: cannot be opened; check the rules folder", path)};
  const Json json = Json::parse(file, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("rows") ||
      !json["rows"].is_array()) {
    return Error{
        fmt::format("{}: an object with an array 'rows' was expected, found something "
                    "else; see schemas/kernel_classes.schema.json",
                    path)};
  }
  auto table = std::make_shared<Table>();
  size_t number = 0;
  for (const Json& row : json["rows"]) {
    if (const auto error = read_row(row, *table))
      return Error{fmt::format("{}: rows[{}].{}; see schemas/kernel_classes.schema.json", path,
                               number, *error)};
    ++number;
  }
  for (Table::Row& row : table->rows) row.result.family = row.family;
  table->matcher.build();
  return KernelClasses(std::move(table));
}

NameClass KernelClasses::classify(std::string_view full_name) const {
  const std::vector<uint8_t> found = table_->matcher.find(match_text(full_name));
  for (const Table::Row& row : table_->rows) {
    for (const Table::Alternative& a : row.match) {
      if (matches(a, found)) return row.result;
    }
  }
  NameClass unknown;
  unknown.flags = kFlagUnclassified;
  unknown.family = "unclassified";
  return unknown;
}

}  // namespace ws
