// What the settings of torchtitan come to, release by release.
#include "config/torchtitan.h"

#include "config/config_study.h"
#include "config/key_table.h"
#include "config/read_config.h"
#include "support/catch.h"

namespace ws {
namespace {

RunConfig read(const std::string& text) {
  auto config = read_config(text, "run");
  INFO((config ? std::string() : config.error().message));
  REQUIRE(config);
  return std::move(*config);
}

std::string value(const RunConfig& config, std::string_view key) {
  const ConfigEntry* e = entry(config, key);
  return e == nullptr ? "-" : shown_value(e->value);
}

Layout layout(const std::string& text) { return layout_of(read(text)); }

const std::string kModel =
    "num_layers = 32\nhidden_size = 4096\nffn_hidden_size = 14336\nattention_heads = 32\n"
    "kv_heads = 8\nvocab_size = 128256\n";

ConfigStudy study(const std::string& text) {
  return study_config(read(text + "[wallsight]\ngpus = 8\n" + kModel), Platforms({}), nullptr);
}

int64_t bytes(const std::string& text, MemoryKind kind) {
  const ConfigStudy s = study(text);
  REQUIRE(s.memory);
  return bytes_of(s.memory->ranks[s.memory->worst], kind);
}

const std::string kTraining = "[training]\nlocal_batch_size = 2\nseq_len = 8192\n";

}  // namespace

TEST_CASE("torchtitan: FP8 is on by a converter, in every spelling of the releases") {
  struct Case {
    const char *text, *format, *recipe, *precision;
  };
  const Case cases[] = {
      {"[model]\nconverters = []\n", "-", "-", "bf16"},
      {"[model]\nconverters = [\"float8\"]\n", "hybrid", "tensorwise", "fp8"},
      {"[model]\nconverters = [\"quantize.linear.float8\"]\n[quantize.linear.float8]\n"
       "recipe_name = \"rowwise\"\n",
       "hybrid", "rowwise", "fp8"},
      {"[model]\nconverters = \"float8\"\n[float8]\nrecipe_name = \"rowwise_with_gw_hp\"\n",
       "hybrid", "rowwise", "fp8"},
      {"[model]\nconverters = [\"quantize.linear.mx\"]\n[quantize.linear.mx]\n"
       "recipe_name = \"mxfp8_cublas\"\n",
       "e4m3", "mxfp8", "mxfp8"},
      {"[model]\nconverters = [\"mx\"]\n[float8]\nrecipe_name = \"rowwise\"\n", "e4m3", "mxfp8",
       "mxfp8"},
      {"[float8]\nenable_float8_linear = true\nscaling_type_input = \"delayed\"\n", "hybrid",
       "delayed", "fp8"},
      {"[float8]\nenable_float8_linear = true\nscaling_type_input = \"dynamic\"\n", "hybrid",
       "tensorwise", "fp8"},
      {"[training]\nseq_len = 8\n[float8]\nenable_float8_linear = false\n", "-", "-", "bf16"},
      {"[model]\nconverters = [\"bwd_hook\"]\n[training]\nmixed_precision_param = \"float32\"\n",
       "-", "-", "fp32"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const RunConfig config = read(std::string("[optimizer]\nname = \"AdamW\"\n") + c.text);
    CHECK(value(config, "fp8_format") == c.format);
    CHECK(value(config, "fp8_recipe") == c.recipe);
    CHECK(precision_of(config) == c.precision);
  }
}

TEST_CASE("torchtitan: settings of float8 do nothing without the converter, and it is said") {
  const RunConfig config = read(
      "[model]\nname = \"x\"\n[float8]\nenable_fsdp_float8_all_gather = true\n"
      "recipe_name = \"tensorwise\"\n");
  CHECK(value(config, "fp8_param_gather") == "-");
  REQUIRE(config.notes.size() == 1);
  CHECK(config.notes[0] ==
        "float8.recipe_name, float8.enable_fsdp_float8_all_gather: without effect, since "
        "model.converters has no float8");
}

TEST_CASE("torchtitan: what no flag of a command line says may stand in its TOML") {
  const RunConfig config = read(
      "torchrun -m torchtitan.train --job.config_file x.toml --float8.recipe_name rowwise "
      "--training.seq_len 8192\n");
  CHECK(value(config, "fp8_recipe") == "rowwise");
  CHECK(value(config, "fp8_format") == "-");
}

TEST_CASE("torchtitan: defaults of its classes") {
  const RunConfig config = read("[training]\nseq_len = 8192\n");
  for (const char* off : {"torch_compile", "tp_comm_overlap", "optimizer_cpu_offload"})
    CHECK(value(config, off) == "false");
  CHECK(value(config, "recompute_granularity") == "selective");
  CHECK(every_nth_recomputed(config) == 2);
  CHECK(value(config, "cp_comm_type") == "-");  // CP 1
  const RunConfig cp = read("[experimental]\ncontext_parallel_degree = 2\n");
  CHECK(value(cp, "cp_comm_type") == "allgather");
  CHECK(value(read("[parallelism]\ncontext_parallel_degree = 2\n"
                   "context_parallel_rotate_method = \"alltoall\"\n"),
              "cp_comm_type") == "p2p");
}

TEST_CASE("torchtitan: the model has to be among what is compiled") {
  const auto compiled = [](const char* components) {
    return value(read(std::string("[compile]\nenable = true\n") + components), "torch_compile");
  };
  CHECK(compiled("") == "true");
  CHECK(compiled("components = [\"model\", \"loss\"]\n") == "true");
  CHECK(compiled("components = [\"loss\"]\n") == "false");
}

TEST_CASE("torchtitan: the expert exchange is a library or a collective") {
  const auto dispatcher = [](const char* backend) {
    const RunConfig c =
        read(std::string("[parallelism]\nexpert_parallel_degree = 8\nexpert_parallel_comm_backend "
                         "= \"") +
             backend + "\"\n");
    return value(c, "moe_token_dispatcher_type") + " " + value(c, "moe_flex_dispatcher_backend");
  };
  CHECK(dispatcher("standard") == "- -");
  CHECK(dispatcher("deepep") == "flex deepep");
  CHECK(dispatcher("hybridep") == "flex hybridep");
}

TEST_CASE("torchtitan: without a global batch every rank takes its own once") {
  const std::string gpus = "[wallsight]\ngpus = 64\n";
  const Layout l = layout(kTraining + "[parallelism]\ntensor_parallel_degree = 4\n" + gpus);
  CHECK(l.global_batch == 32);
  CHECK(l.batch_from_ranks);
  CHECK(l.accumulation == 1);
  CHECK(layout(kTraining + "global_batch_size = -1\n" + gpus).global_batch == 128);
  const Layout given = layout(kTraining + "global_batch_size = 256\n" + gpus);
  CHECK(given.accumulation == 2);
  CHECK_FALSE(given.batch_from_ranks);
  CHECK_FALSE(layout(kTraining).global_batch);  // how many ranks is not known
  CHECK_FALSE(layout_of(read("framework: pytorch\ngpus: 8\nmicro_batch: 2\ntp: 1\n")).global_batch);
}

TEST_CASE("torchtitan: a pipeline cuts the batch of a rank into micro-batches") {
  struct Case {
    const char* text;
    int64_t micro_batch, in_one_pass;
  };
  const std::string gpus = "[wallsight]\ngpus = 8\n";
  const Case cases[] = {
      {"[parallelism]\npipeline_parallel_degree = 4\n", 1, 16},
      {"[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_microbatch_size = 4\n", 4,
       4},
      {"[experimental]\npipeline_parallel_degree = 4\n", 4, 4},
      {"[experimental]\npipeline_parallel_degree = 4\npipeline_parallel_microbatches = 8\n", 2, 8},
      {"[experimental]\npipeline_parallel_degree = 4\n"
       "pipeline_parallel_schedule = \"interleaved_1f1b\"\n",
       2, 8},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    const Layout l =
        layout("[training]\nlocal_batch_size = 16\nseq_len = 8\n" + std::string(c.text) + gpus);
    CHECK(l.micro_batch == c.micro_batch);
    CHECK(l.in_one_pass == c.in_one_pass);
    CHECK(l.global_batch == 32);
    CHECK(l.accumulation == c.in_one_pass);
  }
  const Layout twice = layout(
      "[training]\nlocal_batch_size = 8\nglobal_batch_size = 32\nseq_len = 8\n"
      "[parallelism]\npipeline_parallel_degree = 4\n" +
      gpus);
  CHECK(twice.accumulation == 16);  // the pipeline fills twice, with 8 each
  CHECK(twice.bubble_share == 3.0 / 8);
}

TEST_CASE("torchtitan: stages per rank by schedule, layers per stage or split points") {
  const auto vpp = [](const std::string& keys) {
    return layout("[parallelism]\npipeline_parallel_degree = 4\n" + keys +
                  "[wallsight]\nnum_layers = 30\n")
        .vpp;
  };
  CHECK_FALSE(vpp(""));
  CHECK_FALSE(vpp("pipeline_parallel_schedule = \"1F1B\"\n"));
  CHECK(vpp("pipeline_parallel_schedule = \"Interleaved1F1B\"\n") == 2);
  CHECK(vpp("pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
            "pipeline_parallel_layers_per_stage = 2\n") == 4);  // 30 and both ends, in 16
  CHECK(vpp("pipeline_parallel_layers_per_stage = 8\n") == 1);
  CHECK_FALSE(vpp("pipeline_parallel_layers_per_stage = 5\n"));  // 7 stages
  CHECK(vpp("pipeline_parallel_split_points = [\"layers.4\", \"layers.8\", \"layers.12\", "
            "\"layers.16\", \"layers.20\", \"layers.24\", \"layers.28\"]\n") == 2);
}

TEST_CASE("torchtitan: schedules without a bubble have none, GPipe holds every micro-batch") {
  const std::string head =
      "[training]\nlocal_batch_size = 32\nseq_len = 512\n[activation_checkpoint]\n"
      "mode = \"none\"\n[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_schedule "
      "= ";
  const std::string gpus = "[wallsight]\ngpus = 8\n";
  CHECK(layout(head + "\"1F1B\"\n" + gpus).bubble_share);
  CHECK_FALSE(layout(head + "\"ZBVZeroBubble\"\n" + gpus).bubble_share);
  CHECK_FALSE(layout(head + "\"DualPipeV\"\n" + gpus).bubble_share);
  CHECK(bytes(head + "\"GPipe\"\n", MemoryKind::activations) >
        4 * bytes(head + "\"1F1B\"\n", MemoryKind::activations));
}

TEST_CASE("torchtitan: layers that do not divide go to the first stages, with the ends lighter") {
  const ConfigStudy s = study(
      "[training]\nlocal_batch_size = 8\nseq_len = 512\n[parallelism]\n"
      "pipeline_parallel_degree = 4\n");
  CHECK(s.split.problem.empty());
  REQUIRE(s.split.stages.size() == 4);  // 34 in 4: 9 9 8 8, less the two ends
  CHECK(s.split.stages[0].dense == 8);
  CHECK(s.split.stages[1].dense == 9);
  CHECK(s.split.stages[3].dense == 7);
}

TEST_CASE("torchtitan: offload leaves no state on the GPU, but what computes") {
  const std::string fsdp = kTraining + "enable_cpu_offload = true\n";
  for (const MemoryKind kind : {MemoryKind::gradients, MemoryKind::optimizer}) {
    CHECK(bytes(fsdp, kind) == 0);
    CHECK(bytes(kTraining, kind) > 0);
  }
  CHECK(bytes(fsdp, MemoryKind::weights) > 0);
  CHECK(bytes(fsdp, MemoryKind::weights) < bytes(kTraining, MemoryKind::weights));
}

TEST_CASE("torchtitan: FP8 gathers half the bytes, and keeps inputs as they came") {
  const std::string on = kTraining + "[model]\nconverters = [\"float8\"]\n";
  const std::string gathered = on + "[float8]\nenable_fsdp_float8_all_gather = true\n";
  CHECK(bytes(on, MemoryKind::weights) == bytes(kTraining, MemoryKind::weights));
  CHECK(bytes(gathered, MemoryKind::weights) < bytes(on, MemoryKind::weights));
  CHECK(bytes(on, MemoryKind::activations) == bytes(kTraining, MemoryKind::activations));
}

TEST_CASE("torchtitan: every second layer recomputed is between none and all, op is a range") {
  const auto with = [](const char* keys) {
    return kTraining + "[activation_checkpoint]\n" + keys + "\n";
  };
  const auto activations = [&](const char* keys) {
    return bytes(with(keys), MemoryKind::activations);
  };
  const int64_t none = activations("mode = \"none\""), all = activations("mode = \"full\"");
  const int64_t second = activations("mode = \"selective\"\nselective_ac_option = \"2\"");
  const int64_t fourth = activations("mode = \"selective\"\nselective_ac_option = \"4\"");
  CHECK(all < second);
  CHECK(second < fourth);
  CHECK(fourth < none);
  CHECK_FALSE(study(with("mode = \"selective\"\nselective_ac_option = 2")).memory->least_bytes);
  CHECK(study(with("mode = \"selective\"\nselective_ac_option = \"op\"")).memory->least_bytes);
  CHECK(study(with("mode = \"memory_budget\"\nselective_ac_option = \"op\"")).memory->least_bytes);
}

TEST_CASE("own form: what Megatron alone has is no setting of a run in PyTorch") {
  const std::string keys =
      "tp: 2\nmoe_permute_fusion: true\nuse_precision_aware_optimizer: false\n";
  const RunConfig c = read("framework: pytorch\n" + keys);
  CHECK(value(c, "tp") == "2");
  CHECK(value(c, "moe_permute_fusion") == "-");
  REQUIRE(c.notes.size() == 1);
  CHECK(c.notes[0] ==
        "settings of Megatron, without effect in a run in PyTorch: moe_permute_fusion, "
        "use_precision_aware_optimizer");
  for (const std::string framework : {"", "framework: megatron_lm\n"})
    CHECK(value(read(framework + keys), "moe_permute_fusion") == "true");
}

TEST_CASE("precision: mixed_precision of a script in PyTorch") {
  const auto precision = [](const char* word) {
    return precision_of(
        read(std::string("framework: pytorch\ntp: 1\nmixed_precision: ") + word + "\n"));
  };
  CHECK(precision("fp32") == "fp32");
  CHECK(precision("bf16") == "bf16");
  CHECK(precision("float16") == "fp16");
}

}  // namespace ws
