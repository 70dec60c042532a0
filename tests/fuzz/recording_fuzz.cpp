// Any bytes as a recording. What begins as a frame is a file as it is; all else is the body of a
// frame and is put into a right one, so that the chunk decoder is reached behind the CRCs.
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
  static const std::string path = input_path();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const bool is_file = input.substr(0, 3) == ws::recording::kMagic.substr(0, 3);
  const std::string bytes = is_file ? std::string(input) : framed(input);
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
