#pragma once
// One line for a path that can not be read or written: what the system says and what to do.
#include <string>

#include "base/result.h"

namespace ws {

Error can_not_read(const std::string& path, int why);   // why: errno
Error can_not_write(const std::string& path, int why);  // why: errno, 0 unknown
// A folder, a device or a pipe stands where a file should. expected: "a trace"
Error not_a_file(const std::string& path, bool folder, const std::string& expected = "a file");

}  // namespace ws
