#pragma once
// What the names of host ranges say, by hand-written matchers: no regular expressions on input.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ws {

std::string small_letters(std::string_view s);
// The name without what emit_nvtx appends (", seq = 5, op_id = 7, sizes = ...").
std::string_view range_stem(std::string_view name);
// "aten::view, seq = 5, ..." -> 5.
std::optional<int64_t> sequence_in(std::string_view name);
// True when one of the words of the name (cut at everything that is no letter or digit) is `word`.
bool has_word(std::string_view small_name, std::string_view word);

struct StepName {
  std::string_view stem;  // the name without its number: "ProfilerStep", "iteration"
  int64_t number = -1;    // -1: no number
  bool profiler = false;  // ProfilerStep#N
};
// ProfilerStep#N, or [global_|train_|training_] iter|iteration|step [number], the whole name.
std::optional<StepName> step_name(std::string_view name);
// `wanted` itself, or `wanted` and a number: "epoch", "epoch 3", "epoch#3".
std::optional<StepName> user_step_name(std::string_view name, std::string_view wanted);
// Optimizer.step#AdamW.step, optimizer, optimizer_step: the whole name.
bool is_optimizer_name(std::string_view name);
// The first of these: PyTorch's profiler names its optimizers by class.
bool is_pytorch_optimizer_name(std::string_view name);
// Saving or loading of checkpoints, evaluation: why a step may be longer and not count.
std::optional<std::string_view> pause_name(std::string_view name);

enum class PassRange : uint8_t { none, recompute, backward, evaluate_function };
PassRange pass_range(std::string_view name);
// A user's phase range that says backward: "backward", "## backward ##", "bwd pass".
bool is_backward_phase(std::string_view name);
// "all_reduce grad [w1]", but not zeroing or clipping of gradients.
bool speaks_of_gradients(std::string_view name);
bool is_offload_name(std::string_view name);
// An operator of PyTorch that does more than to make or to view a tensor.
bool is_computing_op(std::string_view name);

}  // namespace ws
