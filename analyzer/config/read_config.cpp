// Tested by: read_config_test.cpp, config_damage_test.cpp
#include "config/read_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file_error.h"
#include "base/text.h"
#include "config/broken_text.h"
#include "config/readers.h"
#include "config/torchtitan.h"

namespace ws {
namespace {

constexpr size_t kFileLimit = size_t{4} << 20, kTreeLimit = size_t{1} << 20;

char first_mark(std::string_view text) {
  const size_t at = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return at == std::string_view::npos ? '\0' : text[at];
}

// Text has no control characters but those of its layout; a command line of /proc has NULs as well.
bool is_text(std::string_view text) {
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (u != 0 && u < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f') return false;
  }
  std::string words(text);
  std::replace(words.begin(), words.end(), '\0', ' ');
  int64_t repaired = 0;
  to_utf8(words, &repaired);
  return repaired == 0;
}

// /proc/PID/cmdline: words end in NUL.
std::vector<ShellWord> words_between_nuls(std::string_view text) {
  std::vector<ShellWord> out;
  while (!text.empty()) {
    const size_t end = text.find('\0');
    out.push_back({std::string(text.substr(0, end)), 0, false});
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

// ["python", "pretrain_gpt.py", "--num-layers", "32"]; empty: something else.
std::vector<ShellWord> words_of_json(std::string_view text) {
  std::vector<ShellWord> out;
  const auto list = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!list.is_array()) return out;
  for (const auto& word : list) {
    if (!word.is_string()) return {};
    out.push_back({word.get<std::string>(), 0, false});
  }
  return out;
}

bool is_bracket_bomb(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if ((c == '[' || c == '{') && ++depth > 200) return true;
    if (c == ']' || c == '}') depth = std::max(0, depth - 1);
  }
  return false;
}

// source: Megatron-LM megatron/training/arguments.py (validate_args): a gated layer has a third
// matrix, so two thirds of the width, in multiples of 64.
std::optional<int64_t> default_ffn_size(const RunConfig& config) {
  const auto hidden = integer(config, "hidden_size");
  if (!hidden) return std::nullopt;
  return boolean(config, "gated_mlp") == true ? *hidden * 8 / 3 / 64 * 64 : *hidden * 4;
}

// What argparse leaves when a flag is not there. Only for a whole Megatron-LM command line.
void add_megatron_defaults(RunConfig& config) {
  static constexpr std::pair<std::string_view, int64_t> kNumbers[] = {
      {"tp", 1}, {"pp", 1}, {"cp", 1}, {"ep", 1}, {"num_workers", 2}};
  static constexpr std::string_view kOff[] = {"sequence_parallel",
                                              "megatron_fsdp",
                                              "torch_fsdp2",
                                              "overlap_moe_expert_parallel_comm",
                                              "delay_wgrad_compute",
                                              "overlap_grad_reduce",
                                              "overlap_param_gather",
                                              "tp_comm_overlap",
                                              "nccl_ub",
                                              "fine_grained_activation_offloading",
                                              "use_distributed_optimizer",
                                              "use_precision_aware_optimizer",
                                              "optimizer_cpu_offload",
                                              "fp8_param_gather",
                                              "optimizer_cuda_graph",
                                              "manual_gc",
                                              "account_for_embedding",
                                              "account_for_loss",
                                              "gated_mlp",
                                              "bf16",
                                              "fp16",
                                              "multi_latent_attention",
                                              "cross_entropy_loss_fusion"};
  static constexpr std::string_view kMoeOff[] = {"moe_grouped_gemm",
                                                 "moe_permute_fusion",
                                                 "moe_router_fusion",
                                                 "moe_router_padding_for_quantization",
                                                 "moe_pad_expert_input_to_capacity",
                                                 "moe_shared_expert_overlap",
                                                 "moe_router_force_load_balancing",
                                                 "moe_paged_stash"};
  const std::string place(kMegatronDefault);
  for (const auto& [key, value] : kNumbers) add_missing(config, key, value, place);
  for (const std::string_view key : kOff) add_missing(config, key, false, place);
  if (const auto ffn = default_ffn_size(config))
    add_missing(config, "ffn_hidden_size", *ffn, place);
  add_missing(config, "tied_embeddings", true, place);
  add_missing(config, "check_for_nan", true, place);
  add_missing(config, "recompute_granularity", std::string("none"), place);
  add_missing(config, "cuda_graph_impl", std::string("none"), place);
  if (entry(config, "num_experts") == nullptr) return;
  for (const std::string_view key : kMoeOff) add_missing(config, key, false, place);
  add_missing(config, "moe_token_dispatcher_type", std::string("allgather"), place);
}

// A command line is whole when nothing of it comes from outside.
bool is_whole(const RunConfig& config, const std::vector<ShellWord>& words) {
  const bool megatron = entry(config, "num_layers") != nullptr || entry(config, "tp") != nullptr ||
                        entry(config, "pp") != nullptr;
  return megatron && std::none_of(words.begin(), words.end(), [](const ShellWord& w) {
           return w.text == std::string(1, kFromOutside);
         });
}

// Flags like --seq-length are those of many programs: where most of the others are unknown and
// no word names Megatron, the program may be any.
bool may_be_megatron(const RunConfig& config, const std::vector<ShellWord>& words) {
  static constexpr std::string_view kNames[] = {"megatron", "pretrain_"};
  for (const ShellWord& w : words)
    for (const std::string_view name : kNames)
      if (w.text.find(name) != std::string::npos) return true;
  const auto flags = static_cast<size_t>(
      std::count_if(config.entries.begin(), config.entries.end(), [](const ConfigEntry& e) {
        return e.shown.rfind("--", 0) == 0 && e.key != "gpus_per_node" && e.key != "nodes";
      }));
  return flags >= config.unknown.size();
}

// torchrun starts one node where it is not told how many (--nnodes 1).
// source: PyTorch torch/distributed/run.py
void add_torchrun_default(RunConfig& config, const std::vector<ShellWord>& words) {
  bool torchrun = false;
  for (const ShellWord& w : words) {
    if (w.text == std::string(1, kFromOutside)) return;  // may hold --nnodes
    const std::string base = w.text.substr(w.text.rfind('/') + 1);
    torchrun |=
        base == "torchrun" || base == "torch.distributed.run" || base == "torch.distributed.launch";
  }
  const auto per_node = integer(config, "gpus_per_node");
  if (!torchrun || !per_node || !add_missing(config, "nodes", int64_t{1}, "default of torchrun"))
    return;
  add_missing(config, "gpus", *per_node,
              entry(config, "gpus_per_node")->place + " (one node, the default of torchrun)");
}

// WORLD_SIZE=128 RANK=0 python pretrain_gpt.py ...: without a launcher the program takes the job's
// size from its environment; torchrun sets it by itself.
void add_world_size(RunConfig& config, const std::vector<ShellWord>& words,
                    const std::vector<ShellAssignment>& assignments) {
  const bool torchrun = std::any_of(words.begin(), words.end(), [](const ShellWord& w) {
    return w.text.find("torchrun") != std::string::npos ||
           w.text.rfind("torch.distributed.", 0) == 0;
  });
  if (torchrun) return;
  for (auto a = assignments.rbegin(); a != assignments.rend(); ++a) {
    if (a->name != "WORLD_SIZE") continue;
    const int64_t ranks = std::atoll(a->value.c_str());
    if (ranks < 1 || ranks > 4194304 || a->value != fmt::format("{}", ranks)) return;
    add_missing(config, "gpus", ranks,
                fmt::format("{}: line {} (WORLD_SIZE)", config.source, a->line));
    return;
  }
}

// "--module llama3 --config llama3_8b" of torchtitan's registry: the second names the model.
void name_model(const std::vector<ShellWord>& words, ConfigBuilder& out) {
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i].text == "--config" && !words[i].command_end)
      out.set(*key_table().by_native("model"), words[i + 1].text, "--config", words[i].line);
}

