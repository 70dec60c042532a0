// Opens without blocking and looks before it reads, so that pipes and devices are refused instead
// of waited for. Only the head is inflated here; an importer inflates the file itself.
// Tested by: registry_test.cpp
#include "import/file_head.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "base/file_error.h"

namespace ws {
namespace {

struct Descriptor {
  explicit Descriptor(int opened) : fd(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

bool is_gzip(const std::string& bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

// The first kHeadBytes of the content; shorter when the input ends or is damaged before.
std::string inflate_head(std::string& packed) {
  std::string out(kHeadBytes, '\0');
  z_stream z{};
  if (inflateInit2(&z, 15 + 32) != Z_OK) return {};
  z.next_in = reinterpret_cast<Bytef*>(packed.data());
  z.avail_in = static_cast<uInt>(packed.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  while (z.avail_out > 0) {
    const int rc = inflate(&z, Z_NO_FLUSH);
    if (rc == Z_STREAM_END && z.avail_in > 0) {
      inflateReset(&z);  // the next member
    } else if (rc != Z_OK || z.avail_in == 0) {
      break;
    }
  }
  out.resize(out.size() - z.avail_out);
  inflateEnd(&z);
  return out;
}

Error system_error(const std::string& path) { return can_not_read(path, errno); }

}  // namespace

Result<FileHead> read_head(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0) return system_error(path);
  if (!S_ISREG(info.st_mode)) {
    return not_a_file(path, S_ISDIR(info.st_mode), "a trace");
  }
  FileHead head;
  head.file_bytes = info.st_size;
  std::string bytes(kHeadBytes, '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t n = ::read(file.fd, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path);
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  bytes.resize(have);
  if (bytes.empty()) {
    return Error{
        fmt::format("{}: expected a trace, found an empty file; record or export again", path)};
  }
  head.gzip = is_gzip(bytes);
  head.bytes = head.gzip ? inflate_head(bytes) : std::move(bytes);
  if (head.bytes.empty()) {
    return Error{fmt::format(
        "{}: expected gzip data, found a gzip head that can not be inflated; copy the file again",
        path)};
  }
  return head;
}

}  // namespace ws
