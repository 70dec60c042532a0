#pragma once
// The frames of a recording, read with an independent reader: the classes that protoc makes.
#include <zstd.h>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "collector/crc32c.h"
#include "collector/frame_writer.h"
#include "recording.pb.h"
#include "support/catch.h"

namespace ws::test {

inline uint64_t number_at(std::string_view bytes, size_t at, size_t size) {
  uint64_t v = 0;
  for (size_t i = size; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Every frame of the file; demands that there is nothing else. first: number of its first frame.
inline std::vector<wallsight::recording::Chunk> chunks_of(const std::string& path,
                                                          size_t first = 0) {
  using namespace collector;
  const std::string all = file_bytes(path);
  std::vector<wallsight::recording::Chunk> out;
  for (size_t at = 0; at < all.size();) {
    REQUIRE(all.size() - at >= kHeaderBytes);
    const std::string_view h = std::string_view(all).substr(at, kHeaderBytes);
    CHECK(std::memcmp(h.data(), kMagic, 4) == 0);
    CHECK(h[4] == 1);
    CHECK(crc32c(h.data(), 28) == number_at(h, 28, 4));
    CHECK(number_at(h, 16, 8) == first + out.size());
    const size_t stored = number_at(h, 8, 4), plain = number_at(h, 12, 4);
    REQUIRE(all.size() - at - kHeaderBytes >= stored);
    const std::string_view body = std::string_view(all).substr(at + kHeaderBytes, stored);
    CHECK(crc32c(body.data(), body.size()) == number_at(h, 24, 4));
    CHECK(plain <= stored * kLargestRatio);
    std::string inflated(body);
    if (h[5] == 1) {
      inflated.resize(plain);
      CHECK(ZSTD_decompress(inflated.data(), plain, body.data(), stored) == plain);
    }
    CHECK(inflated.size() == plain);
    REQUIRE(out.emplace_back().ParseFromString(inflated));
    at += kHeaderBytes + stored;
  }
  return out;
}

}  // namespace ws::test