Result<RunConfig> read_command(std::vector<ShellWord> words,
                               const std::vector<ShellAssignment>& assignments,
                               const std::string& source, const std::string& format,
                               std::vector<std::string> outside = {}) {
  ConfigBuilder out(source, format, Twice::last_wins);
  out.name_outside(std::move(outside));
  for (const ShellAssignment& a : assignments) out.set_variable(a.name, a.value, a.line);
  read_words(words, out);
  const bool bridge = std::any_of(words.begin(), words.end(), [](const ShellWord& w) {
    const size_t equals = w.text.find('=');
    return w.text[0] != '-' && equals != std::string::npos &&
           w.text.substr(0, equals).find('.') != std::string::npos;
  });
  const bool torchtitan = !bridge && starts_torchtitan(words);
  if (bridge) out.default_framework("megatron_bridge");
  if (torchtitan) name_model(words, out);
  if (torchtitan) out.default_framework("pytorch");
  auto config = out.finish();
  if (config) add_torchrun_default(*config, words);
  if (config) add_world_size(*config, words, assignments);
  if (config && torchtitan) {
    config->partial = true;
    add_missing(*config, "fsdp_shard_size", int64_t{0}, "default of torchtitan");
    add_converters(*config);
    config->notes.push_back(
        "torchtitan takes the rest from its TOML (--job.config_file) or its registry (--config): "
        "what is not among the flags counts as unknown");
  }
  if (!config || bridge || torchtitan) return config;
  if (!may_be_megatron(*config, words)) {
    config->partial = true;
    config->notes.push_back(
        "most flags of the command are none of Megatron-LM, and nothing else names a framework "
        "(--framework megatron-lm, megatron-bridge or pytorch)");
    return config;
  }
  add_missing(*config, "framework", std::string("megatron_lm"), source);
  if (text(*config, "framework") == "megatron_lm" && is_whole(*config, words))
    add_megatron_defaults(*config);
  else {
    config->partial = true;
    config->notes.push_back(
        "parts of the command line come from outside the file: flags that are not in it count as "
        "unknown, not as off");
  }
  return config;
}

