#include "import/source.h"

#include <unistd.h>

#include "support/catch.h"
#include "support/kineto_file.h"

namespace ws {
namespace {

using test::gzip;
using test::ScratchFile;

struct Content {
  std::string text;
  SourceEnd end{};
};

Content all_of(const std::string& path, SourceOptions options = {}) {
  const auto source = Source::open(path, options);
  REQUIRE(source);
  Content out;
  while (true) {
    const Source::Block block = (*source)->take();
    if (block.size == 0) break;
    out.text.append(block.data, block.size);
    (*source)->give_back();
  }
  out.end = (*source)->end();
  return out;
}

std::string counting(size_t bytes) {
  std::string out;
  for (int i = 0; out.size() < bytes; ++i) out += std::to_string(i) + ",";
  out.resize(bytes);
  return out;
}

}  // namespace

TEST_CASE("plain and gzip files give the same bytes in blocks of any size") {
  const std::string text = counting(300'000);
  const ScratchFile plain("a.json", text);
  const ScratchFile packed("a.json.gz", gzip(text));
  for (const std::string& path : {plain.path(), packed.path()}) {
    for (size_t block : {size_t{1}, size_t{7}, size_t{4096}, size_t{1} << 20}) {
      if (block == 1 && path == packed.path()) continue;  // the next case has it, smaller
      const Content c = all_of(path, {block, 3});
      CHECK(c.text == text);
      CHECK(c.end == SourceEnd::complete);
    }
  }
}

TEST_CASE("gzip members follow one another; what is no member behind them is ignored") {
  const std::string a = counting(5000), b = counting(777);
  const std::string zeros(512, '\0');
  for (const std::string& tail : {std::string(), zeros, std::string("x"), std::string("tail")}) {
    const ScratchFile file("two", gzip(a) + gzip(b) + tail);
    for (size_t block : {size_t{1}, size_t{64}, size_t{1} << 16}) {
      const Content c = all_of(file.path(), {block, 3});
      CHECK(c.text == a + b);
      CHECK(c.end == SourceEnd::complete);
    }
  }
}

TEST_CASE("a gzip stream cut at any byte gives what stands before the cut") {
  const std::string text = counting(700);
  const std::string packed = gzip(text);
  for (size_t cut = 2; cut < packed.size(); ++cut) {
    const ScratchFile file("cut.gz", std::string_view(packed).substr(0, cut));
    const Content c = all_of(file.path());
    CHECK(c.end == SourceEnd::cut);
    CHECK(text.compare(0, c.text.size(), c.text) == 0);
    if (cut + 9 > packed.size()) CHECK(c.text == text);  // only the trailer is missing
  }
}

TEST_CASE("damage inside a gzip stream is seen") {
  const std::string text = counting(100'000);
  std::string packed = gzip(text);
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x5a);
  const ScratchFile file("bad.gz", packed);
  const Content c = all_of(file.path());
  CHECK(c.end != SourceEnd::complete);
  CHECK(text.compare(0, 1000, c.text, 0, 1000) == 0);
  for (size_t block : {size_t{16}, size_t{4096}})
    CHECK(all_of(file.path(), {block, 3}).text == c.text);
}

TEST_CASE("a checksum that does not fit is damage") {
  std::string packed = gzip(counting(1000));
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);
  const ScratchFile file("crc.gz", packed);
  CHECK(all_of(file.path()).end == SourceEnd::damaged);
}

TEST_CASE("what can not be opened is an error in one line") {
  const ScratchFile file("x", "x");
  const auto folder = Source::open(file.folder());
  REQUIRE_FALSE(folder);
  CHECK(folder.error().message ==
        file.folder() + ": expected a file, found a folder; name the file in it");
  const auto absent = Source::open(file.folder() + "/absent");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().message.find("can not read the file (No such file") != std::string::npos);
}

TEST_CASE("an empty file ends at once, and a source may be dropped unread") {
  const ScratchFile empty("empty", "");
  CHECK(all_of(empty.path()).text.empty());
  const ScratchFile large("large.gz", gzip(counting(3'000'000)));
  const auto source = Source::open(large.path());
  REQUIRE(source);
  CHECK((*source)->take().size > 0);
}

TEST_CASE("a window keeps the unused rest in front of the next block") {
  const std::string text = counting(400'000);
  const ScratchFile file("w", text);
  // Rests below and above the headroom, for both ways of keeping them.
  for (size_t rest : {size_t{0}, size_t{5}, size_t{60'000}, size_t{70'000}, size_t{150'000}}) {
    const auto source = Source::open(file.path(), {32'768, 3});
    REQUIRE(source);
    Window window(**source);
    const char* keep = nullptr;
    size_t seen = 0;
    while (window.refill(keep)) {
      REQUIRE(std::string_view(window.begin(), window.size()) ==
              std::string_view(text).substr(static_cast<size_t>(window.offset_of(window.begin())),
                                            window.size()));
      seen = static_cast<size_t>(window.offset_of(window.end()));
      keep = window.end() - std::min(rest, window.size());
    }
    CHECK(seen == text.size());
    CHECK(std::string_view(window.begin(), window.size()) ==
          std::string_view(text).substr(text.size() - std::min(rest, text.size())));
  }
}

}  // namespace ws
