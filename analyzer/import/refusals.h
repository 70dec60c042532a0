#pragma once
#include <string>
#include <string_view>

#include "base/result.h"
#include "import/file_head.h"

namespace ws {

// Why a file that no importer knows is not a trace, and what to do: one line.
Error refusal(const std::string& path, const FileHead& head);

// What a file is that people hand over by mistake, and what to do with it; `found` is empty where
// its bytes do not tell.
struct Recognised {
  std::string_view found, advice;
};
Recognised recognise(const FileHead& head);

// What wallsight itself wrote beside the traces: reports and fact databases.
bool is_own_product(const FileHead& head);

// Zeros where a header should be, or JSON that ends before it is closed.
bool is_damaged(const FileHead& head);

}  // namespace ws
