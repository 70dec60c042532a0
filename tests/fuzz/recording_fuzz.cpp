// Any bytes as a recording. The first byte says what the rest is: 0, a file as it is; else the body
// of a frame that is put into a right frame, so that the chunk decoder is reached behind the CRCs.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "import/recording.h"
#include "import/recording_frames.h"

namespace {

// One file per process, in memory where the system offers it.
std::string input_path() {
  const char* folder = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  return std::string(folder) + "/wallsight_recording_fuzz." + std::to_string(getpid());
}

void put(std::string& out, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) out[at + i] = static_cast<char>(value >> 8 * i & 0xff);
}

std::string framed(std::string_view body) {
  using namespace ws::recording;
  std::string out(kHeaderBytes, '\0');
  out.replace(0, kMagic.size(), kMagic);
  out[4] = kVersion;
  put(out, 8, static_cast<uint32_t>(body.size()));
  put(out, 12, static_cast<uint32_t>(body.size()));
  put(out, 24, crc32c(body));
  put(out, 28, crc32c(std::string_view(out).substr(0, 28)));
  return out.append(body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static const std::string path = input_path();
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string bytes = data[0] == 0 ? std::string(rest) : framed(rest);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return 0;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  std::fclose(file);
  if (written) {
    const auto read = ws::kRecordingImporter.read(path);
    if (!read && read.error().message.find('\n') != std::string::npos) std::abort();
  }
  std::remove(path.c_str());
  return 0;
}
