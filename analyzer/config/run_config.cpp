// Tested by: read_config_test.cpp
#include "config/run_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace ws {
namespace {

auto place_of(const RunConfig& config, std::string_view key) {
  return std::lower_bound(config.entries.begin(), config.entries.end(), key,
                          [](const ConfigEntry& e, std::string_view k) { return e.key < k; });
}

template <class T>
std::optional<T> value_of(const RunConfig& config, std::string_view key, KeyType type) {
  const ConfigKey* known = key_table().find(key);
  WS_CHECK(known != nullptr && known->type == type);
  const ConfigEntry* e = entry(config, key);
  if (e == nullptr) return std::nullopt;
  WS_CHECK(std::holds_alternative<T>(e->value));
  return std::get<T>(e->value);
}

}  // namespace

const ConfigEntry* entry(const RunConfig& config, std::string_view key) {
  const auto it = place_of(config, key);
  return it != config.entries.end() && it->key == key ? &*it : nullptr;
}
std::optional<int64_t> integer(const RunConfig& config, std::string_view key) {
  return value_of<int64_t>(config, key, KeyType::integer);
}
std::optional<double> number(const RunConfig& config, std::string_view key) {
  return value_of<double>(config, key, KeyType::number);
}
std::optional<bool> boolean(const RunConfig& config, std::string_view key) {
  return value_of<bool>(config, key, KeyType::boolean);
}
std::optional<std::string> text(const RunConfig& config, std::string_view key) {
  return value_of<std::string>(config, key, KeyType::text);
}
std::optional<std::vector<std::string>> list(const RunConfig& config, std::string_view key) {
  return value_of<std::vector<std::string>>(config, key, KeyType::list);
}

void set_value(RunConfig& config, std::string_view key, ConfigValue value,
               const std::string& place) {
  const auto it = place_of(config, key);
  if (it != config.entries.end() && it->key == key) config.entries.erase(it);
  auto& outside = config.outside;
  outside.erase(std::remove(outside.begin(), outside.end(), key), outside.end());
  add_missing(config, key, std::move(value), place);
}

bool from_outside(const RunConfig& config, std::string_view key) {
  return std::find(config.outside.begin(), config.outside.end(), key) != config.outside.end();
}

bool add_missing(RunConfig& config, std::string_view key, ConfigValue value,
                 const std::string& place) {
  const auto it = place_of(config, key);
  if (it != config.entries.end() && it->key == key) return false;
  if (from_outside(config, key)) return false;
  config.entries.insert(it, {std::string(key), std::move(value), place});
  return true;
}

void drop_settings_of_megatron(RunConfig& config) {
  if (config.format != kNativeFormat || text(config, "framework") != "pytorch") return;
  std::vector<std::string> names;
  auto& all = config.entries;
  const auto end = std::remove_if(all.begin(), all.end(), [&](const ConfigEntry& e) {
    const bool foreign = key_table().find(e.key)->of_megatron;
    if (foreign) names.push_back(e.key);
    return foreign;
  });
  all.erase(end, all.end());
  if (!names.empty())
    config.notes.push_back(fmt::format(
        "settings of Megatron, without effect in a run in PyTorch: {}", fmt::join(names, ", ")));
}

std::string shown_value(const ConfigValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* d = std::get_if<double>(&value)) return fmt::format("{:.6g}", *d);
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "true" : "false";
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return fmt::format("{}", fmt::join(std::get<std::vector<std::string>>(value), " "));
}

}  // namespace ws
