#pragma once
// What each change of --what-if stands for: the table that --help prints.
#include <string>
#include <string_view>
#include <vector>

namespace ws::cli {

struct WhatIfWords {
  std::string_view id, words;
};
const std::vector<WhatIfWords>& what_if_words();  // in the order of what_if_ids()

// "changes for --what-if: ..." with a line for each.
std::string what_if_help();

}  // namespace ws::cli
