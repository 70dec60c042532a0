// Tested by: releases_test.cpp
#include "config/releases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace ws {
namespace {

constexpr int64_t kMainBranch = 19;      // of Megatron Core: behind 0.18
constexpr int64_t kBridgeBelow = 10;     // Bridge counts its own releases from 0.1
constexpr int64_t kTwoMajors = 200;      // of PyTorch, no release of Megatron Core is that far
constexpr int kReleaseMajors = 10;       // no software of a key has come that far
constexpr int kFirstContainerYear = 17;  // NGC containers are named by year and month

std::string_view without_prefix(std::string_view s) {
  static constexpr std::string_view kPrefixes[] = {"core_r", "core_v", "release_v", "v"};
  for (const std::string_view p : kPrefixes)
    if (s.substr(0, p.size()) == p) return s.substr(p.size());
  return s;
}

std::string small(std::string_view text) {
  std::string out;
  for (const char c : text)
    if (c != ' ' && c != '\t')
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "0.12.0" of "0.12.0rc1"; "": no numbers with a dot between at the front.
std::string_view numbers_of(std::string_view s) {
  size_t at = 0, end = 0, parts = 0;
  while (at < s.size() && is_digit(s[at])) {
    const size_t first = at;
    while (at < s.size() && is_digit(s[at])) ++at;
    if (at - first > 4) return {};
    end = at;
    ++parts;
    if (at + 1 >= s.size() || s[at] != '.' || !is_digit(s[at + 1])) break;
    ++at;
  }
  return parts >= 2 && parts <= 4 ? s.substr(0, end) : std::string_view();
}

// What may stand behind the numbers: PEP 440's pre, post and local parts, a branch's remark.
bool is_suffix(std::string_view s) {
  static constexpr std::string_view kStarts[] = {"+", "-", "_", "a", "b", "rc", ".dev", ".post"};
  if (s.empty()) return true;
  const bool started = std::any_of(std::begin(kStarts), std::end(kStarts), [&](std::string_view p) {
    return s.substr(0, p.size()) == p &&
           (p != "a" && p != "b" && p != "rc" ? true
                                              : s.size() > p.size() && is_digit(s[p.size()]));
  });
  return started && std::all_of(s.begin(), s.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '+' ||
                  c == '-' || c == '_';
         });
}

std::pair<int, int> major_minor(std::string_view numbers) {
  const size_t dot = numbers.find('.');
  return {std::atoi(std::string(numbers.substr(0, dot)).c_str()),
          std::atoi(std::string(numbers.substr(dot + 1)).c_str())};
}

// "25.04", "nemo:25.04", "25.04-py3"
bool is_container_tag(std::string_view text) {
  const size_t first = text.find_first_of("0123456789");
  if (first == std::string_view::npos) return false;
  const std::string_view numbers = numbers_of(text.substr(first));
  if (numbers.empty()) return false;
  const auto [year, month] = major_minor(numbers);
  return year >= kFirstContainerYear && year < 100 && month >= 1 && month <= 12;
}

}  // namespace

std::optional<std::string> normal_release(const ConfigKey& key, std::string_view text) {
  const std::string word = small(text);
  for (const std::string& branch : key.release->branches)
    if (word == branch) return word;
  const std::string_view rest = without_prefix(word), numbers = numbers_of(rest);
  if (numbers.empty() || !is_suffix(rest.substr(numbers.size()))) return std::nullopt;
  const auto [major, minor] = major_minor(numbers);
  if (major >= kReleaseMajors || minor >= 100) return std::nullopt;
  return std::string(numbers);
}

std::string expected_release(const ConfigKey& key, std::string_view text) {
  std::string out = "a release of " + key.release->of;
  if (is_container_tag(text))
    out += fmt::format(" (this is the tag of a container: `{}` in it tells the release)",
                       key.release->told_by);
  return out;
}

std::optional<int64_t> release_number(std::string_view release) {
  if (release == "main" || release == "dev") return kMainBranch;
  if (numbers_of(release).empty()) return std::nullopt;
  const auto [major, minor] = major_minor(release);
  return int64_t{100} * major + minor;
}

std::optional<int64_t> core_release(const RunConfig& config) {
  const std::string framework = text(config, "framework").value_or("");
  const auto version = text(config, "framework_version");
  if (!version || framework == "pytorch") return std::nullopt;
  const auto number = release_number(*version);
  const bool of_bridge = framework == "megatron_bridge" && number && *number < kBridgeBelow;
  return of_bridge ? std::nullopt : number;
}

namespace {

// With PyTorch as the framework both keys are the release of PyTorch.
void tell_two_of_pytorch(RunConfig& config) {
  const ConfigEntry* own = entry(config, "framework_version");
  const ConfigEntry* torch = entry(config, "torch_version");
  if (own == nullptr || torch == nullptr || text(config, "framework") != "pytorch") return;
  const std::string& a = std::get<std::string>(own->value);
  const std::string& b = std::get<std::string>(torch->value);
  if (release_number(a) == release_number(b)) return;
  config.notes.push_back(
      fmt::format("framework_version {} ({}) and torch_version {} ({}) are both the release of "
                  "PyTorch: {} is used",
                  a, own->place, b, torch->place, b));
  set_value(config, "framework_version", b, torch->place);
}

}  // namespace

Result<void> review_releases(RunConfig& config) {
  tell_two_of_pytorch(config);
  const ConfigEntry* e = entry(config, "framework_version");
  const std::string framework = text(config, "framework").value_or("");
  if (e == nullptr || framework.rfind("megatron", 0) != 0) return {};
  const std::string& release = std::get<std::string>(e->value);
  const int64_t number = release_number(release).value_or(0);
  if (number >= kTwoMajors)
    return Error{fmt::format(
        "{}: framework_version: expected a release of Megatron Core such as 0.16, found '{}'; a "
        "release of PyTorch is torch_version, one of Transformer Engine te_version",
        e->place, release)};
  if (framework == "megatron_bridge" && number < kBridgeBelow)
    config.notes.push_back(fmt::format(
        "framework_version {} ({}) is a release of Bridge itself: that of the Megatron Core in it "
        "decides between spellings (`{}` tells), until then both are shown",
        release, e->place, key_table().find("framework_version")->release->told_by));
  return {};
}

}  // namespace ws
