// Tested by: base_test (file_error_test.cpp), tests/cli/files_check.py
#include "base/file_error.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace ws {
namespace {

const char* how_to_read(int why) {
  switch (why) {
    case ENOENT:
    case ENOTDIR:
      return "check the name and the folder";
    case EACCES:
    case EPERM:
      return "check its owner and permissions";
    case EISDIR:
      return "name a file in the folder";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n) or use --threads 1";
    case ENXIO:
    case ENODEV:
    case EINVAL:
      return "write it to a file first: pipes and devices can not be read twice";
    default:
      return "copy it to a local disk and try again";
  }
}

const char* how_to_write(int why) {
  switch (why) {
    case ENOENT:
    case ENOTDIR:
      return "make the folder first";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a folder that you may write to";
    case EFBIG:
      return "raise the limit of file sizes (ulimit -f)";
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another disk";
    default:
      return "check the folder and free space";
  }
}

}  // namespace

Error can_not_read(const std::string& path, int why) {
  return Error{fmt::format("{}: can not read the file ({}); {}", path, std::strerror(why),
                           how_to_read(why))};
}

Error can_not_write(const std::string& path, int why) {
  return Error{fmt::format("{}: can not write the file ({}); {}", path,
                           why != 0 ? std::strerror(why) : "output error", how_to_write(why))};
}

Error not_a_file(const std::string& path, bool folder, const std::string& expected) {
  if (folder)
    return Error{
        fmt::format("{}: expected {}, found a folder; name the file in it", path, expected)};
  return Error{fmt::format(
      "{}: expected {}, found a device or pipe; write it to a file first: it can not be read twice",
      path, expected)};
}

}  // namespace ws
