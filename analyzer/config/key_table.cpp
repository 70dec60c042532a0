// Tested by: key_table_test.cpp
#include "config/key_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/nearest.h"
#include "config/config_schema.inc"

namespace ws {
namespace {

using nlohmann::json;

KeyType type_of(const json& property) {
  const std::string type = property.at("type").get<std::string>();
  if (type == "integer") return KeyType::integer;
  if (type == "number") return KeyType::number;
  if (type == "boolean") return KeyType::boolean;
  return type == "array" ? KeyType::list : KeyType::text;
}

std::vector<std::string> texts(const json& property, const char* field) {
  const auto it = property.find(field);
  return it == property.end() ? std::vector<std::string>{} : it->get<std::vector<std::string>>();
}

std::optional<ConfigKey::Release> release_of(const json& property) {
  const auto it = property.find("x-release");
  if (it == property.end()) return std::nullopt;
  return ConfigKey::Release{it->at("of"), it->at("told_by"), texts(*it, "branches")};
}

// "--flag=false" -> {"--flag", "false"}
std::pair<std::string, std::string> split_at(const std::string& s, char mark) {
  const size_t at = s.find(mark);
  if (at == std::string::npos) return {s, ""};
  return {s.substr(0, at), s.substr(at + 1)};
}

std::string attribute_of(std::string flag) {
  flag.erase(0, flag.find_first_not_of('-'));
  std::replace(flag.begin(), flag.end(), '-', '_');
  return flag;
}

}  // namespace

KeyTable::KeyTable() {
  const json schema = json::parse(std::begin(kSchemaBytes), std::end(kSchemaBytes), nullptr, false);
  WS_CHECK(!schema.is_discarded());
  const json& properties = schema.at("properties");
  keys_.reserve(properties.size());
  renamed_ = texts(schema, "x-torchtitan-renamed");
  for (const auto& [name, property] : properties.items()) {
    if (name == "env") continue;
    ConfigKey key;
    key.name = name;
    key.type = type_of(property);
    key.choices = texts(property, "enum");
    if (const auto words = property.find("x-words"); words != property.end()) key.words = *words;
    key.minimum = property.value("minimum", 0.0);
    key.maximum = property.value("maximum", 0.0);
    key.release = release_of(property);
    key.of_megatron = property.value("x-of", "") == "megatron";
    key.derived = property.value("x-derived", 0) == -1;
    keys_.push_back(std::move(key));
    const ConfigKey* k = &keys_.back();  // reserved above: stays where it is
    natives_[name] = {k, ""};
    attributes_[name] = {k, ""};
    for (const std::string& s : texts(property, "x-also")) natives_[s] = {k, ""};
    for (const std::string& s : texts(property, "x-megatron-lm")) {
      const auto [flag, constant] = split_at(s, '=');
      flags_[flag] = {k, constant};
      ways_[name].push_back({"megatron_lm", flag, constant});
      // argparse stores what --no-x turns off under x.
      const std::string attribute = attribute_of(flag);
      if (constant == "false" && attribute.rfind("no_", 0) == 0)
        attributes_[attribute.substr(3)] = {k, ""};
      else
        attributes_[attribute] = {k, constant};
    }
    for (const std::string& s : texts(property, "x-megatron-bridge")) {
      paths_[s] = {k, ""};
      ways_[name].push_back({"megatron_bridge", s, ""});
      if (s.find('.') == std::string::npos) attributes_.emplace(s, Spelling{k, ""});
    }
    torchtitan_[name] = texts(property, "x-torchtitan");
    for (const std::string& s : torchtitan_[name]) paths_[s] = {k, ""};
    for (const std::string& s : texts(property, "x-huggingface")) model_cards_[s] = {k, ""};
    for (const std::string& s : texts(property, "x-env")) {
      const auto [variable, needle] = split_at(s, '~');
      variables_[variable].push_back({k, needle});
    }
  }
  for (const auto& [path, names] : schema.at("x-nemo").items()) {
    const ConfigKey* k = find(names.at("key").get<std::string>());
    WS_CHECK(k != nullptr);
    Spelling& s = paths_[path] = {k, ""};
    s.of_nemo = paths_.count(path.substr(path.rfind('.') + 1)) == 0;
    if (const auto words = names.find("words"); words != names.end()) s.words = *words;
  }
}

namespace {

template <class Map>
auto* look_up(const Map& index, std::string_view name) {
  const auto it = index.find(name);
  return it == index.end() ? nullptr : &it->second;
}

}  // namespace

const ConfigKey* KeyTable::find(std::string_view name) const {
  for (const ConfigKey& k : keys_)
    if (k.name == name) return &k;
  return nullptr;
}

const Spelling* KeyTable::by_flag(std::string_view flag) const {
  std::string dashed(flag);
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  return look_up(flags_, dashed);
}
const Spelling* KeyTable::by_attribute(std::string_view attribute) const {
  return look_up(attributes_, attribute);
}

// "a.b.c" matches a spelling "b.c" or "c": the longest that ends it.
const Spelling* KeyTable::by_path(std::string_view dotted) const {
  while (true) {
    if (const Spelling* found = look_up(paths_, dotted)) return found;
    const size_t dot = dotted.find('.');
    if (dot == std::string_view::npos) return nullptr;
    dotted.remove_prefix(dot + 1);
  }
}
const Spelling* KeyTable::by_model_card(std::string_view key) const {
  return look_up(model_cards_, key);
}
const Spelling* KeyTable::by_native(std::string_view key) const { return look_up(natives_, key); }
const std::vector<Spelling>* KeyTable::by_variable(std::string_view variable) const {
  return look_up(variables_, variable);
}

std::vector<WrittenKey> KeyTable::ways_to_write(std::string_view key) const {
  const auto it = ways_.find(key);
  return it == ways_.end() ? std::vector<WrittenKey>{} : it->second;
}

const ConfigKey* KeyTable::of_torchtitan(std::string_view name) const {
  for (const auto& [key, names] : torchtitan_)
    if (std::find(names.begin(), names.end(), name) != names.end()) return find(key);
  return nullptr;
}

// The renaming that made the name, counted from 1; 0: it was there before all of them.
size_t KeyTable::renaming_of(std::string_view name) const {
  for (size_t i = 0; i < renamed_.size(); ++i) {
    const std::string& made = renamed_[i];
    if (name == made || (name.size() > made.size() && name[made.size()] == '.' &&
                         name.substr(0, made.size()) == made))
      return i + 1;
  }
  return 0;
}

std::string KeyTable::in_torchtitan(std::string_view key,
                                    const std::vector<std::string>& used) const {
  const auto it = torchtitan_.find(key);
  if (it == torchtitan_.end() || it->second.empty()) return "";
  size_t before = renamed_.size() + 1;  // the first renaming that the file does not know
  for (const std::string& name : used) {
    if (std::count(it->second.begin(), it->second.end(), name) > 0) return name;
    const ConfigKey* known = of_torchtitan(name);
    if (known == nullptr) continue;
    for (const std::string& newer : torchtitan_.find(known->name)->second) {
      if (newer == name) break;
      if (const size_t renaming = renaming_of(newer); renaming > 0)
        before = std::min(before, renaming);
    }
  }
  for (const std::string& name : it->second)
    if (renaming_of(name) < before) return name;
  return it->second.back();
}

std::string KeyTable::variable_of(std::string_view key) const {
  for (const auto& [variable, spellings] : variables_)
    for (const Spelling& s : spellings)
      if (s.key->name == key) return variable;
  return "";
}

std::string KeyTable::nearest(std::string_view name) const {
  constexpr size_t kShortest = 7, kLongest = 100;  // short names are near to anything
  const bool flag = name.rfind("--", 0) == 0;
  std::string word(name);
  if (flag) std::replace(word.begin(), word.end(), '_', '-');
  if (const size_t dot = word.rfind('.'); !flag && dot != std::string::npos) word.erase(0, dot + 1);
  if (word.size() < kShortest || word.size() > kLongest) return "";
  size_t best = word.size() < 12 ? 2 : 3;
  std::string out;
  const auto look = [&](const std::string& known) {
    const size_t far = edit_distance(word, known, best);
    if (far < best && far > 0) best = far, out = known;
  };
  for (const auto& [known, spelling] : flag ? flags_ : natives_) look(known);
  for (const auto& [known, spelling] : paths_)
    if (!flag) look(known.substr(known.rfind('.') + 1));
  return out;
}

const KeyTable& key_table() {
  static const KeyTable table;
  return table;
}

}  // namespace ws
