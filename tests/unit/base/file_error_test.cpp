#include "base/file_error.h"

#include <cerrno>

#include "support/catch.h"

using namespace ws;

TEST_CASE("what can not be read or written comes with what to do") {
  for (int why = 0; why < 140; ++why) {
    for (const Error& e : {can_not_read("a/b", why), can_not_write("a/b", why)}) {
      CHECK(e.message.rfind("a/b: can not ", 0) == 0);
      CHECK(e.message.find("); ") != std::string::npos);
    }
  }
  CHECK(can_not_read("x", ENOENT).message ==
        "x: can not read the file (No such file or directory); check the name and the folder");
  CHECK(can_not_write("x", EFBIG).message.find("ulimit -f") != std::string::npos);
  CHECK(not_a_file("x", true, "a trace").message ==
        "x: expected a trace, found a folder; name the file in it");
  CHECK(not_a_file("x", false).message.find("x: expected a file, found a device or pipe; ") == 0);
}
