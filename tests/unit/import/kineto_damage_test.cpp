// Damage: one bad byte costs one event, a cut keeps what stands before it, and neither the size of
// blocks nor any flipped byte makes a difference it should not make.
#include <zlib.h>

#include <fstream>
#include <functional>
#include <iterator>

#include "import/kineto.h"
#include "import/kineto_text.h"
#include "support/catch.h"
#include "support/kineto_file.h"

namespace ws {
namespace {

using kineto::is_too_large;
using test::KinetoFile;
using test::ScratchFile;

constexpr int kKernels = 3;

KinetoFile kernels() {
  KinetoFile f;
  f.before("\"schemaVersion\": 1").after("\"baseTimeNanoseconds\": 5");
  for (int i = 0; i < kKernels; ++i) {
    const int64_t t = int64_t{100'000} * i;
    f.cpu_op("aten::mm {x}, \\u0041[" + std::to_string(i) + "]", t, t + 30'000, {},
             R"("Input Dims": [[4, 2], []], "Input type": ["float", ""])");
    f.call("cudaLaunchKernel", t + 10'000, t + 15'000, 100 + i);
    f.kernel("void gemm<" + std::to_string(i) + ">(float*)", t + 20'000, t + 60'000, 100 + i);
  }
  return f;
}

std::string note_text(const Trace& t) {
  std::string out;
  for (const Note& n : t.notes.all()) {
    out += std::string(info_of(n.code).id) + " x" + std::to_string(n.count) + " " + n.first_place +
           " " + n.detail + "\n";
  }
  return out;
}

// All that the importer decides, as text.
std::string digest(const Trace& t) {
  std::string out;
  for (size_t i = 0; i < t.ops.size(); ++i) {
    out += std::to_string(t.ops.begin_ns[i]) + "+" + std::to_string(t.ops.end_ns[i]) + " " +
           std::string(t.strings[t.ops.name[i]]) + " " + std::to_string(t.ops.launch[i]) + "\n";
  }
  for (size_t i = 0; i < t.ranges.size(); ++i) {
    out += std::to_string(t.ranges.begin_ns[i]) + " " + std::string(t.strings[t.ranges.name[i]]) +
           " " + std::to_string(row(t.ranges.thread[i])) + "\n";
  }
  return out + std::to_string(t.calls.size()) + " " + std::to_string(t.clock_base_ns) + "\n" +
         note_text(t);
}

Result<Trace> read_text(std::string_view text, size_t block_bytes = 1 << 16) {
  const ScratchFile file("t.json", text);
  return read_kineto(file.path(), {block_bytes, 3});
}

int64_t lost(const Trace& t) {
  return t.notes.count(NoteCode::bad_event) + t.notes.count(NoteCode::junk_event) +
         t.notes.count(NoteCode::bad_number) + t.notes.count(NoteCode::negative_duration) +
         t.notes.count(NoteCode::truncated_file);
}

}  // namespace

TEST_CASE("blocks of any size give the identical trace") {
  KinetoFile f = kernels();
  f.event("null").event("{]").memset(70, 90, 1).event(R"({"ph": "X", "name": tru})");
  f.python("a \\d b", 5, 10).event(R"({"ph":"X","cat":"cpu_op","name":"z","ts":1,"dur":nan})");
  f.kernel("last", 900'000, 950'000, 7);
  const std::string text = f.text();
  const auto whole = read_text(text);
  REQUIRE(whole);
  CHECK(whole->ops.size() == kKernels + 2);
  CHECK(whole->notes.count(NoteCode::bad_event) == 2);
  for (size_t block = 1; block <= 64; ++block) {
    const auto t = read_text(text, block);
    REQUIRE(t);
    CHECK(digest(*t) == digest(*whole));
  }
}

TEST_CASE("a file cut at any byte gives a prefix, and says where it ends") {
  const std::string text = kernels().text();
  const auto whole = read_text(text);
  REQUIRE(whole);
  const std::string all = digest(*whole);
  const size_t last_sign = text.find_last_of('}');
  size_t before = 0;
  for (size_t cut = 0; cut < text.size(); ++cut) {
    const auto t = read_text(std::string_view(text).substr(0, cut));
    INFO(text.substr(0, cut));
    if (!t) {
      CHECK(cut < text.find("aten::mm") + 300);  // in or before the first event
      continue;
    }
    const size_t rows = t->ops.size() + t->calls.size() + t->ranges.size();
    CHECK(rows >= before);
    CHECK(rows <= before + 1);
    before = rows;
    if (cut > last_sign) {
      CHECK(digest(*t) == all);
      continue;
    }
    REQUIRE(t->notes.count(NoteCode::truncated_file) == 1);
    CHECK(t->notes.count(NoteCode::no_gpu_events) == 0);  // what was recorded is not known
    CHECK(note_text(*t).find("truncated_file x1 byte " + std::to_string(cut)) != std::string::npos);
  }
  CHECK(before == size_t{3} * kKernels);
}

TEST_CASE("a changed byte costs at most its event and one neighbour") {
  const std::string text = kernels().text();
  const size_t first = text.find("{\"ph\"");
  const size_t last = text.rfind("\n  ]");
  constexpr std::string_view kBad("\\{[]x,\0", 7);
  for (size_t at = first; at < last; ++at) {
    for (const char bad : {'"', kBad[at % kBad.size()]}) {
      if (text[at] == bad) continue;
      std::string damaged = text;
      damaged[at] = bad;
      const auto t = read_text(damaged);
      REQUIRE(t);
      const size_t rows = t->ops.size() + t->calls.size() + t->ranges.size();
      INFO(damaged.substr(at > 60 ? at - 60 : 0, 120));
      CHECK(rows + 2 >= size_t{3} * kKernels);
      CHECK(rows <= size_t{3} * kKernels);
      CHECK(t->clock_base_ns == 5);  // what stands behind the events is still found
    }
  }
}

TEST_CASE("a dropped byte costs at most its event and one neighbour") {
  const std::string text = kernels().text();
  const size_t first = text.find("{\"ph\"");
  const size_t last = text.rfind("\n  ]");
  for (size_t at = first; at < last; ++at) {
    std::string damaged = text;
    damaged.erase(at, 1);
    const auto t = read_text(damaged);
    REQUIRE(t);
    INFO(damaged.substr(at > 60 ? at - 60 : 0, 120));
    CHECK(t->ops.size() + t->calls.size() + t->ranges.size() + 2 >= size_t{3} * kKernels);
    CHECK(t->clock_base_ns == 5);
  }
}

TEST_CASE("a lost quote costs one event and is told with its place") {
  std::string text = kernels().text();
  const size_t at = text.find("\"tid\"", text.find("gemm<2>"));
  text.erase(at, 1);
  const auto t = read_text(text);
  REQUIRE(t);
  CHECK(t->ops.size() == kKernels - 1);
  CHECK(t->calls.size() == kKernels);
  CHECK(lost(*t) == 1);
  const size_t event = text.rfind("{\"ph\"", at);
  CHECK(note_text(*t).find("bad_event x1 event 9, byte " + std::to_string(event)) == 0);
}

TEST_CASE("a damaged header does not cost the events") {
  std::string text = kernels().text();
  text.insert(text.find("\"schemaVersion\""), "\"metadata: {\"a\" 1}, ");
  const auto t = read_text(text);
  REQUIRE(t);
  CHECK(t->ops.size() == kKernels);
  CHECK(t->clock_base_ns == 5);
  CHECK(t->notes.count(NoteCode::bad_event) == 1);
}

TEST_CASE("damage behind the events costs only the header there") {
  std::string text = kernels().text();
  text.insert(text.find("\"baseTime"), "\"x\" 5, ");
  const auto t = read_text(text);
  REQUIRE(t);
  CHECK(t->ops.size() == kKernels);
  CHECK(t->notes.count(NoteCode::bad_event) == 1);
  CHECK(t->notes.count(NoteCode::truncated_file) == 0);
}

TEST_CASE("what stands behind the end is told, blanks are not") {
  const std::string text = kernels().text();
  CHECK(note_text(*read_text(text + "\n \n")).empty());
  const auto twice = read_text(text + text);
  REQUIRE(twice);
  CHECK(twice->ops.size() == kKernels);
  CHECK(note_text(*twice).find("byte " + std::to_string(text.size())) != std::string::npos);
  const auto array = read_text("[" + kernels().events() + "] x");
  REQUIRE(array);
  CHECK(array->notes.count(NoteCode::bad_event) == 1);
}

TEST_CASE("repairs are counted: commas, keys, numbers, strings") {
  KinetoFile f = kernels();
  f.event(R"({"ph":"X","ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":990,"dur":1,
              "args":{"device":0,"stream":7,"stream":20,"a":inf,"b":-nan,"c":NaN,"d":Infinity,}})");
  f.event(R"({"ph":"X","cat":"cpu_op","name":"bad\_escape","pid":1,"tid":1,"ts":1,"dur":1})");
  std::string text = f.text();
  text.insert(text.rfind("\n  ]"), ",");
  const auto t = read_text(text);
  REQUIRE(t);
  CHECK(t->notes.count(NoteCode::duplicate_key) == 2);
  CHECK(t->notes.count(NoteCode::bad_number) == 4);
  CHECK(t->notes.count(NoteCode::trailing_comma) == 2);
  CHECK(t->notes.count(NoteCode::repaired_string) == 1);
  CHECK(t->streams[row(t->ops.stream.back())].number == 20);
}

TEST_CASE("times that are none: the event goes, and is counted") {
  KinetoFile f = kernels();
  const auto kernel = [&](const char* ts, const char* dur) {
    f.event(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" + std::string(ts) +
            ",\"dur\":" + dur + "}");
  };
  kernel("0.000", "0.000");
  kernel("5", "-1");
  kernel("1e30", "1");
  kernel("1", "\"abc\"");
  kernel("null", "1");
  kernel("4611686018427387.000", "4611686018427387.000");
  const auto t = read_text(f.text());
  REQUIRE(t);
  CHECK(t->ops.size() == kKernels);
  CHECK(t->notes.count(NoteCode::zero_timestamp) == 1);
  CHECK(t->notes.count(NoteCode::negative_duration) == 1);
  CHECK(t->notes.count(NoteCode::bad_number) == 1);
  CHECK(t->notes.count(NoteCode::junk_event) == 2);
  CHECK(t->notes.count(NoteCode::time_out_of_range) == 2);
  CHECK(t->notes.count(NoteCode::bad_event) == 0);
}

TEST_CASE("times out of range: all events go, and neither numbers nor the GPU are blamed") {
  KinetoFile f;
  for (const char* ts : {"9200000000000001", "9.2e15", "-9200000000000001", "1e300", "1e99999"})
    f.event(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"dur":1,"ts":)" +
            std::string(ts) + "}");
  const auto t = read_text(f.text());
  REQUIRE(t);
  CHECK(t->ops.size() == 0);
  CHECK(t->notes.count(NoteCode::time_out_of_range) == 5);
  for (const NoteCode code : {NoteCode::bad_number, NoteCode::junk_event, NoteCode::no_gpu_events})
    CHECK(t->notes.count(code) == 0);
  for (const char* none : {"", "-", "x", "1x", "1.2.3", "nan", "1e", "e5", "4611686018427387.1"})
    CHECK_FALSE(is_too_large(none));
  CHECK(is_too_large("4611686018427388"));
}

