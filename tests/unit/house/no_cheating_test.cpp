// Nothing in the program or its rules may know an input: no rule id in the code, no name of a case
// or recording, no exact number of an expected result, no path outside the checkout. The names
// and numbers come from tests/cases and, where they exist, from the folders beside the checkout.
#include <cctype>
#include <set>

#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// All words of letters, digits and underscores.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end > at) out.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

// 12345 and more significant digits tell a particular input; 1000000 or 250000 do not.
bool is_telling_number(const std::string& word) {
  if (word.empty() || word.size() > 19) return false;
  for (char c : word) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) return false;
  }
  const size_t last = word.find_last_not_of('0');
  return last != std::string::npos && last + 1 >= 4 && word.size() >= 5;
}

std::string without_digit_separators(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
  return text;
}

std::string program_and_rules() {
  std::string all;
  for (const std::string& f : sources_of("analyzer")) all += read_text(root() / f) + "\n";
  for (const std::string& f : files_below("rules", {".json"})) all += read_text(root() / f) + "\n";
  return all;
}

std::vector<std::filesystem::path> input_folders() {
  std::vector<std::filesystem::path> out;
  for (const char* folder : {"tests/cases", "samples", "../shared/cases", "../shared/data/open"}) {
    if (std::filesystem::exists(root() / folder)) out.push_back(root() / folder);
  }
  return out;
}

// Stem without any ending: "rank0.pt.trace.json.gz" -> "rank0".
std::string stem_of(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.find('.'));
}

}  // namespace

TEST_CASE("no name of an input stands in the program or its rules") {
  const std::set<std::string> words = words_of(program_and_rules());
  for (const auto& folder : input_folders()) {
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string stem = stem_of(e.path());
      const bool telling = stem.size() >= 8 && stem.find('_') != std::string::npos &&
                           stem.find_first_of("0123456789") != std::string::npos;
      if (!telling) continue;
      INFO(e.path());
      CHECK(words.count(stem) == 0);
    }
  }
}

TEST_CASE("no exact number of an expected result stands in the program or its rules") {
  const std::set<std::string> words = words_of(without_digit_separators(program_and_rules()));
  for (const auto& folder : input_folders()) {
    for (const auto& e : std::filesystem::recursive_directory_iterator(folder)) {
      const std::string name = e.path().filename().string();
      if (name != "expected.json" && name != "MANIFEST.json") continue;
      for (const std::string& word : words_of(read_text(e.path()))) {
        if (!is_telling_number(word)) continue;
        INFO(e.path() << ": " << word);
        CHECK(words.count(word) == 0);
      }
    }
  }
}

TEST_CASE("no rule id stands in the program, and no path leads out of the checkout") {
  std::string code;
  for (const std::string& f : sources_of("analyzer")) code += read_text(root() / f) + "\n";
  CHECK(code.find("../shared") == std::string::npos);
  for (const std::string& f : files_below("rules", {".json"})) {
    CHECK(read_text(root() / f).find("../shared") == std::string::npos);
    std::string id = f.substr(std::string("rules/").size());
    if (id.find('/') == std::string::npos || ends_with(id, ".cases.json")) continue;
    id = id.substr(0, id.find('.'));
    INFO(id);
    CHECK(code.find(id) == std::string::npos);
  }
}

TEST_CASE("what counts as telling") {
  CHECK(is_telling_number("1764432123456790014"));
  CHECK(is_telling_number("12345"));
  CHECK_FALSE(is_telling_number("1000000"));
  CHECK_FALSE(is_telling_number("25000"));
  CHECK_FALSE(is_telling_number("1024"));
  CHECK(without_digit_separators("12'345") == "12345");
  CHECK(words_of("a_1 (b)").count("a_1") == 1);
}

}  // namespace ws::house
