#pragma once
// The table of kernel names (rules/kernel_classes.json): the only place that knows such names.
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/names.h"

namespace ws {

// Kernels that only the forward or only the backward pass launches (attention, norms).
enum class PassHint : uint8_t { none, forward, backward };

struct NameClass {
  OpClass cls = OpClass::compute_other;
  CollectiveOp coll = CollectiveOp::unknown;  // comm only
  uint8_t flags = 0;                          // OpFlag bits that follow from the name
  CommKind kind = CommKind::other;            // comm only: ep for DeepEP, tp for userbuffers ...
  PassHint pass = PassHint::none;
  std::string_view family;  // "nccl", "nvjet", "flash", ... of the matching row
};

class KernelClasses {
 public:
  static Result<KernelClasses> load(const std::string& path);
  NameClass classify(std::string_view full_name) const;

  struct Table;
  explicit KernelClasses(std::shared_ptr<const Table> table) : table_(std::move(table)) {}

 private:
  std::shared_ptr<const Table> table_;
};

}  // namespace ws