// A flag counts where a command begins with it (an array, a continued line) or follows something
// that can be started: in prose and tables flags stand as well.
bool has_launch(const std::vector<ShellWord>& words, std::string_view text) {
  std::vector<bool> markup = {false};  // by line: a table, a list or a quotation of Markdown
  for_each_line(text, [&](std::string_view line, size_t) {
    const size_t at = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view begin = line.substr(at, 2);
    markup.push_back(begin == "- " || begin == "* " ||
                     (!begin.empty() && (begin[0] == '|' || begin[0] == '>')));
  });
  static constexpr std::string_view kStarters[] = {"torchrun",   "srun",      "mpirun", "mpiexec",
                                                   "accelerate", "deepspeed", "bash",   "sh",
                                                   "exec",       "-m",        "nemo"};
  bool first = true, started = false;
  for (const ShellWord& word : words) {
    if (word.line < markup.size() && markup[word.line]) continue;
    const std::string_view w = word.text;
    const std::string_view base =
        w.substr(w.rfind('/') == std::string_view::npos ? 0 : w.rfind('/') + 1);
    const bool flag = w.rfind("--", 0) == 0;
    const bool program =
        std::find(std::begin(kStarters), std::end(kStarters), base) != std::end(kStarters) ||
        base.rfind("python", 0) == 0 || (base.size() > 3 && base.substr(base.size() - 3) == ".py");
    const bool outside =
        first && !w.empty() && w.find_first_not_of(kFromOutside) == std::string_view::npos;
    started |= program || outside || (first && flag);
    if (started && flag && flag_spelling(w.substr(0, w.find('='))) != nullptr) return true;
    if (started && !flag && w.find('.') < w.find('=') && w.find('=') != std::string_view::npos)
      return true;
    const bool assignment = !flag && w.find('=') != std::string_view::npos;
    first = word.command_end || (first && assignment);
    if (word.command_end) started = false;
  }
  return false;
}

bool has_known_flags(std::string_view text) {
  for (size_t at = text.find("--"); at != std::string_view::npos; at = text.find("--", at + 2)) {
    const bool starts_word = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n' ||
                             text[at - 1] == '\t' || text[at - 1] == '(' || text[at - 1] == '"';
    const size_t end = std::min(text.find_first_of(" =\t\r\n\\\")", at), text.size());
    if (starts_word && flag_spelling(text.substr(at, end - at)) != nullptr) return true;
  }
  return false;
}

