// Spellings were collected from files of PyTorch 1.7 to 2.10 on CUDA, ROCm and MTIA.
// Tested by: kineto_text_test.cpp
#include "import/kineto_names.h"

#include <array>
#include <utility>

namespace ws::kineto {
namespace {

bool contains(std::string_view s, std::string_view part) {
  return s.find(part) != std::string_view::npos;
}

bool ends_with(std::string_view s, std::string_view end) {
  return s.size() >= end.size() && s.substr(s.size() - end.size()) == end;
}

struct Spelling {
  std::string_view name;
  Category category;
};
// By length, so that most comparisons are of one number.
constexpr Spelling kCategories[] = {
    {"kernel", Category::kernel},
    {"Kernel", Category::kernel},
    {"cpu_op", Category::cpu_op},
    {"Operator", Category::cpu_op},
    {"cuda_runtime", Category::call},
    {"cuda_driver", Category::call},
    {"Runtime", Category::call},
    {"python_function", Category::python},
    {"user_annotation", Category::user_annotation},
    {"gpu_memcpy", Category::copy},
    {"Memcpy", Category::copy},
    {"gpu_memset", Category::memset},
    {"Memset", Category::memset},
    {"gpu_user_annotation", Category::gpu_annotation},
    {"cuda_sync", Category::sync},
    {"overhead", Category::overhead},
    {"xpu_runtime", Category::call},
    {"xpu_driver", Category::call},
    {"privateuse1_runtime", Category::call},
    {"privateuse1_driver", Category::call},
    {"mtia_ccp_events", Category::accelerator},
    {"mtia_runtime", Category::accelerator},
    {"mtia_workloadd", Category::accelerator},
    {"mtia_insight", Category::accelerator},
    {"hpu_op", Category::accelerator},
};

struct CopySpelling {
  std::string_view part;
  OpKind kind;
};
constexpr CopySpelling kCopies[] = {
    {"HtoD", OpKind::h2d},          {"DtoH", OpKind::d2h},         {"DtoD", OpKind::d2d},
    {"PtoP", OpKind::p2p},          {"HtoA", OpKind::h2d},         {"AtoH", OpKind::d2h},
    {"AtoD", OpKind::d2d},          {"DtoA", OpKind::d2d},         {"AtoA", OpKind::d2d},
    {"HtoH", OpKind::d2h},          {"HostToDevice", OpKind::h2d}, {"DeviceToHost", OpKind::d2h},
    {"PeerToPeer", OpKind::p2p},    {"HostToHost", OpKind::d2h},   {"HOST_TO_DEVICE", OpKind::h2d},
    {"DEVICE_TO_HOST", OpKind::d2h}};

// "torch/utils/data/dataloader.py(630): __next__" -> "__next__"
std::string_view function_of(std::string_view name) {
  const size_t colon = name.rfind(": ");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

bool is_garbage_collection(std::string_view name) {
  return name == "gc" || name == "python gc" || name.substr(0, 3) == "gc." ||
         contains(name, "gc.collect") || contains(name, "function collect>") ||
         contains(name, "/gc.py") || contains(name, "garbage_collection");
}

bool is_data_loading(std::string_view name) {
  return contains(name, "__next__") || contains(name, "dataloader") ||
         contains(name, "DataLoader") || contains(name, "next_batch") ||
         contains(name, "get_batch");
}

bool is_compilation(std::string_view name) {
  if (!contains(name, "_dynamo") && !contains(name, "_inductor") && !contains(name, "triton") &&
      !contains(name, "autotun")) {
    return false;
  }
  const std::string_view function = function_of(name);
  return contains(name, "autotun") ||
         (contains(function, "compile") && function != "compile_wrapper");
}

// "torch/utils/checkpoint.py(1500): recompute_fn": the only name that a checkpoint without a
// backward function of its own has.
bool is_recompute(std::string_view name) {
  return contains(name, "checkpoint") && contains(function_of(name), "recompute");
}

}  // namespace

Category category_of(std::string_view cat) {
  for (const Spelling& s : kCategories) {
    if (s.name == cat) return s.category;
  }
  return Category::other;
}

OpKind copy_kind(std::string_view name, std::string_view kind) {
  for (std::string_view text : {name, kind}) {
    for (const CopySpelling& s : kCopies) {
      if (contains(text, s.part)) return s.kind;
    }
  }
  return OpKind::d2d;
}

bool is_pageable(std::string_view name) { return contains(name, "Pageable"); }
bool is_pinned(std::string_view name) { return contains(name, "Pinned") && !is_pageable(name); }

SyncKind sync_kind(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, SyncKind>, 4> kKinds = {{
      {"Event Sync", SyncKind::event},
      {"Stream Wait Event", SyncKind::stream_wait},
      {"Stream Sync", SyncKind::stream},
      {"Context Sync", SyncKind::context},
  }};
  for (const auto& [spelling, kind] : kKinds) {
    if (contains(name, spelling)) return kind;
  }
  return SyncKind::unknown;
}

std::string_view api_name(std::string_view name) {
  for (std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (ends_with(name, suffix)) name.remove_suffix(suffix.size());
  }
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits < name.size() && digits > 2 && name[digits - 1] == 'v' && name[digits - 2] == '_') {
    name = name.substr(0, digits - 2);
  }
  return name;
}

bool is_graph_launch(std::string_view call) { return contains(call, "GraphLaunch"); }

bool is_wanted_python(std::string_view name) {
  return is_garbage_collection(name) || is_data_loading(name) || is_compilation(name) ||
         is_recompute(name);
}

}  // namespace ws::kineto
