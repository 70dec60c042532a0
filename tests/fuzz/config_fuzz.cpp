// Any bytes as a run configuration: refused in one line, or read, and all arithmetic on it ends.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/config_study.h"
#include "config/read_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ws::Platforms platforms;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = ws::read_config(text, "fuzz");
  if (!config) {
    const std::string& message = config.error().message;
    if (message.empty() || message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  const ws::ConfigStudy study = ws::study_config(*config, platforms, nullptr);
  if (study.layout.min_gpus < 1) std::abort();
  if (study.memory && study.memory->ranks.empty()) std::abort();
  return 0;
}