bool has_overrides(std::string_view text) {
  for (size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
    const size_t blank = text.find_last_of(" \t\n\"'", at);
    const size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
    const std::string_view name = text.substr(begin, at - begin);
    if (name.find('.') != std::string_view::npos && key_table().by_path(name) != nullptr)
      return true;
  }
  return false;
}

}  // namespace

Result<RunConfig> read_config(std::string_view text, const std::string& source) {
  if (text.size() > kFileLimit) {
    return Error{
        fmt::format("{}: expected at most {} bytes, found more; give the part with the "
                    "arguments",
                    source, kFileLimit)};
  }
  if (auto nothing = nothing_in(text, source)) return *nothing;
  if (has_argument_dump(text)) {
    ConfigBuilder out(source, std::string(kArgumentDumpFormat), Twice::first_wins);
    read_argument_dump(text, out);
    out.default_framework("megatron_lm");
    return out.finish();
  }
  if (!is_text(text)) {
    return Error{
        fmt::format("{}: expected a run configuration as text, found binary data; give the "
                    "file that starts the run",
                    source)};
  }
  if (text.find('\0') != std::string_view::npos)
    return read_command(words_between_nuls(text), {}, source, "command line");
  if (is_bracket_bomb(text)) {
    return Error{
        fmt::format("{}: expected at most 200 open brackets, found more; this is no run "
                    "configuration",
                    source)};
  }
  const char first = first_mark(text);
  if (first == '[') {
    auto words = words_of_json(text);
    if (!words.empty()) return read_command(std::move(words), {}, source, "command line");
  }
  if (first != '{' && !has_python_settings(text))
    if (auto program = python_program(text, source)) return *program;
  if (first != '{' && has_python_settings(text)) {
    ConfigBuilder out(source, "settings of a Bridge recipe", Twice::last_wins);
    read_settings(text, out);
    out.default_framework("megatron_bridge");
    return out.finish();
  }
  const bool toml = meant_as_toml(text, source);
  if (toml) {
    if (auto broken = broken_toml(text, source)) return *broken;
  }
  if (toml || (first != '{' && has_toml(text))) {
    ConfigBuilder out(source, std::string(kTorchtitanFormat), Twice::last_wins);
    read_settings(text, out);
    out.default_framework("pytorch");
    auto config = out.finish();
    if (config) add_torchtitan_defaults(*config), add_converters(*config);
    return config;
  }
  if (first != '{' && (has_known_flags(text) || has_overrides(text))) {
    auto script = shell_words(text, source);
    if (!script) return script.error();
    if (!has_launch(script->words, text)) {
      return Error{fmt::format(
          "{}: expected a launch command or its flags, found text that mentions some but no known "
          "setting of a run; give the file that starts the run",
          source)};
    }
    return read_command(std::move(script->words), script->assignments, source,
                        "launch script or command line", std::move(script->outside));
  }
  if (text.size() > kTreeLimit) {
    return Error{fmt::format(
        "{}: expected at most {} bytes of YAML or JSON, found more; give the run's own settings",
        source, kTreeLimit)};
  }
  return read_tree(text, source);
}

Result<RunConfig> read_config_file(const std::string& path) {
  std::error_code ec, unknown;
  const std::string name = std::filesystem::path(path).filename().string();
  if (!std::filesystem::exists(path, ec)) return can_not_read(path, ec ? ec.value() : ENOENT);
  if (!std::filesystem::is_regular_file(path, ec))
    return not_a_file(path, std::filesystem::is_directory(path, unknown), "a run configuration");
  std::ifstream in(path, std::ios::binary);
  if (!in) return can_not_read(path, EACCES);
  std::string all(kFileLimit + 1, '\0');
  in.read(all.data(), static_cast<std::streamsize>(all.size()));
  all.resize(static_cast<size_t>(in.gcount()));
  return read_config(all, name.empty() ? path : name);
}

}  // namespace ws
