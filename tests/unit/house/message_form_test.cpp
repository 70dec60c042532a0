// Messages of Error are one line, "place: what was expected, what was found; what to do": lower
// case at the start, no full stop at the end. The scan looks at the literals that open the
// braces of every Error{...} in analyzer/.
#include <cctype>

#include "support/catch.h"
#include "unit/house/source_tree.h"

namespace ws::house {
namespace {

// Joined neighbouring literals starting at `at`; empty when no literal stands there. `at` moves on.
std::string joined_literals(const std::string& text, size_t& at) {
  std::string out;
  while (true) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    if (at >= text.size() || text[at] != '"') return out;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) out += text[at++];
      out += text[at];
    }
    ++at;
  }
}

// The message templates of a source file: the first run of literals inside each Error{...}.
std::vector<std::string> messages_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = text.find("Error{"); at != std::string::npos; at = text.find("Error{", at)) {
    at += 6;
    int depth = 1;
    while (at < text.size() && depth > 0) {
      if (text[at] == '"') {
        out.push_back(joined_literals(text, at));
        break;
      }
      depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      ++at;
    }
  }
  return out;
}

std::string fault(const std::string& message) {
  if (message.empty()) return "empty";
  if (message.find("\\n") != std::string::npos) return "more than one line";
  const char last = message.back();
  if (last == '.' || last == '!' || last == ' ') return "ends in a full stop, '!' or blank";
  // The words after leading "{}: " or "{} ", a name in capitals (SQLite, CUDA, NVTX) excepted.
  size_t begin = message.find_first_not_of(":; ,");
  while (begin != std::string::npos && message[begin] == '{') {
    begin = message.find('}', begin);
    if (begin == std::string::npos) return {};
    begin = message.find_first_not_of(":; ,", begin + 1);
  }
  if (begin == std::string::npos) return {};
  const auto upper = [&](size_t i) {
    return i < message.size() && std::isupper(static_cast<unsigned char>(message[i])) != 0;
  };
  if (upper(begin) && !upper(begin + 1)) return "starts with a capital";
  return {};
}

}  // namespace

TEST_CASE("error messages keep their form") {
  size_t seen = 0;
  for (const std::string& file : sources_of("analyzer")) {
    for (const std::string& message : messages_of(read_text(root() / file))) {
      ++seen;
      INFO(file << ": " << message);
      CHECK(fault(message) == "");
    }
  }
  CHECK(seen >= 4);
}

TEST_CASE("the scan sees the faults it looks for") {
  const auto faults = [](const std::string& code) {
    std::string out;
    for (const std::string& m : messages_of(code)) out += fault(m) + "|";
    return out;
  };
  CHECK(faults("return Error{fmt::format(\"{}: can not read; do \" \"this\", p)};") == "|");
  CHECK(faults("return Error{\"can not read.\"};") == "ends in a full stop, '!' or blank|");
  CHECK(faults("return Error{path + \": Bad thing\"};") == "starts with a capital|");
  CHECK(faults("return Error{\"{}: Bad thing\"};") == "starts with a capital|");
  CHECK(faults("return Error{\"Bad \\\"thing\\\"\"};") == "starts with a capital|");
  CHECK(faults("return Error{fmt::format(\"{}: CUPTI table\", p)};") == "|");
  CHECK(faults("return Error{\"a\\nb\"};") == "more than one line|");
}

}  // namespace ws::house
