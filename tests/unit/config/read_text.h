#pragma once
// Configurations from text, and what the tests ask of them.
#include <algorithm>
#include <string>

#include "config/read_config.h"
#include "support/catch.h"

namespace ws {

inline RunConfig read(const std::string& text) {
  auto config = read_config(text, "run");
  if (!config) FAIL(config.error().message);
  return *config;
}

inline std::string refusal(const std::string& text, const std::string& name = "run") {
  const auto config = read_config(text, name);
  REQUIRE_FALSE(config);
  return config.error().message;
}

inline std::string value(const RunConfig& config, const std::string& key) {
  const ConfigEntry* e = entry(config, key);
  return e == nullptr ? "-" : shown_value(e->value);
}

inline bool has_note(const RunConfig& config, const std::string& part) {
  return std::any_of(config.notes.begin(), config.notes.end(),
                     [&](const std::string& n) { return n.find(part) != std::string::npos; });
}

}  // namespace ws
