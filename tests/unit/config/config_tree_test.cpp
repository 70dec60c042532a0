// Trees of sections: where variables stand, and what of a file is read.
#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

RunConfig read(const std::string& text) {
  auto config = read_config(text, "run.yaml");
  if (!config) FAIL(config.error().message);
  return *config;
}

std::string notes(const RunConfig& config) {
  std::string out;
  for (const std::string& n : config.notes) out += n + "\n";
  return out;
}

}  // namespace

TEST_CASE("tree: variables as a section, as a list of assignments, and by name and value") {
  for (const char* env :
       {"env: {NVLINK_DOMAIN_SIZE: 8, OTHER: x=y}", "env: [NVLINK_DOMAIN_SIZE=8, 'OTHER=x=y']",
        "env:\n  - NVLINK_DOMAIN_SIZE=8\n  - OTHER=x=y",
        "env:\n  - {name: NVLINK_DOMAIN_SIZE, value: '8'}\n"
        "  - {name: OTHER, value: x=y}"}) {
    INFO(env);
    const RunConfig c = read(std::string("tp: 2\n") + env + "\n");
    CHECK(integer(c, "nvlink_domain_size") == 8);
    CHECK(c.environment);
    CHECK(c.notes.empty());
  }
  CHECK_FALSE(read("tp: 2\nenv:\n").environment);
}

TEST_CASE("tree: what stands among variables and is none is told") {
  for (const char* env : {"env: NVLINK_DOMAIN_SIZE", "env: [NVLINK_DOMAIN_SIZE=8, =4]",
                          "env: [NVLINK_DOMAIN_SIZE=8, [A=1]]", "env: [{name: A}]"}) {
    INFO(env);
    const RunConfig c = read(std::string("tp: 2\n") + env + "\n");
    CHECK(notes(c) ==
          "`env` (run.yaml: line 2) holds more than variables, as NAME: value or a list of "
          "NAME=value: the rest of it was not read\n");
  }
}

TEST_CASE("tree: of several documents the first is read, and that is told") {
  const RunConfig c = read("tp: 2\n---\ntp: 4\npp: 8\n");
  CHECK(integer(c, "tp") == 2);
  CHECK(integer(c, "pp") == std::nullopt);
  CHECK(notes(c) == "the file holds 2 documents (---): the first is read alone\n");
  CHECK(read("---\ntp: 2\n").notes.empty());
}

}  // namespace ws
