// The catalogue of notes: complete, unique, in the form of messages, and nothing in it is unused.
#include "model/notes.h"

#include <set>

#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {
namespace {

std::vector<std::string> codes_of_the_enum() {
  std::vector<std::string> out;
  const std::string text = read_text(root() / "analyzer/model/notes.h");
  const size_t begin = text.find('{', text.find("enum class NoteCode")) + 1;
  for (std::string line : lines_of(text.substr(begin, text.find("};", begin) - begin))) {
    line = line.substr(0, line.find("//"));
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    out.push_back(line.substr(first, line.find_first_of(", ", first) - first));
  }
  return out;
}

}  // namespace

TEST_CASE("note ids are unique, lower case and equal to their enumerators") {
  const std::vector<std::string> codes = codes_of_the_enum();
  REQUIRE(codes.size() == static_cast<size_t>(NoteCode::count_) + 1);  // count_ itself
  std::set<std::string_view> ids;
  for (size_t i = 0; i + 1 < codes.size(); ++i) {
    const NoteInfo& info = info_of(static_cast<NoteCode>(i));
    INFO("row " << i << " of the catalogue");
    CHECK(info.id == codes[i]);
    CHECK(ids.insert(info.id).second);
  }
}

TEST_CASE("note texts are clauses without a full stop") {
  for (size_t i = 0; i < static_cast<size_t>(NoteCode::count_); ++i) {
    const NoteInfo& info = info_of(static_cast<NoteCode>(i));
    INFO(info.id);
    REQUIRE(info.text.size() > 10);
    CHECK(info.text.back() != '.');
    CHECK(info.text.find('\n') == std::string_view::npos);
    if (!info.advice.empty()) CHECK(info.advice.back() != '.');
  }
}

}  // namespace ws::house
