// Which files are parts of one recording, and what is said of parts that are not there.
#include "import/recording_segments.h"

#include <filesystem>
#include <fstream>

#include "collector/recording.h"
#include "import/importer.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

using namespace ws;
using recording::segment_name;
namespace wc = ws::collector;

namespace {

// A recording of several files; a kernel in each frame, and rows that fill the file.
class Parts {
 public:
  explicit Parts(size_t count, bool finish = true) {
    wc::Names names;
    wc::Recording out{names};
    wc::ProcessRow process;
    process.pid = 42;
    REQUIRE(out.open(file(0), 2 << 20, process) == 0);
    wc::ShapeRow shape;
    shape.name = names.id_of("gemm");
    const uint32_t id = out.shape(shape);
    for (size_t i = 0; i < count; ++i) {
      out.add(wc::KernelRow{static_cast<int64_t>(1000 * i + 1),
                            static_cast<int64_t>(1000 * i + 500), id, 0, 0, 0,
                            static_cast<uint32_t>(i + 1), 0, 0});
      for (int k = 0; k < 8'000; ++k) out.add(wc::EventRecordRow{7, 1, noise(), 0});
      out.flush();
    }
    if (finish) out.finish({});
  }
  std::string file(uint32_t number) const {
    return wc::segment_path(folder_.path() + "/node.0.42.9.wst", number);
  }
  size_t count() const {
    size_t n = 0;
    for (uint32_t i = 0; i < 200; ++i) n += std::filesystem::exists(file(i)) ? 1 : 0;
    return n;
  }
  std::string folder() const { return folder_.path(); }

 private:
  uint64_t noise() { return x_ = x_ * 6364136223846793005ull + 1442695040888963407ull; }
  uint64_t x_ = 1;
  ws::test::ScratchFolder folder_;
};

Trace read_from(const std::string& path) {
  auto read = read_file(path);
  REQUIRE(read);
  REQUIRE(read->size() == 1);
  return std::move(read->front());
}

}  // namespace

TEST_CASE("names of parts") {
  const auto first = segment_name("/x.y/host.3.17.99.wst");
  REQUIRE(first);
  CHECK(first->process == "/x.y/host.3.17.99");
  CHECK(first->number == 0);
  const auto later = segment_name("host.x.17.99.12.wst");
  REQUIRE(later);
  CHECK(later->process == "host.x.17.99");
  CHECK(later->number == 12);
  for (const char* other :
       {"a.wst", ".wst", "host.3.17.99.json", "h.3.1.9.1.2.wst", "h.3.1.9.x.wst", "h.3.1.9.-1.wst",
        "h.3.1.9..wst", "h.3.1.9.99999999999999999999999.wst"})
    CHECK_FALSE(segment_name(other));
}

TEST_CASE("of a list only the first part of each recording is left") {
  const std::vector<std::string> files = {"a/h.0.1.2.wst",   "a/h.0.1.2.1.wst", "a/h.0.1.3.4.wst",
                                          "a/h.0.1.3.5.wst", "b/h.0.1.2.7.wst", "trace.json"};
  CHECK(without_later_segments(files) == std::vector<std::string>{"a/h.0.1.2.wst",
                                                                  "a/h.0.1.3.4.wst",
                                                                  "b/h.0.1.2.7.wst", "trace.json"});
}

TEST_CASE("parts are read as one, from any of them on") {
  const Parts parts(12);
  REQUIRE(parts.count() >= 4);
  const Trace whole = read_from(parts.file(0));
  CHECK(whole.ops.size() == 12);
  CHECK(whole.notes.all().empty());
  CHECK(whole.strings[whole.ops.name[11]] == "gemm");
  const Trace rest = read_from(parts.file(2));
  CHECK(rest.ops.size() < 12);
  CHECK(rest.ops.size() > 0);
  CHECK(rest.ops.begin_ns.back() == whole.ops.begin_ns.back());
  CHECK(rest.strings[rest.ops.name[0]] == "gemm");
  CHECK(rest.notes.count(NoteCode::recording_rotated) ==
        static_cast<int64_t>(12 - rest.ops.size()));
  CHECK(rest.notes.count(NoteCode::records_lost) == 0);
  Notes notes;
  const auto files = list_inputs({parts.folder()}, notes);
  REQUIRE(files);
  CHECK(files->size() == parts.count());
  CHECK(without_later_segments(*files) == std::vector<std::string>{parts.file(0)});
}

TEST_CASE("a part that is missing in the middle or damaged is a loss, the end of the last is not") {
  {
    const Parts parts(12);
    std::filesystem::remove(parts.file(1));
    const Trace t = read_from(parts.file(0));
    CHECK(t.ops.size() < 12);
    CHECK(t.notes.count(NoteCode::records_lost) == static_cast<int64_t>(12 - t.ops.size()));
    CHECK(t.notes.count(NoteCode::recording_rotated) == 0);
  }
  {
    const Parts parts(12);
    std::ofstream(parts.file(1)) << "something else";
    const Trace t = read_from(parts.file(0));
    CHECK(t.notes.count(NoteCode::records_lost) > 0);
  }
  const Parts died(12, false);
  const Trace t = read_from(died.file(0));
  CHECK(t.ops.size() == 12);
  CHECK(t.notes.count(NoteCode::recording_unfinished) == 1);
  CHECK(t.notes.count(NoteCode::records_lost) == 0);
}

TEST_CASE("a file of another process with the next number is left alone") {
  for (const bool same_pid : {false, true}) {
    const ws::test::ScratchFolder folder;
    const std::string path = folder.path() + "/node.0.42.9.wst";
    for (const uint32_t number : {0u, 1u}) {
      wc::Names names;
      wc::Recording out{names};
      wc::ProcessRow process;
      process.pid = same_pid || number == 0 ? 42 : 43;
      process.start_realtime_ns = same_pid ? 1'000 + number : 1'000;
      REQUIRE(out.open(wc::segment_path(path, number), 1 << 20, process) == 0);
      out.add(wc::KernelRow{1'000 + number, 2'000, 0, 0, 0, 0, 1 + number, 0, 0});
      out.finish({});
    }
    const Trace t = read_from(path);
    CHECK(t.ops.size() == 1);
    CHECK(t.notes.count(NoteCode::file_skipped) == 1);
  }
}

TEST_CASE("a damaged first frame of the first file is a loss") {
  const Parts parts(12);
  std::fstream file(parts.file(0), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(40);
  file.put('\x7f');
  file.close();
  const Trace t = read_from(parts.file(0));
  CHECK(t.notes.count(NoteCode::records_lost) == 1);
  CHECK(t.notes.count(NoteCode::recording_rotated) == 0);
}
