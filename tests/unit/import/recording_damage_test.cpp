// A small recording cut at every byte and with every byte flipped: never a crash, every whole frame
// before (and behind) the damage recovered, the loss said.
#include <fstream>
#include <map>
#include <set>

#include "import/importer.h"
#include "import/recording_frames.h"
#include "support/catch.h"
#include "support/recording_file.h"

using namespace ws;
using ws::test::RecordingFile;
namespace wc = ws::collector;

namespace {

constexpr size_t kFrames = 4, kKernelsOfAFrame = 5;

// Frames of kernels whose times tell the frame, then the footer.
std::string sample() {
  RecordingFile f;
  for (size_t frame = 0; frame < kFrames; ++frame) {
    for (size_t i = 0; i < kKernelsOfAFrame; ++i) {
      wc::KernelRow k;
      k.begin_ns = static_cast<int64_t>(1'000'000 * (frame + 1) + 1'000 * i);
      k.end_ns = k.begin_ns + 500;
      k.correlation = static_cast<uint32_t>(10 * frame + i + 1);
      k.shape = f.shape(i == 2 ? "odd" + std::to_string(frame) : "gemm");
      f.out.add(k);
    }
    f.out.flush();
  }
  std::ifstream in(f.finish(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Frame {
  size_t begin, end;
};
std::vector<Frame> frames_of(const std::string& bytes) {
  std::vector<Frame> out;
  for (size_t at = 0; at < bytes.size(); at = out.back().end) {
    recording::Header h;
    REQUIRE(recording::parse_header(std::string_view(bytes).substr(at), h));
    out.push_back({at, at + recording::kHeaderBytes + h.stored_bytes});
  }
  return out;
}

// Which frames' kernels are all there; demands that none is there in part.
std::set<size_t> recovered(const Trace& t) {
  std::map<size_t, size_t> kernels;
  for (const TimeNs begin : t.ops.begin_ns) ++kernels[static_cast<size_t>(begin / 1'000'000) - 1];
  std::set<size_t> out;
  for (const auto& [frame, count] : kernels) {
    CHECK(count == kKernelsOfAFrame);
    out.insert(frame);
  }
  return out;
}

class File {
 public:
  std::string with(const std::string& bytes) const {
    std::string path = folder_.path() + "/damaged.wst";
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }

 private:
  ws::test::ScratchFolder folder_;
};

}  // namespace

TEST_CASE("cut at every byte: whole frames stay, the torn one is said") {
  const std::string whole = sample();
  const std::vector<Frame> frames = frames_of(whole);
  REQUIRE(frames.size() == kFrames + 1);
  const File file;
  for (size_t size = 0; size < whole.size(); ++size) {
    INFO("cut to " << size << " bytes");
    const auto read = read_file(file.with(whole.substr(0, size)));
    if (size < frames[0].end) {
      REQUIRE_FALSE(read);
      CHECK(read.error().message.find('\n') == std::string::npos);
      continue;
    }
    REQUIRE(read);
    const Trace& t = read->front();
    std::set<size_t> expected;
    bool torn = true;
    for (size_t i = 0; i < kFrames; ++i) {
      if (frames[i].end <= size) expected.insert(i);
      torn = torn && frames[i].end != size;
    }
    CHECK(recovered(t) == expected);
    CHECK(t.notes.count(NoteCode::records_lost) == 0);
    REQUIRE(t.notes.count(NoteCode::recording_unfinished) == 1);
    for (const Note& n : t.notes.all()) {
      if (n.code == NoteCode::recording_unfinished)
        CHECK(n.detail == (torn ? "the last frame is torn" : ""));
    }
  }
  CHECK(read_file(file.with(whole))->front().notes.count(NoteCode::recording_unfinished) == 0);
}

TEST_CASE("every byte flipped: all other frames stay, the loss is counted") {
  const std::string whole = sample();
  const std::vector<Frame> frames = frames_of(whole);
  const File file;
  for (size_t at = 0; at < whole.size(); ++at) {
    INFO("byte " << at);
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    const auto read = read_file(file.with(bytes));
    REQUIRE(read);
    const Trace& t = read->front();
    std::set<size_t> expected;
    size_t hit = 0;
    for (size_t i = 0; i <= kFrames; ++i) {
      if (frames[i].begin <= at && at < frames[i].end) {
        hit = i;
      } else if (i < kFrames) {
        expected.insert(i);
      }
    }
    CHECK(recovered(t) == expected);
    const bool footer = hit == kFrames;
    CHECK(t.notes.count(NoteCode::records_lost) == (footer ? 0 : 1));
    CHECK(t.notes.count(NoteCode::recording_unfinished) == (footer ? 1 : 0));
    // The first frame names "gemm"; later ones keep their times without it.
    if (hit == 0) CHECK(t.notes.count(NoteCode::unknown_string) > 0);
  }
}

TEST_CASE("garbage between frames and doubled frames") {
  const std::string whole = sample();
  const std::vector<Frame> frames = frames_of(whole);
  const File file;
  const std::string first = whole.substr(0, frames[0].end), rest = whole.substr(frames[0].end);
  {
    const std::string garbage = "\x57\x53\x46\xa7" + std::string(100'000, '\x57');
    const auto read = read_file(file.with(first + garbage + rest));
    REQUIRE(read);
    CHECK(recovered(read->front()).size() == kFrames);
    CHECK(read->front().notes.count(NoteCode::records_lost) == 1);
  }
  {
    // A frame that was torn while the disk was full: its header promises more than is there.
    const std::string torn = whole.substr(frames[1].begin, recording::kHeaderBytes + 3);
    const auto read = read_file(file.with(first + torn + rest));
    REQUIRE(read);
    CHECK(recovered(read->front()).size() == kFrames);
  }
  {
    const auto read = read_file(file.with(whole + whole));  // duplicates are dropped by the model
    REQUIRE(read);
    CHECK(read->front().notes.count(NoteCode::duplicate_record) ==
          static_cast<int64_t>(kFrames * kKernelsOfAFrame));
  }
}

TEST_CASE("many headers that promise the whole file are read in linear time") {
  // Each header is right and its body is not: without a budget every one would check all behind it.
  std::string header(recording::kHeaderBytes, '\0');
  header.replace(0, 4, recording::kMagic);
  header[4] = recording::kVersion;
  const uint32_t promised = 1 << 20;
  for (size_t i = 0; i < 4; ++i)
    header[8 + i] = header[12 + i] = static_cast<char>(promised >> 8 * i & 0xff);
  const uint32_t crc = recording::crc32c(std::string_view(header).substr(0, 28));
  for (size_t i = 0; i < 4; ++i) header[28 + i] = static_cast<char>(crc >> 8 * i & 0xff);
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += header;
  const auto read = read_file(File().with(bytes));
  CHECK_FALSE(read);
}
