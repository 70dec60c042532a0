#include "config/releases.h"

#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

const ConfigKey& key(const char* name) { return *key_table().find(name); }

std::string normal(const char* name, std::string_view text) {
  return normal_release(key(name), text).value_or("-");
}

std::string read(const std::string& yaml) {
  const auto config = read_config(yaml, "run.yaml");
  if (!config) return config.error().message;
  return text(*config, "framework_version").value_or("-") + " " +
         (config->notes.empty() ? "" : config->notes[0]);
}

}  // namespace

TEST_CASE("releases: tags, branches, previews and local builds are the release they belong to") {
  for (const char* text : {"0.12.0", "core_r0.12.0", "core_v0.12.0", "v0.12.0", "0.12.0rc1",
                           " V0.12.0 ", "0.12.0.dev3", "0.12.0+7c2f", "0.12.0-beta"})
    CHECK(normal("framework_version", text) == "0.12.0");
  CHECK(normal("framework_version", "v0.12") == "0.12");
  CHECK(normal("framework_version", "core_r0.12") == "0.12");
  CHECK(normal("framework_version", "main") == "main");
  CHECK(normal("framework_version", "dev") == "dev");
  CHECK(normal("torch_version", "2.6.0+cu124") == "2.6.0");
  CHECK(normal("torch_version", "2.7.0a0+79aa17489c.nv25.04") == "2.7.0");
  CHECK(normal("te_version", "release_v2.8") == "2.8");
  CHECK(normal("te_version", "2.10.0.dev0") == "2.10.0");
}

TEST_CASE("releases: anything else is none") {
  for (const char* text : {"banana", "", "0", "12", "0.", ".12", "0.12x", "0.12 of today",
                           "1.2.3.4.5", "banana0.12", "25.04", "12.4", "0.120", "0.99999"})
    CHECK(normal("framework_version", text) == "-");
  CHECK(normal("torch_version", "main") == "-");
  CHECK(expected_release(key("torch_version"), "banana") == "a release of PyTorch such as 2.8");
}

TEST_CASE("releases: of a container its tag tells how to find the release in it") {
  for (const char* text : {"25.04", "nemo:25.04", "24.12-py3", "25.04.01"}) {
    CHECK(normal("te_version", text) == "-");
    CHECK(expected_release(key("te_version"), text) ==
          "a release of Transformer Engine such as 2.8 (this is the tag of a container: `pip show "
          "transformer-engine` in it tells the release)");
  }
  for (const char* text : {"25.13", "12.4", "banana"})
    CHECK(expected_release(key("te_version"), text).find("container") == std::string::npos);
}

TEST_CASE("releases: as numbers that compare") {
  CHECK(release_number("0.12.0") == 12);
  CHECK(release_number("2.10") == 210);
  CHECK(release_number("main") == 19);
  CHECK_FALSE(release_number("banana"));
}

TEST_CASE("releases: a file's are normal or refused, with its line") {
  CHECK(read("framework_version: core_r0.12.0") == "0.12.0 ");
  CHECK(read("tp: 1\nframework_version: banana") ==
        "run.yaml: line 2: framework_version: expected a release of Megatron Core such as 0.16, "
        "core_r0.16.0 or main, or with PyTorch that of PyTorch, found 'banana'; correct the file");
  CHECK(read("mcore_version: 25.04").find("tag of a container") != std::string::npos);
  CHECK(read("framework: pytorch\nframework_version: 2.8") == "2.8 ");
  CHECK(read("framework: megatron_lm\nframework_version: 2.8").find("torch_version") !=
        std::string::npos);
  CHECK(read("framework: megatron_bridge\nframework_version: 0.4").find("of Bridge itself") !=
        std::string::npos);
  CHECK(read("framework: megatron_bridge\nframework_version: 0.16") == "0.16 ");
  CHECK(read("framework: pytorch\nframework_version: 2.6\ntorch_version: 2.6.1") == "2.6 ");
  CHECK(read("framework: pytorch\nframework_version: 2.4\ntorch_version: 2.6")
            .find("are both the release of PyTorch: 2.6 is used") != std::string::npos);
  CHECK(read("framework: pytorch\nframework_version: 2.4\ntorch_version: 2.6").find("2.6 ") == 0);
}

}  // namespace ws
