// Tested by: platforms_test.cpp
#include "config/platforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ws {
namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

// The driver keeps a little for itself, and how much differs; boards differ by more.
bool same_memory(int64_t a, int64_t b) {
  constexpr double kReserved = 0.06;
  return std::abs(static_cast<double>(a) - static_cast<double>(b)) <
         kReserved * static_cast<double>(std::max(a, b));
}

bool matches(const Platform& p, const std::string& lower) {
  return std::any_of(p.match.begin(), p.match.end(), [&](const std::string& pattern) {
    return lower.find(pattern) != std::string::npos;
  });
}

// What the JSON of a row or of a board says; a board says what differs.
void read_figures(const nlohmann::json& row, bool all, Platform& out) {
  const auto number = [&](const nlohmann::json& from, const char* name, int64_t& to) {
    if (all || from.contains(name)) to = from.at(name).get<int64_t>();
  };
  row.at("match").get_to(out.match);
  row.at("source").get_to(out.source);
  number(row, "memory_bytes", out.memory_bytes);
  number(row, "memory_bytes_per_s", out.memory_bytes_per_s);
  number(row, "fast_domain_gpus", out.fast_domain_gpus);
  number(row, "fast_link_bytes_per_s", out.fast_link_bytes_per_s);
  number(row, "network_bytes_per_s", out.network_bytes_per_s);
  number(row, "host_link_bytes_per_s", out.host_link_bytes_per_s);
  if (!all && !row.contains("dense_flops")) return;
  const auto& flops = row.at("dense_flops");
  out.bf16_flops = flops.value("bf16", int64_t{0});
  out.fp8_flops = flops.value("fp8", int64_t{0});
  out.fp4_flops = flops.value("fp4", int64_t{0});
}

// MIG and the partitions of AMD: a part of the memory with a part of the units, by no table. Which
// of them reach each other, and over what, is not known: MIG has no NVLink between slices.
Platform slice_of(const Platform& row) {
  Platform out = row;
  out.board = "a slice of " + row.key;
  out.boards.clear();
  out.memory_bytes = out.memory_bytes_per_s = 0;
  out.bf16_flops = out.fp8_flops = out.fp4_flops = 0;
  out.fast_domain_gpus = out.fast_link_bytes_per_s = 0;
  return out;
}

// The last of `boards` is the slice.
const Platform& board_of(const Platform& row, const std::string& lower, int64_t recorded) {
  constexpr double kWhole = 0.75;  // of the smallest board
  const auto slice = row.boards.end() - 1;
  int64_t smallest = row.memory_bytes;
  for (auto b = row.boards.begin(); b != slice; ++b) smallest = std::min(smallest, b->memory_bytes);
  const bool part =
      recorded > 0 && static_cast<double>(recorded) < kWhole * static_cast<double>(smallest);
  if (part || lower.find(" mig ") != std::string::npos) return *slice;
  const auto fits = [&](const Platform& p) {
    return recorded <= 0 || same_memory(recorded, p.memory_bytes);
  };
  for (auto b = row.boards.begin(); b != slice; ++b)
    if (matches(*b, lower) && (fits(*b) || !b->by_memory)) return *b;
  for (auto b = row.boards.begin(); b != slice && !fits(row); ++b)
    if (b->by_memory && fits(*b)) return *b;
  return row;
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
      row.at("key").get_to(platform.key);
      row.at("compute_capability").get_to(platform.compute_capability);
      read_figures(row, true, platform);
      out.rows_.push_back(std::move(platform));
    }
    for (size_t i = 0; i < out.rows_.size(); ++i) {
      std::vector<Platform> boards;
      for (const nlohmann::json& board :
           file.at("platforms").at(i).value("boards", nlohmann::json::array())) {
        boards.push_back(out.rows_[i]);
        board.at("board").get_to(boards.back().board);
        boards.back().by_memory = board.value("by_memory", false);
        read_figures(board, false, boards.back());
      }
      boards.push_back(slice_of(out.rows_[i]));
      out.rows_[i].boards = std::move(boards);
    }
    for (const nlohmann::json& step : file.at("profile_first"))
      out.profile_first_.push_back(
          {step.at("when").get<std::string>(), step.at("what").get<std::string>()});
    return out;
  } catch (const nlohmann::json::exception& e) {
    return Error{
        fmt::format("{}: expected a list of platforms, found other JSON ({}); "
                    "restore the file that came with the program",
                    path, e.what())};
  }
}

const Platform* Platforms::find(std::string_view gpu_name, int64_t recorded_bytes) const {
  const std::string lower = lower_case(gpu_name);
  for (const Platform& row : rows_)
    if (matches(row, lower)) return &board_of(row, lower, recorded_bytes);
  return nullptr;
}

int64_t Platforms::memory_of(std::string_view gpu_name, int64_t recorded_bytes) const {
  if (recorded_bytes > 0) return recorded_bytes;
  const Platform* board = find(gpu_name);
  const int64_t named = memory_in_name(gpu_name);
  if (board == nullptr || board->memory_bytes == 0) return named;
  return named == 0 || same_memory(named, board->memory_bytes) ? board->memory_bytes : named;
}

bool Platforms::contradicts(std::string_view asked, std::string_view gpu_name,
                            int64_t recorded_bytes) const {
  const Platform* file = find(asked);
  const Platform* seen = find(gpu_name, recorded_bytes);
  if (file == nullptr || seen == nullptr) return false;
  if (file->key != seen->key) return true;
  const int64_t named = memory_in_name(asked), memory = memory_of(gpu_name, recorded_bytes);
  return named > 0 && memory > 0 && !same_memory(named, memory);
}

const Platform* Platforms::by_key(std::string_view key) const {
  for (const Platform& platform : rows_)
    if (platform.key == key) return &platform;
  return nullptr;
}

int64_t memory_in_name(std::string_view gpu_name) {
  constexpr int64_t kMost = 320;  // "GH200 480GB" counts the memory of the host
  const std::string lower = lower_case(gpu_name);
  int64_t out = 0;  // the last: a slice stands behind its board
  for (size_t end = lower.find("gb"); end != std::string::npos; end = lower.find("gb", end + 1)) {
    size_t first = end;
    while (first > 0 && lower[first - 1] >= '0' && lower[first - 1] <= '9') --first;
    if (first == end || end - first > 4) continue;
    const int64_t size = std::stoll(lower.substr(first, end - first));
    if (size > 0 && size <= kMost) out = size << 30;
  }
  return out;
}

int64_t peak_flops(const Platform& platform, std::string_view precision) {
  if (precision == "bf16" || precision == "fp16") return platform.bf16_flops;
  if (precision == "fp8" || precision == "mxfp8") return platform.fp8_flops;
  return precision == "nvfp4" ? platform.fp4_flops : 0;
}

}  // namespace ws
