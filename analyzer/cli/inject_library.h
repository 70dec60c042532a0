#pragma once
// The recorder's library, which is loaded into the job: a file beside the program, not linked to
// it.
#include <string>

#include "base/result.h"

namespace ws::cli {

// ../lib/wallsight (installed; also with the machine's subfolder), ../lib (a build tree), else
// $WALLSIGHT_INJECT.
Result<std::string> find_inject_library();

}  // namespace ws::cli
