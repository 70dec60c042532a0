// Tested by: evidence_test.cpp
#include "analysis/program_signs.h"

#include <algorithm>
#include <iterator>

namespace ws {
namespace {

struct Sign {
  std::string_view name, words;
  bool at_start;
};
// source: torch/nn/parallel/distributed.py, torch/distributed/fsdp/fully_sharded_data_parallel.py
// (Megatron Core wraps the newer fully_shard, whose ranges have other names), FBGEMM
// split_table_batched_embeddings_ops_training.py; paths of Python frames.
constexpr Sign kSigns[] = {
    {"DistributedDataParallel.forward", "DistributedDataParallel of PyTorch", true},
    {"FullyShardedDataParallel.forward", "FullyShardedDataParallel of PyTorch", true},
    {"torchtitan/", "torchtitan", false},
    {"transformers/trainer.py", "the trainer of transformers", false},
    {"torchvision/models/", "a model of torchvision", false},
    {"split_embedding", "embedding tables of FBGEMM", false},
    {"aten::_embedding_bag", "embedding bags", true}};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool begins(std::string_view text, std::string_view part) {
  return text.substr(0, part.size()) == part;
}

bool is_batch_norm(std::string_view s) { return begins(s, "aten::") && has(s, "batch_norm"); }

// The softmax of a loss is no sign of attention, and is written log_softmax or LogSoftmax.
bool may_be_of_a_transformer(std::string_view s) {
  constexpr std::string_view kParts[] = {"ttention", "ttn",         "flash", "fmha",
                                         "amba",     "causal_conv", "ssm",   "MaskedSoftmax"};
  if (s == "aten::softmax" || s == "aten::_softmax" || begins(s, "SoftmaxBackward")) return true;
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return has(s, part); });
}

}  // namespace

std::string_view sign_of_no_megatron(const Trace& trace) {
  const Sign* found = nullptr;
  bool batch_norm = false, transformer = false;
  for (uint32_t i = 0; i < trace.strings.size(); ++i) {
    const std::string_view s = trace.strings[StringId{i}];
    batch_norm = batch_norm || is_batch_norm(s);
    transformer = transformer || may_be_of_a_transformer(s);
    for (const Sign& sign : kSigns)
      if ((found == nullptr || &sign < found) &&
          (sign.at_start ? begins(s, sign.name) : has(s, sign.name)))
        found = &sign;
  }
  if (found != nullptr) return found->words;
  return batch_norm && !transformer ? "batch normalisation and no attention" : "";
}

}  // namespace ws
