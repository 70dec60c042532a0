#pragma once
// Finds all words of a table in a kernel name in one pass (Aho-Corasick), so that a hostile name of
// any length costs linear time. What a word may require of its place is in the table's "about".
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ws {

// A kernel name made equal for matching: small letters, no anonymous namespaces, no argument list.
struct MatchText {
  enum : uint8_t { kOutside = 1, kStart = 2 };
  std::string text;
  std::vector<uint8_t> at;  // per byte: outside template arguments, start of a name part
};
MatchText match_text(std::string_view full_name);

class NameMatcher {
 public:
  enum Place : uint8_t { kAnywhere = 0, kOutside = 1, kStart = 2, kEnd = 4 };
  // Returns the number of the condition; equal (word, place) share one. word: small letters.
  uint16_t add(std::string_view word, uint8_t place);
  void build();  // after the last add
  size_t size() const { return conditions_.size(); }
  // One byte per condition: 1 where it holds.
  std::vector<uint8_t> find(const MatchText& name) const;

 private:
  struct Condition {
    std::string word;
    uint8_t place = kAnywhere;
  };
  bool holds(const Condition& c, const MatchText& name, size_t end) const;
  uint32_t symbol(char c) const { return symbol_[static_cast<uint8_t>(c)]; }
  std::vector<Condition> conditions_;
  std::vector<uint16_t> symbol_;  // per byte: 0 for bytes in no word
  uint32_t symbols_ = 1;
  std::vector<uint32_t> next_;               // state x symbol
  std::vector<std::vector<uint16_t>> ends_;  // per state: conditions whose word ends here
};

}  // namespace ws