TEST_CASE("a packed file that was changed is damaged, one that ends early is cut off") {
  const std::string plain = kernels().text();
  const auto said = [&](const std::function<void(std::string&)>& change) {
    const ScratchFile file("t.json.gz", "");
    gzFile out = gzopen(file.path().c_str(), "wb");
    gzwrite(out, plain.data(), static_cast<unsigned>(plain.size()));
    gzclose(out);
    std::ifstream in(file.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    change(bytes);
    std::ofstream(file.path(), std::ios::binary) << bytes;
    const auto t = read_kineto(file.path(), {1 << 16, 3});
    REQUIRE(t);
    CHECK(t->ops.size() == kKernels);
    return std::pair(t->notes.count(NoteCode::damaged_file),
                     t->notes.count(NoteCode::truncated_file));
  };
  CHECK(said([](std::string&) {}) == std::pair<int64_t, int64_t>{0, 0});
  for (const size_t from_end : {8u, 5u, 4u, 1u}) {  // the checksum, then the length
    INFO(from_end);
    CHECK(said([&](std::string& b) { b[b.size() - from_end] ^= 0x55; }) ==
          std::pair<int64_t, int64_t>{1, 0});
  }
  CHECK(said([](std::string& b) { b.resize(b.size() - 3); }) == std::pair<int64_t, int64_t>{0, 1});
}

TEST_CASE("entries of the list that are no events are skipped one by one") {
  KinetoFile f = kernels();
  for (const char* junk : {"{}", "null", "5", "\"x\"", "[]", R"({"ph": "X"})",
                           R"({"ph":"X","name":null,"ts":null,"dur":null,"pid":null,"cat":null})",
                           R"({"name": "no ph", "ts": 1})"}) {
    f.event(junk);
  }
  const auto t = read_text(f.text());
  REQUIRE(t);
  CHECK(t->notes.count(NoteCode::junk_event) == 8);
  CHECK(lost(*t) == 8);
}

TEST_CASE("hostile nesting and endless records neither crash nor take quadratic time") {
  const std::string good = kernels().text();
  const size_t at = good.find("{\"ph\"");
  const auto with = [&](const std::string& junk) {
    return read_text(good.substr(0, at) + junk + good.substr(at));
  };
  std::string nested, open, commas, strings;
  for (int i = 0; i < 60'000; ++i) {
    nested += "[";
    open += R"({"x":[{},)";
    commas += R"({"":{}},)";
    strings += R"({"a":"},{"b":")";
  }
  for (const std::string& junk :
       {nested, open, strings, std::string(600'000, '{'), "\"" + std::string(5'000'000, 'a')}) {
    const auto t = with(junk);
    REQUIRE(t);
    CHECK(t->ops.size() >= kKernels - 1);
    CHECK(t->notes.count(NoteCode::bad_event) >= 1);
  }
  const auto t = with(commas);
  REQUIRE(t);
  CHECK(t->ops.size() == kKernels);
  CHECK(t->notes.count(NoteCode::junk_event) == 60'000);
}

TEST_CASE("an event larger than blocks and headroom is read") {
  KinetoFile f = kernels();
  f.cpu_op("huge", 1'000, 2'000, {}, "\"Call stack\": \"" + std::string(300'000, 's') + "\"");
  for (size_t block : {size_t{1000}, size_t{70'000}, size_t{1} << 20}) {
    const auto t = read_text(f.text(), block);
    REQUIRE(t);
    CHECK(t->ranges.size() == kKernels + 1);
    CHECK(lost(*t) == 0);
  }
}

}  // namespace ws
