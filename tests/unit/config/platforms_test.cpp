#include "config/platforms.h"

#include <set>

#include "support/catch.h"

namespace ws {
namespace {

TEST_CASE("platforms: names as the recorders write them") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  const std::pair<const char*, const char*> kNames[] = {{"NVIDIA H100 80GB HBM3", "h100"},
                                                        {"NVIDIA A100-SXM4-40GB", "a100"},
                                                        {"NVIDIA H200", "h200"},
                                                        {"NVIDIA GH200 480GB", "gh200"},
                                                        {"NVIDIA GB200", "gb200"},
                                                        {"NVIDIA B200", "b200"},
                                                        {"NVIDIA GB300", "gb300"},
                                                        {"NVIDIA B300 SXM6 AC", "b300"},
                                                        {"AMD Instinct MI300X", "mi300x"},
                                                        {"AMD Instinct MI250X / MI250", "mi250x"},
                                                        {"NVIDIA L40S", "l40s"},
                                                        {"NVIDIA GeForce RTX 4090", nullptr},
                                                        {"Tesla T4", nullptr},
                                                        {"", nullptr}};
  for (const auto& [name, key] : kNames) {
    INFO(name);
    const Platform* found = platforms->find(name);
    CHECK((found == nullptr) == (key == nullptr));
    if (found != nullptr && key != nullptr) CHECK(found->key == key);
  }
  std::set<std::string> keys;
  for (const Platform& row : platforms->rows()) {
    CHECK(keys.insert(row.key).second);
    CHECK(row.memory_bytes > 0);
    CHECK(row.memory_bytes_per_s > 0);
    CHECK(row.fast_domain_gpus > 0);
  }
}

TEST_CASE("platforms: every figure of the training GPUs, each row with its datasheet") {
  const auto platforms = Platforms::load(WS_SOURCE_DIR "/rules/platforms.json");
  REQUIRE(platforms);
  for (const Platform& row : platforms->rows()) {
    INFO(row.key);
    CHECK(row.source.rfind("datasheet: ", 0) == 0);
  }
  for (const char* key : {"a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "mi300x"}) {
    INFO(key);
    const Platform* row = platforms->by_key(key);
    REQUIRE(row != nullptr);
    CHECK_FALSE(row->compute_capability.empty());
    for (const int64_t figure :
         {row->memory_bytes, row->memory_bytes_per_s, row->bf16_flops, row->fast_domain_gpus,
          row->fast_link_bytes_per_s, row->network_bytes_per_s, row->host_link_bytes_per_s})
      CHECK(figure > 0);
    CHECK((row->fp8_flops > 0) == (row->key != "a100"));
    CHECK((row->fp4_flops > 0) == (row->key.find("b") != std::string::npos));
  }
}

TEST_CASE("platforms: a missing or damaged table is an error with a place") {
  const auto missing = Platforms::load("/no/such/platforms.json");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.find("/no/such/platforms.json: ") == 0);
  CHECK_FALSE(Platforms::load(WS_SOURCE_DIR "/schemas/facts.sql"));
}

}  // namespace
}  // namespace ws
