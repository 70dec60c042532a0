// When a recorded command is the run configuration, and when it is not.
#include "cli/recorded_config.h"

#include "support/catch.h"

using namespace ws;

namespace {

RankAnalysis rank_with(int32_t number, std::vector<std::string> words) {
  RankAnalysis r;
  r.rank = number;
  r.config.arguments = std::move(words);
  return r;
}

const std::vector<std::string> kMegatron = {"python",
                                            "pretrain_gpt.py",
                                            "--tensor-model-parallel-size",
                                            "4",
                                            "--pipeline-model-parallel-size",
                                            "2",
                                            "--num-layers",
                                            "32",
                                            "--seq-length",
                                            "4096",
                                            "--micro-batch-size",
                                            "1",
                                            "--my-own-flag",
                                            "x"};

}  // namespace

TEST_CASE("the command of a framework is the configuration, and a note says so") {
  Notes notes;
  const auto config = cli::recorded_config({rank_with(0, {}), rank_with(3, kMegatron)}, notes);
  REQUIRE(config);
  CHECK(integer(*config, "tp") == 4);
  CHECK(integer(*config, "pp") == 2);
  CHECK(text(*config, "framework") == "megatron_lm");
  CHECK(config->unknown.empty());
  REQUIRE(notes.all().size() == 1);
  CHECK(notes.all()[0].code == NoteCode::config_recorded);
  CHECK(notes.all()[0].detail == "5 settings of rank 3");
}

TEST_CASE("a script of one's own with a few common flags is none") {
  Notes notes;
  CHECK_FALSE(cli::recorded_config(
      {rank_with(0, {"python", "train.py", "--num-layers", "4", "--lr", "0.1", "--bf16", "--x"})},
      notes));
  CHECK_FALSE(cli::recorded_config({rank_with(0, {"python", "train.py"})}, notes));
  CHECK_FALSE(cli::recorded_config({}, notes));
  CHECK(notes.all().empty());
}

TEST_CASE("a command that can not be read stops nothing") {
  Notes notes;
  auto words = kMegatron;
  words[3] = "many";
  CHECK_FALSE(cli::recorded_config({rank_with(0, words)}, notes));
  REQUIRE(notes.all().size() == 1);
  CHECK(notes.all()[0].code == NoteCode::config_unclear);
  CHECK(notes.all()[0].detail.empty());
}
