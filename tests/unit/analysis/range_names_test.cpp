#include "analysis/range_names.h"

#include "support/catch.h"

using namespace ws;

TEST_CASE("step names match as a whole") {
  struct Row {
    const char* name;
    int64_t number;  // -2: not a step
  };
  const Row rows[] = {{"ProfilerStep#12", 12},
                      {"ProfilerStep # 3", 3},
                      {"profilerstep#0", 0},
                      {" ProfilerStep#7 ", 7},
                      {"iteration 5", 5},
                      {"iteration", -1},
                      {"iter_3", 3},
                      {"step", -1},
                      {"Step#4", 4},
                      {"step: 9", 9},
                      {"global_step=17", 17},
                      {"globalstep 1", 1},
                      {"train_step 2", 2},
                      {"training_step", -1},
                      {"TrainStep5", 5},
                      {"training_iteration 8", 8},
                      {"ProfilerStep", -2},
                      {"ProfilerStep#", -2},
                      {"ProfilerStep#1a", -2},
                      {"train_step_prologue", -2},
                      {"step_attention_mask", -2},
                      {"stepper", -2},
                      {"my step 3", -2},
                      {"iterations 3", -2},
                      {"training", -2},
                      {"", -2},
                      {"step 3 of 5", -2},
                      {"Warm-up Step 1", -2},
                      {"step 99999999999999999999999", -1}};
  for (const Row& r : rows) {
    INFO(r.name);
    const auto s = step_name(r.name);
    CHECK(s.has_value() == (r.number != -2));
    if (s) CHECK(s->number == r.number);
  }
  CHECK(step_name("ProfilerStep#12")->profiler);
  CHECK_FALSE(step_name("step 12")->profiler);
  CHECK(step_name("global_step 4")->stem == "global_step");
}

TEST_CASE("a user's step name may carry a number") {
  CHECK(user_step_name("epoch 3", "epoch")->number == 3);
  CHECK(user_step_name("epoch", "epoch")->number == -1);
  CHECK(user_step_name("epoch#3", " epoch ")->number == 3);
  CHECK_FALSE(user_step_name("epochs", "epoch"));
  CHECK_FALSE(user_step_name("Epoch 3", "epoch"));
  CHECK_FALSE(user_step_name("anything", ""));
}

TEST_CASE("names of passes, phases, optimizers, pauses and offload") {
  CHECK(pass_range("recompute_forward") == PassRange::recompute);
  CHECK(pass_range("CheckpointFunctionBackward") == PassRange::recompute);
  CHECK(pass_range("norecompute") == PassRange::none);
  CHECK(pass_range("autograd::engine::evaluate_function: MmBackward0") ==
        PassRange::evaluate_function);
  CHECK(pass_range("autograd::engine::evaluate_function: CheckpointFunctionBackward") ==
        PassRange::recompute);
  CHECK(pass_range("MmBackward0, seq = 12, op_id = 3") == PassRange::backward);
  CHECK(pass_range("encoder.layers.0.backward") == PassRange::backward);
  CHECK(pass_range("backward pass of it") == PassRange::none);
  CHECK(is_backward_phase("## backward ##"));
  CHECK(is_backward_phase("Backward pass"));
  CHECK_FALSE(is_backward_phase("forward-backward"));
  CHECK_FALSE(is_backward_phase("backwards compatible"));
  CHECK(is_optimizer_name("Optimizer.step#AdamW.step"));
  CHECK(is_optimizer_name("optimizer"));
  CHECK_FALSE(is_optimizer_name("Optimizer.zero_grad#AdamW.zero_grad"));
  CHECK(pause_name("save_checkpoint") == "checkpoint");
  CHECK(pause_name("Evaluate") == "evaluation");
  CHECK_FALSE(pause_name("checkpoint_function"));
  CHECK_FALSE(pause_name("autograd::engine::evaluate_function: MmBackward0"));
  CHECK_FALSE(pause_name("medieval"));
  CHECK(speaks_of_gradients("all_reduce grad [layers.3.w1]"));
  CHECK_FALSE(speaks_of_gradients("Optimizer.zero_grad#Adam.zero_grad"));
  CHECK_FALSE(speaks_of_gradients("clip gradients"));
  CHECK_FALSE(speaks_of_gradients("upgrade"));
  CHECK(is_offload_name("activation_offload"));
  CHECK_FALSE(is_offload_name("load"));
  CHECK(sequence_in("aten::view, seq = 55, op_id = 7") == 55);
  CHECK_FALSE(sequence_in("aten::view, op_id = 7"));
  CHECK(range_stem("aten::view, op_id = 7, sizes = [[1]]") == "aten::view");
}
