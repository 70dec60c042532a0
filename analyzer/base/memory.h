#pragma once

namespace ws {

// Gives freed memory back to the system. Reading leaves as much behind in the allocator as the
// trace itself takes; without this the analysis comes on top of it.
void release_freed_memory();

}  // namespace ws
