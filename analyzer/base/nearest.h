#pragma once
// Which known word somebody may have meant. Tested by: base_test (nearest_test.cpp)
#include <string>
#include <string_view>
#include <vector>

namespace ws {

// Letters to add, drop or change; more than `limit` counts as limit + 1.
size_t edit_distance(std::string_view a, std::string_view b, size_t limit);

// The first of the nearest, at most a third of its letters away; empty: none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace ws
