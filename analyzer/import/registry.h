#pragma once
// The table of importers, and which files are inputs.
#include <string_view>
#include <vector>

#include "import/importer.h"

namespace ws {

const std::vector<const Importer*>& importers();

// Sorts files naturally and leaves one of each that is there more than once, whatever its names.
void drop_repeated(std::vector<std::string>& files, Notes& notes);

// "rank2" before "rank10": runs of digits compare by value, then byte by byte.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace ws
