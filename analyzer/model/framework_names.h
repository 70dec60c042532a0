#pragma once
// What framework_of appends where the names of a recording are those of inference.
#include <string_view>

namespace ws {

inline constexpr std::string_view kInferenceMark = " (inference)";

constexpr bool is_inference(std::string_view framework) {
  return framework.size() >= kInferenceMark.size() &&
         framework.substr(framework.size() - kInferenceMark.size()) == kInferenceMark;
}

constexpr std::string_view without_inference_mark(std::string_view framework) {
  if (is_inference(framework)) framework.remove_suffix(kInferenceMark.size());
  return framework;
}

}  // namespace ws
