#pragma once

namespace ws {

// Gives freed memory back to the system. Reading leaves as much behind in the allocator as the
// trace itself takes; without this the analysis comes on top of it.
void release_freed_memory();

// Empties a container for good: `= {}` leaves a vector its room.
template <class T>
void drop(T& value) {
  value = T();
}

}  // namespace ws
