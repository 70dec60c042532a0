// Tested by: platforms_test.cpp
#include "facts/platforms.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace ws {

Result<Platforms> Platforms::load(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Error{fmt::format("{}: expected the table of platforms, found no file", path)};
  try {
    const nlohmann::json file = nlohmann::json::parse(in);
    Platforms out;
    for (const nlohmann::json& row : file.at("platforms")) {
      Platform platform;
      platform.key = row.at("key").get<std::string>();
      platform.match = row.at("match").get<std::vector<std::string>>();
      platform.memory_bytes = row.at("memory_bytes").get<int64_t>();
      platform.memory_bytes_per_s = row.at("memory_bytes_per_s").get<int64_t>();
      platform.fast_domain_gpus = row.at("fast_domain_gpus").get<int64_t>();
      out.rows_.push_back(std::move(platform));
    }
    return out;
  } catch (const nlohmann::json::exception& e) {
    return Error{
        fmt::format("{}: expected a list of platforms, found other JSON ({}); "
                    "restore the file that came with the program",
                    path, e.what())};
  }
}

const Platform* Platforms::find(std::string_view gpu_name) const {
  std::string lower(gpu_name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const Platform& platform : rows_)
    for (const std::string& pattern : platform.match)
      if (lower.find(pattern) != std::string::npos) return &platform;
  return nullptr;
}

}  // namespace ws
