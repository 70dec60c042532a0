#include "base/recorders.h"

#include <fmt/format.h>

namespace ws {
namespace {

bool begins(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

bool is_nsys(std::string_view text) { return begins(text, "nsys") || begins(text, "`nsys"); }

}  // namespace

std::string Recorders::either(std::string_view torch, std::string_view nsys_way) const {
  if (!nsys) return std::string(torch);
  return torch_first ? fmt::format("{}, or {}", torch, nsys_way)
                     : fmt::format("{}, or {}", nsys_way, torch);
}

std::string Recorders::in_order(std::string_view advice) const {
  for (const std::string_view between : {"; ", ", or "}) {
    for (size_t at = advice.find(between); at != std::string_view::npos;
         at = advice.find(between, at + 1)) {
      const std::string_view first = advice.substr(0, at);
      const std::string_view second = advice.substr(at + between.size());
      if (is_nsys(first) == is_nsys(second)) continue;
      if (!nsys) return std::string(is_nsys(first) ? second : first);
      if (torch_first && is_nsys(first)) return fmt::format("{}{}{}", second, between, first);
      return std::string(advice);
    }
  }
  return !nsys && is_nsys(advice) ? std::string() : std::string(advice);
}

Recorders recorders_for(std::string_view format, std::string_view gpu) {
  return {gpu.find("AMD") == std::string_view::npos, format == "kineto-json"};
}

}  // namespace ws
