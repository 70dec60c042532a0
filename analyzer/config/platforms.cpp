// Tested by: platforms_test.cpp
#include "config/platforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ws {
namespace {

void replace_mark(std::string& text, std::string_view mark, const std::string& by) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size()))
    text.replace(at, mark.size(), by);
}

std::string gigabytes(int64_t bytes_per_s) {
  return fmt::format("{:.6g}", static_cast<double>(bytes_per_s) / 1e9);
}

std::string beside(const Platform& p, const Platform& other) {
  std::string name = other.key;
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return fmt::format(" (GB/s one way, beside {}: NVLink {} against {}, network {} against {})",
                     name, gigabytes(p.fast_link_bytes_per_s),
                     gigabytes(other.fast_link_bytes_per_s), gigabytes(p.network_bytes_per_s),
                     gigabytes(other.network_bytes_per_s));
}

// Figures in words come from the rows, so that they can not differ from them.
Result<void> fill_figures(std::vector<Platform>& rows, const std::string& path) {
  for (Platform& p : rows) {
    for (ProfileStep& step : p.profile_first) {
      replace_mark(step.what, "{fast_domain_gpus}", fmt::format("{}", p.fast_domain_gpus));
      replace_mark(step.what, "{memory}",
                   fmt::format("{:.0f} GiB", static_cast<double>(p.memory_bytes) / (1 << 30)));
      if (step.links_beside.empty()) continue;
      const auto other = std::find_if(
          rows.begin(), rows.end(), [&](const Platform& o) { return o.key == step.links_beside; });
      if (other == rows.end())
        return Error{
            fmt::format("{}: {}: expected a platform of the table in links_beside, found "
                        "'{}'; restore the file that came with the program",
                        path, p.key, step.links_beside)};
      step.what += beside(p, *other);
    }
  }
  return {};
}

}  // namespace

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
      const auto& flops = row.at("dense_flops");
      platform.bf16_flops = flops.value("bf16", int64_t{0});
      platform.fp8_flops = flops.value("fp8", int64_t{0});
      platform.fp4_flops = flops.value("fp4", int64_t{0});
      platform.fast_link_bytes_per_s = row.at("fast_link_bytes_per_s").get<int64_t>();
      platform.network_bytes_per_s = row.at("network_bytes_per_s").get<int64_t>();
      platform.host_link_bytes_per_s = row.at("host_link_bytes_per_s").get<int64_t>();
      platform.compute_capability = row.at("compute_capability").get<std::string>();
      for (const nlohmann::json& step : row.at("profile_first"))
        platform.profile_first.push_back({step.value("when", std::string()),
                                          step.at("what").get<std::string>(),
                                          step.value("links_beside", std::string())});
      platform.source = row.at("source").get<std::string>();
      out.rows_.push_back(std::move(platform));
    }
    if (auto ok = fill_figures(out.rows_, path); !ok) return ok.error();
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

const Platform* Platforms::by_key(std::string_view key) const {
  for (const Platform& platform : rows_)
    if (platform.key == key) return &platform;
  return nullptr;
}

int64_t peak_flops(const Platform& platform, std::string_view precision) {
  if (precision == "bf16" || precision == "fp16") return platform.bf16_flops;
  if (precision == "fp8" || precision == "mxfp8") return platform.fp8_flops;
  return precision == "nvfp4" ? platform.fp4_flops : 0;
}

}  // namespace ws
