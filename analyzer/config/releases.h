#pragma once
// Releases of software, as people write them and as they are compared.
#include <optional>
#include <string>
#include <string_view>

#include "config/run_config.h"

namespace ws {

// "core_r0.12.0", "v0.12", "0.12.0rc1", "2.6.0+cu124" -> "0.12.0", "0.12", "0.12.0", "2.6.0"; a
// branch of the key stays as it is. nullopt: no release; expected_release() says what is one.
std::optional<std::string> normal_release(const ConfigKey& key, std::string_view text);

// "a release of PyTorch such as 2.8", and where `text` is the tag of a container, how to tell the
// release in it.
std::string expected_release(const ConfigKey& key, std::string_view text);

// 100 x major + minor of a normal release; "main" and "dev" of Megatron Core count as 0.19.
std::optional<int64_t> release_number(std::string_view release);

// Of Megatron Core as the configuration states it; nullopt: not stated, or that of PyTorch or of
// Bridge itself, which counts differently.
std::optional<int64_t> core_release(const RunConfig& config);

// A release that can not be one of the framework is an error; one of Bridge itself, which counts
// differently, gets a note.
Result<void> review_releases(RunConfig& config);

}  // namespace ws
