// One pass over the bytes; a word ends at a blank outside quotes. Expansion happens once, with the
// values known so far, as the shell would; the budget on bytes stops scripts that double a value
// again and again. Tested by: shell_words_test.cpp
#include "config/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <optional>

namespace ws {
namespace {

constexpr size_t kExpansionBudget = size_t{4} << 20;
constexpr size_t kValueLimit = size_t{64} << 10;
constexpr int kArithmeticDepth = 24;

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

using Values = std::map<std::string, std::string, std::less<>>;

// + - * / and brackets over whole numbers and names; nullopt: anything else, or an overflow.
class Arithmetic {
 public:
  Arithmetic(std::string_view s, const Values& values) : s_(s), values_(values) {}
  std::optional<int64_t> run() {
    const auto v = sum();
    blanks();
    return at_ == s_.size() ? v : std::nullopt;
  }

 private:
  void blanks() {
    while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '$' || s_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= s_.size() || s_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<int64_t> sum() {
    auto left = product();
    while (left) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const auto right = product();
      int64_t out = 0;
      if (!right || (plus ? __builtin_add_overflow(*left, *right, &out)
                          : __builtin_sub_overflow(*left, *right, &out)))
        return std::nullopt;
      left = out;
    }
    return left;
  }
  std::optional<int64_t> product() {
    auto left = factor();
    while (left) {
      const bool times = take('*');
      if (!times && !take('/')) break;
      const auto right = factor();
      int64_t out = 0;
      if (!right || (!times && (*right == 0 || *right == -1))) return std::nullopt;
      if (times && __builtin_mul_overflow(*left, *right, &out)) return std::nullopt;
      left = times ? out : *left / *right;
    }
    return left;
  }
  std::optional<int64_t> factor() {
    if (++depth_ > kArithmeticDepth) return std::nullopt;
    std::optional<int64_t> out;
    if (take('(')) {
      out = sum();
      if (!take(')')) out = std::nullopt;
    } else {
      out = atom();
    }
    --depth_;
    return out;
  }
  std::optional<int64_t> atom() {
    const bool braces = take('{');
    blanks();
    const size_t begin = at_;
    while (at_ < s_.size() && is_name(s_[at_])) ++at_;
    std::string_view word = s_.substr(begin, at_ - begin);
    if (braces && !take('}')) return std::nullopt;
    if (const auto it = values_.find(word); it != values_.end()) word = it->second;
    int64_t v = 0;
    const auto [end, ec] = std::from_chars(word.data(), word.data() + word.size(), v);
    if (ec != std::errc() || end != word.data() + word.size() || word.empty()) return std::nullopt;
    return v;
  }

  std::string_view s_;
  const Values& values_;
  size_t at_ = 0;
  int depth_ = 0;
};

class ShellReader {
 public:
  ShellReader(std::string_view text, const std::string& place) : s_(text), place_(place) {}

  Result<ShellScript> run() {
    while (at_ < s_.size() && error_.empty()) step();
    end_word(true);
    if (!error_.empty()) return Error{error_};
    return std::move(out_);
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < s_.size() ? s_[at_ + ahead] : '\0'; }

  void step() {
    const char c = peek();
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      at_ += peek(1) == '\n' ? 2 : 3;
      ++line_;
      end_word(false);
    } else if (c == '\n') {
      end_word(array_ == 0);
      ++line_;
      ++at_;
    } else if (c == ' ' || c == '\t' || c == '\r') {
      end_word(false);
      ++at_;
    } else if (c == '#' && !in_word_) {
      comment();
    } else if ((c == ';' || c == '&' || c == '|' || c == '<' || c == '>') && array_ == 0) {
      end_word(true);
      ++at_;
    } else if (c == '(' && !in_word_) {
      ++at_;
    } else if (c == '(' && !word_.empty() && word_.back() == '=') {
      word_.clear();  // NAME=( : the words inside are read like any others
      in_word_ = false;
      ++array_;
      ++at_;
    } else if (c == ')') {
      end_word(true);
      if (array_ > 0) --array_;
      ++at_;
    } else {
      take_one();
    }
  }

  // "#SBATCH --nodes=4" speaks to the launcher.
  void comment() {
    if (s_.substr(at_, 8) == "#SBATCH ") {
      at_ += 8;
      return;
    }
    while (at_ < s_.size() && s_[at_] != '\n') ++at_;
  }

  void take_one() {
    in_word_ = true;
    const char c = peek();
    if (c == '\'') {
      const size_t end = s_.find('\'', at_ + 1);
      append(s_.substr(at_ + 1, end == std::string_view::npos ? end : end - at_ - 1));
      count_lines(at_, end);
      at_ = end == std::string_view::npos ? s_.size() : end + 1;
    } else if (c == '"') {
      ++at_;
      while (at_ < s_.size() && peek() != '"' && error_.empty()) {
        if (peek() == '\\' && peek(1) == '\n') {
          at_ += 2;
          ++line_;
          append(" ");
        } else if (peek() == '\\' && at_ + 1 < s_.size()) {
          append(s_.substr(at_ + 1, 1));
          at_ += 2;
        } else if (peek() == '$' || peek() == '`') {
          expand();
        } else {
          if (peek() == '\n') ++line_;
          append(s_.substr(at_++, 1));
        }
      }
      ++at_;
    } else if (c == '\\') {
      if (at_ + 1 < s_.size()) append(s_.substr(at_ + 1, 1));
      at_ += 2;
    } else if (c == '$' || c == '`') {
      expand();
    } else {
      append(s_.substr(at_++, 1));
    }
  }

  void count_lines(size_t from, size_t to) {
    for (size_t i = from; i < to && i < s_.size(); ++i) line_ += s_[i] == '\n';
  }

