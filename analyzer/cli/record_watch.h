#pragma once
#include <string>

namespace ws::cli {

// Leaves a process behind that says on stderr when this one, which becomes the command, has ended
// and no recording is in the folder that was not there before. A byte written to what it returns,
// which closes when the command starts, calls it off; -1: nobody watches.
int watch_for_recording(const std::string& folder);

}  // namespace ws::cli
