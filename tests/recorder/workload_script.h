#pragma once
// A script of ranges and records, played at the times it says.
namespace ws::test {

int play(const char* path);

}  // namespace ws::test
