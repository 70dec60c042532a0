// Tested by: kernel_table_test.cpp, kernel_classes_test.cpp
#include "analysis/name_matcher.h"

#include <deque>

namespace ws {
namespace {

constexpr std::string_view kAnonymous[] = {
    "(anonymous namespace)::", "<unnamed>::", "{anonymous}::"};

size_t anonymous_at(std::string_view s, size_t i) {
  if (s[i] != '(' && s[i] != '<' && s[i] != '{') return 0;
  for (std::string_view a : kAnonymous) {
    if (s.substr(i, a.size()) == a) return a.size();
  }
  return 0;
}

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

MatchText match_text(std::string_view s) {
  MatchText out;
  out.text.reserve(s.size());
  out.at.reserve(s.size());
  const bool mangled = s.substr(0, 2) == "_Z";
  size_t depth = 0;
  for (size_t i = 0; i < s.size();) {
    if (const size_t skip = anonymous_at(s, i)) {
      i += skip;
      continue;
    }
    const char c = s[i++];
    if (c == '(' && depth == 0) break;  // the argument list
    const char before = out.text.empty() ? ' ' : out.text.back();
    if (c == '>' && depth > 0 && before != '-') --depth;
    uint8_t at = 0;
    if (depth == 0) {
      at = MatchText::kOutside;
      if (before == ' ' || before == ':' || (mangled && digit(before) && !digit(c)))
        at |= MatchText::kStart;
    }
    if (c == '<') ++depth;
    out.text.push_back(small(c));
    out.at.push_back(at);
  }
  return out;
}

uint16_t NameMatcher::add(std::string_view word, uint8_t place) {
  for (size_t i = 0; i < conditions_.size(); ++i) {
    if (conditions_[i].word == word && conditions_[i].place == place)
      return static_cast<uint16_t>(i);
  }
  conditions_.push_back({std::string(word), place});
  return static_cast<uint16_t>(conditions_.size() - 1);
}

void NameMatcher::build() {
  symbol_.assign(256, 0);
  symbols_ = 1;
  for (const Condition& c : conditions_) {
    for (char ch : c.word) {
      uint16_t& s = symbol_[static_cast<uint8_t>(ch)];
      if (s == 0) s = static_cast<uint16_t>(symbols_++);
    }
  }
  // The trie; 0 is the root, so 0 also means "no edge yet".
  next_.assign(symbols_, 0);
  ends_.assign(1, {});
  for (size_t i = 0; i < conditions_.size(); ++i) {
    uint32_t state = 0;
    for (char ch : conditions_[i].word) {
      const size_t edge = state * symbols_ + symbol(ch);
      if (next_[edge] == 0) {
        next_[edge] = static_cast<uint32_t>(ends_.size());
        ends_.emplace_back();
        next_.resize(next_.size() + symbols_, 0);
      }
      state = next_[edge];
    }
    ends_[state].push_back(static_cast<uint16_t>(i));
  }
  // Breadth first: a missing edge is the edge of the longest proper suffix.
  std::vector<uint32_t> suffix(ends_.size(), 0);
  std::deque<uint32_t> queue;
  for (uint32_t s = 1; s < symbols_; ++s) {
    if (next_[s] != 0) queue.push_back(next_[s]);
  }
  while (!queue.empty()) {
    const uint32_t state = queue.front();
    queue.pop_front();
    const std::vector<uint16_t>& shorter = ends_[suffix[state]];
    ends_[state].insert(ends_[state].end(), shorter.begin(), shorter.end());
    for (uint32_t s = 1; s < symbols_; ++s) {
      uint32_t& edge = next_[state * symbols_ + s];
      const uint32_t fallback = next_[suffix[state] * symbols_ + s];
      if (edge == 0) {
        edge = fallback;
      } else {
        suffix[edge] = fallback;
        queue.push_back(edge);
      }
    }
  }
}

bool NameMatcher::holds(const Condition& c, const MatchText& name, size_t end) const {
  const uint8_t at = name.at[end - c.word.size()];
  if ((c.place & kStart) != 0 && (at & MatchText::kStart) == 0) return false;
  if ((c.place & kOutside) != 0 && (at & MatchText::kOutside) == 0) return false;
  return (c.place & kEnd) == 0 || end == name.text.size() || name.text[end] == '<';
}

std::vector<uint8_t> NameMatcher::find(const MatchText& name) const {
  std::vector<uint8_t> found(conditions_.size(), 0);
  uint32_t state = 0;
  for (size_t i = 0; i < name.text.size(); ++i) {
    const uint32_t s = symbol(name.text[i]);
    state = s == 0 ? 0 : next_[state * symbols_ + s];
    for (uint16_t c : ends_[state]) {
      if (found[c] == 0 && holds(conditions_[c], name, i + 1)) found[c] = 1;
    }
  }
  return found;
}

}  // namespace ws
