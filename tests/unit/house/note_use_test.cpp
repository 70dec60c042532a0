// A note that nothing raises is a promise that nothing keeps.
#include <cctype>

#include "model/notes.h"
#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {

TEST_CASE("every note code is raised somewhere") {
  std::string all;
  for (const std::string& file : sources_of("analyzer")) {
    if (file != "analyzer/model/notes.h" && file != "analyzer/model/notes.cpp")
      all += read_text(root() / file);
  }
  for (size_t i = 0; i < static_cast<size_t>(NoteCode::count_); ++i) {
    const std::string code(info_of(static_cast<NoteCode>(i)).id);
    INFO(code);
    bool used = false;
    const std::string needle = "NoteCode::" + code;
    for (size_t at = all.find(needle); at != std::string::npos && !used;
         at = all.find(needle, at + 1)) {
      const char next = all[at + needle.size()];
      used = std::isalnum(static_cast<unsigned char>(next)) == 0 && next != '_';
    }
    CHECK(used);
  }
}

}  // namespace ws::house
