// Tested by: cli_test (options_test.cpp).
#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ws::cli {
namespace {

constexpr int32_t kLargestRank = 1'000'000;

std::optional<int64_t> whole_number(std::string_view s) {
  int64_t v = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc() || end != s.data() + s.size() || s.empty()) return std::nullopt;
  return v;
}

struct TimePoint {
  int64_t ns = 0;
  bool has_unit = false;
};

// "250", "12.5ms": decimals are read digit by digit, never through a double.
std::optional<TimePoint> time_point(std::string_view s) {
  static constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
  int64_t unit = 0;
  for (const auto& [name, ns] : kUnits) {
    if (s.size() > name.size() && s.substr(s.size() - name.size()) == name) {
      unit = ns;
      s.remove_suffix(name.size());
      break;
    }
  }
  const size_t dot = s.find('.');
  if (unit == 0 && dot != std::string_view::npos) return std::nullopt;
  const auto whole = whole_number(s.substr(0, dot));
  if (!whole) return std::nullopt;
  const int64_t scale = unit == 0 ? 1 : unit;
  if (*whole > INT64_MAX / scale - 1 || *whole < INT64_MIN / scale + 1) return std::nullopt;
  int64_t ns = *whole * scale;
  if (dot != std::string_view::npos) {
    int64_t digit = scale;
    for (const char c : s.substr(dot + 1)) {
      if (c < '0' || c > '9') return std::nullopt;
      digit /= 10;
      ns += (c - '0') * digit * (s[0] == '-' ? -1 : 1);
    }
  }
  return TimePoint{ns, unit != 0};
}

}  // namespace

Result<std::pair<int64_t, int64_t>> parse_steps(const std::string& text) {
  const size_t colon = text.find(':');
  const auto first = whole_number(std::string_view(text).substr(0, colon));
  const auto last =
      colon == std::string::npos ? first : whole_number(std::string_view(text).substr(colon + 1));
  if (!first || !last || *first > *last) {
    return Error{fmt::format("--step: expected a step or a range like 3:7, found `{}`", text)};
  }
  return std::pair{*first, *last};
}

Result<StepsAsked> parse_named_steps(const std::string& text) {
  if (const auto plain = parse_steps(text)) return StepsAsked{*plain, ""};
  const Error bad{fmt::format(
      "--step: expected a step or a range like 3:7, or a name as ProfilerStep#3, found `{}`",
      text)};
  struct Named {
    std::string stem;
    int64_t number;
  };
  const auto named = [](const std::string& s) -> std::optional<Named> {
    const size_t at = s.find_last_not_of("0123456789") + 1;
    const auto number = whole_number(std::string_view(s).substr(at));
    if (!number) return std::nullopt;
    return Named{s.substr(0, at), *number};
  };
  const auto is_name = [](const std::string& stem) {
    return !stem.empty() && stem[0] != ' ' && std::any_of(stem.begin(), stem.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0;
    });
  };
  const size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto first = named(text.substr(0, colon)), last = named(text.substr(colon + 1));
    if (first && is_name(first->stem)) {
      const bool one_name = last && (last->stem.empty() || last->stem == first->stem);
      if (!one_name || last->number < first->number) return bad;
      return StepsAsked{{first->number, last->number}, first->stem};
    }
  }
  const auto one = named(text);
  if (!one || !is_name(one->stem)) return bad;
  return StepsAsked{{one->number, one->number}, one->stem};
}

Result<std::vector<int32_t>> parse_ranks(const std::string& text) {
  std::vector<int32_t> out;
  const Error bad{fmt::format("--rank: expected ranks like 0,3-5, found `{}`", text)};
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view part = std::string_view(text).substr(at, comma - at);
    const size_t dash = part.find('-');
    const auto first = whole_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *first > *last || *last > kLargestRank) return bad;
    for (int64_t r = *first; r <= *last; ++r) out.push_back(static_cast<int32_t>(r));
    at = comma + 1;
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

std::string ranks_text(const std::vector<int32_t>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ",", ranks[i]);
    if (last > i) out += fmt::format("-{}", ranks[last]);
    i = last + 1;
  }
  return out;
}

Result<TimeRange> parse_time(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto a = time_point(std::string_view(text).substr(0, colon));
    const auto b = time_point(std::string_view(text).substr(colon + 1));
    if (a && b && a->ns < b->ns && (a->has_unit == b->has_unit || a->ns == 0)) {
      return TimeRange{{a->ns, b->ns}, b->has_unit};
    }
  }
  return Error{fmt::format(
      "--time: expected A:B in ns of the recording's clock or, with a unit, since the first "
      "record (2ms:10ms), found `{}`",
      text)};
}

}  // namespace ws::cli