  // `...`, $(...), $((...)), ${...}, $NAME, $1 at at_.
  void expand() {
    if (peek() == '`') {
      const size_t end = s_.find('`', at_ + 1);
      count_lines(at_, end);
      at_ = end == std::string_view::npos ? s_.size() : end + 1;
      return append_outside("the output of a command");
    }
    ++at_;
    if (peek() == '(') return expand_brackets();
    if (peek() == '{') {
      const size_t end = closing('{', '}');
      const std::string_view inner = s_.substr(at_ + 1, end - at_ - 1);
      count_lines(at_, end);
      at_ = end + 1;
      return expand_braces(inner);
    }
    const size_t begin = at_;
    while (is_name(peek())) ++at_;
    if (begin == at_) {  // "$@", "$?", or a lone dollar
      if (peek() == '@' || peek() == '*' || peek() == '?' || peek() == '#') ++at_;
      return append(std::string_view(&kFromOutside, 1));
    }
    append_value(s_.substr(begin, at_ - begin), std::nullopt);
  }

  void expand_brackets() {
    const bool arithmetic = peek(1) == '(';
    const size_t end = closing('(', ')');
    const std::string_view inner = s_.substr(at_ + 1, end - at_ - 1);
    count_lines(at_, end);
    at_ = end + 1;
    if (arithmetic && inner.size() >= 2) {
      if (const auto v = Arithmetic(inner.substr(1, inner.size() - 2), values_).run())
        return append(fmt::format("{}", *v));
    }
    append_outside(arithmetic ? "$((" + std::string(inner.substr(1, inner.size() - 2)) + "))"
                              : std::string("the output of a command"));
  }

  // Position of the bracket that closes the one at at_; the end of the text when none does.
  size_t closing(char open, char close) const {
    int depth = 0;
    for (size_t i = at_; i < s_.size(); ++i) {
      if (s_[i] == open) ++depth;
      if (s_[i] == close && --depth == 0) return i;
    }
    return s_.size();
  }

  // NAME, NAME:-default, NAME-default; arrays and other forms are from outside.
  void expand_braces(std::string_view inner) {
    size_t n = 0;
    while (n < inner.size() && is_name(inner[n])) ++n;
    const std::string_view name = inner.substr(0, n);
    std::string_view rest = inner.substr(n);
    if (rest.empty()) return append_value(name, std::nullopt);
    if (rest[0] == ':') rest.remove_prefix(1);
    if (!rest.empty() && rest[0] == '-') return append_value(name, rest.substr(1));
    if (rest.rfind("[@]", 0) == 0 || rest.rfind("[*]", 0) == 0) {
      from_array_ = true;
      return;
    }
    append(std::string_view(&kFromOutside, 1));
  }

  void append_value(std::string_view name, std::optional<std::string_view> otherwise) {
    const auto it = values_.find(name);
    if (it != values_.end() && !(otherwise && it->second.empty())) return append(it->second);
    if (otherwise && otherwise->find('$') == std::string_view::npos) return append(*otherwise);
    append_outside("$" + std::string(name));
  }

  void append_outside(const std::string& what) {
    constexpr size_t kMost = 20;
    auto& all = out_.outside;
    if (all.size() < kMost && std::find(all.begin(), all.end(), what) == all.end())
      all.push_back(what);
    append(std::string_view(&kFromOutside, 1));
  }

  void append(std::string_view more) {
    budget_ -= more.size() < budget_ ? more.size() : budget_;
    if (budget_ == 0 || word_.size() + more.size() > kValueLimit) {
      error_ = fmt::format(
          "{}: line {}: expected values of at most {} bytes, found one that grows without end; "
          "give the arguments themselves",
          place_, line_, kValueLimit);
      return;
    }
    word_ += more;
  }

  void end_word(bool command_end) {
    if (in_word_ && error_.empty()) {
      // Flags in a variable or an array were read where it was filled.
      const bool read_before = (from_array_ && word_.empty()) ||
                               (word_.rfind("--", 0) == 0 && word_.find(' ') != std::string::npos &&
                                word_.find('=') > word_.find(' '));
      if (!read_before && !assign()) out_.words.push_back({word_, line_, false});
    }
    if (command_end && !out_.words.empty()) out_.words.back().command_end = true;
    word_.clear();
    in_word_ = from_array_ = false;
  }

  // NAME=value; a value that itself holds flags is read as words as well.
  bool assign() {
    size_t n = 0;
    while (n < word_.size() && is_name(word_[n])) ++n;
    if (n == 0 || n >= word_.size() || word_[n] != '=' ||
        std::isdigit(static_cast<unsigned char>(word_[0])) != 0)
      return false;
    const std::string name = word_.substr(0, n), value = word_.substr(n + 1);
    values_[name] = value;
    out_.assignments.push_back({name, value, line_});
    if (value.find("--") == std::string::npos) return true;
    size_t begin = 0;
    while (begin < value.size()) {
      const size_t first = value.find_first_not_of(" \t\n", begin);
      if (first == std::string::npos) break;
      const size_t end = std::min(value.find_first_of(" \t\n", first), value.size());
      out_.words.push_back({value.substr(first, end - first), line_, false});
      begin = end;
    }
    out_.words.back().command_end = true;
    return true;
  }

  std::string_view s_;
  const std::string& place_;
  size_t at_ = 0, line_ = 1;
  size_t budget_ = kExpansionBudget;
  int array_ = 0;
  bool in_word_ = false, from_array_ = false;
  std::string word_, error_;
  Values values_;
  ShellScript out_;
};

}  // namespace

Result<ShellScript> shell_words(std::string_view text, const std::string& place) {
  return ShellReader(text, place).run();
}

}  // namespace ws
