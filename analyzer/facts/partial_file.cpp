#include "facts/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/crc.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "base/file_error.h"
#include "facts/partial.h"

namespace ws {
namespace partial {
namespace {

constexpr int kZstdLevel = 3;

uint32_t crc32c(std::string_view bytes) {
  // The library's function takes what it only reads as writable.
  auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  return ~crc32_iscsi(data, static_cast<int>(bytes.size()), ~0u);
}

void put(std::string& out, size_t at, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) out[at + i] = static_cast<char>(value >> 8 * i & 0xff);
}

uint64_t number(std::string_view bytes, size_t at, size_t size) {
  uint64_t v = 0;
  for (size_t i = size; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

std::string frame_of(std::string_view body, size_t plain_bytes, bool compressed) {
  std::string out(kHeaderBytes, '\0');
  out.replace(0, kMagic.size(), kMagic);
  out[4] = static_cast<char>(kVersion);
  out[5] = compressed ? 1 : 0;
  put(out, 8, body.size(), 8);
  put(out, 16, plain_bytes, 8);
  put(out, 24, body.empty() ? 0 : crc32c(body), 4);
  put(out, 28, crc32c(std::string_view(out).substr(0, 28)), 4);
  return out.append(body);
}

Error damaged(const std::string& place, std::string_view found) {
  return Error{fmt::format(
      "{}: expected a whole partial, found {}; copy it again, or make it again with `wallsight "
      "analyze --partial`",
      place, found)};
}

Result<std::string> inflated(std::string_view body, uint64_t plain_bytes,
                             const std::string& place) {
  std::string out(plain_bytes, '\0');
  const size_t n = ZSTD_decompress(out.data(), out.size(), body.data(), body.size());
  if (ZSTD_isError(n) != 0 || n != plain_bytes) return damaged(place, "damaged bytes");
  return out;
}

}  // namespace

std::string stored(std::string_view message) { return frame_of(message, message.size(), false); }

std::string framed(std::string_view message) {
  if (message.size() > kLargestBody) return {};
  std::string body(ZSTD_compressBound(message.size()), '\0');
  const size_t n =
      ZSTD_compress(body.data(), body.size(), message.data(), message.size(), kZstdLevel);
  const bool smaller = ZSTD_isError(n) == 0 && n < message.size();
  if (!smaller || message.size() > n * kLargestRatio) return stored(message);
  body.resize(n);
  return frame_of(body, message.size(), true);
}

Result<std::string> unframed(std::string_view file, const std::string& place) {
  if (file.substr(0, kMagic.size()) != kMagic) {
    return Error{fmt::format(
        "{}: expected a partial, found another file; name what `wallsight analyze --partial` "
        "wrote, and give traces to `wallsight analyze`",
        place)};
  }
  if (file.size() < kHeaderBytes) return damaged(place, "the first bytes of one");
  if (number(file, 28, 4) != crc32c(file.substr(0, 28))) return damaged(place, "damaged bytes");
  if (number(file, 4, 1) != kVersion) {
    return Error{fmt::format(
        "{}: expected a partial of version {}, found version {}; merge it with the wallsight that "
        "wrote it, or make it again with this one",
        place, kVersion, number(file, 4, 1))};
  }
  const uint64_t stored_bytes = number(file, 8, 8), plain_bytes = number(file, 16, 8);
  const bool compressed = file[5] == 1;
  const bool sizes = (compressed || file[5] == 0) && number(file, 6, 2) == 0 &&
                     stored_bytes <= kLargestBody && plain_bytes <= kLargestBody &&
                     plain_bytes <= stored_bytes * kLargestRatio &&
                     (compressed || plain_bytes == stored_bytes);
  if (!sizes) return damaged(place, "sizes that no partial has");
  const std::string_view body = file.substr(kHeaderBytes);
  if (body.size() != stored_bytes)
    return damaged(place, fmt::format("{} bytes of {}", body.size(), stored_bytes));
  if (number(file, 24, 4) != (body.empty() ? 0 : crc32c(body)))
    return damaged(place, "damaged bytes");
  if (!compressed) return std::string(body);
  return inflated(body, plain_bytes, place);
}

}  // namespace partial

namespace {

// First bytes of a regular file, all of it with most = SIZE_MAX; an errno where that fails.
int read_bytes(const std::string& path, size_t most, std::string& out) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno;
  struct stat st {};
  int why = ::fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
  // A larger file is no partial; its first bytes and its length say so.
  const auto limit = static_cast<size_t>(partial::kLargestBody) + partial::kHeaderBytes + 1;
  if (why == 0) out.resize(std::min({most, limit, static_cast<size_t>(st.st_size)}));
  for (size_t done = 0; why == 0 && done < out.size();) {
    const ssize_t n = ::read(fd, out.data() + done, out.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) why = errno;
    if (n == 0) out.resize(done);
    if (n > 0) done += static_cast<size_t>(n);
  }
  ::close(fd);
  return why;
}

}  // namespace

bool is_partial(const std::string& path) {
  std::string head;
  return read_bytes(path, partial::kMagic.size(), head) == 0 && head == partial::kMagic;
}

bool may_replace_partial(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) return errno == ENOENT;
  return S_ISREG(st.st_mode) && (st.st_size == 0 || is_partial(path));
}

Result<Partial> read_partial(const std::string& path) {
  std::string bytes;
  if (const int why = read_bytes(path, SIZE_MAX, bytes); why != 0) return can_not_read(path, why);
  return decode_partial(bytes, path);
}

Result<void> write_partial(Partial partial, const std::string& path) {
  auto bytes = encode_partial(std::move(partial), path);
  if (!bytes) return bytes.error();
  const std::string part = fmt::format("{}.{}.tmp", path, ::getpid());
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  out << *bytes;
  out.close();
  if (out.good() && std::rename(part.c_str(), path.c_str()) == 0) return {};
  const Error error = can_not_write(path, errno);
  std::remove(part.c_str());
  return error;
}

}  // namespace ws
