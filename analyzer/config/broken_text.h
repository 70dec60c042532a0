#pragma once
// Why a file that should hold settings can not be read, said in the format it was meant in: its
// name and its first sign tell which. Private to config/.
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace ws {

// Blanks or comments alone.
std::optional<Error> nothing_in(std::string_view text, const std::string& source);

// A program of Python that makes its configuration when it runs, such as torchtitan's
// config_registry.py.
std::optional<Error> python_program(std::string_view text, const std::string& source);

bool meant_as_toml(std::string_view text, const std::string& source);
// The first line that TOML can not have.
std::optional<Error> broken_toml(std::string_view text, const std::string& source);

// What the reader of trees said (line and column from 1), for JSON and YAML.
Error broken_tree(std::string_view text, const std::string& source, size_t line, size_t column,
                  const std::string& why);

}  // namespace ws
