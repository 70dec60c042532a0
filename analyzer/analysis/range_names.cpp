// Tested by: range_names_test.cpp
#include "analysis/range_names.h"

#include <array>

namespace ws {
namespace {

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter_or_digit(char c) {
  return digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

bool starts_with(std::string_view s, std::string_view word) {
  if (s.size() < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if (small(s[i]) != word[i]) return false;
  }
  return true;
}

bool eat(std::string_view& s, std::string_view word) {
  if (!starts_with(s, word)) return false;
  s.remove_prefix(word.size());
  return true;
}

bool contains(std::string_view small_name, std::string_view word) {
  return small_name.find(word) != std::string_view::npos;
}

// The rest of a name after its stem: separators, then digits, then nothing. Longer numbers than
// int64 holds count as no number.
bool number_tail(std::string_view s, std::string_view separators, int64_t& number) {
  while (!s.empty() && separators.find(s.front()) != std::string_view::npos) s.remove_prefix(1);
  number = -1;
  if (s.empty()) return true;
  int64_t value = 0;
  for (char c : s) {
    if (!digit(c)) return false;
    if (value >= 0) value = value > 900'000'000'000'000'000 ? -1 : value * 10 + (c - '0');
  }
  number = value;
  return true;
}

std::string_view without_digits(std::string_view s) {
  while (!s.empty() && digit(s.back())) s.remove_suffix(1);
  return s;
}

constexpr std::string_view kSeparators = " \t_#:=-";

}  // namespace

std::string small_letters(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = small(c);
  return out;
}

std::string_view range_stem(std::string_view name) {
  const size_t cut = std::min(name.find(", seq = "), name.find(", op_id = "));
  return cut == std::string_view::npos ? name : name.substr(0, cut);
}

std::optional<int64_t> sequence_in(std::string_view name) {
  constexpr std::string_view kMark = ", seq = ";
  const size_t at = name.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  size_t i = at + kMark.size();
  if (i >= name.size() || !digit(name[i])) return std::nullopt;
  for (; i < name.size() && digit(name[i]) && value < 100'000'000'000'000'000; ++i)
    value = value * 10 + (name[i] - '0');
  return value;
}

bool has_word(std::string_view small_name, std::string_view word) {
  for (size_t at = small_name.find(word); at != std::string_view::npos;
       at = small_name.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !letter_or_digit(small_name[at - 1])) &&
        (end == small_name.size() || !letter_or_digit(small_name[end])))
      return true;
  }
  return false;
}

std::optional<StepName> step_name(std::string_view name) {
  const std::string_view whole = trimmed(name);
  std::string_view s = whole;
  StepName out;
  if (eat(s, "profilerstep")) {
    out.profiler = true;
    out.stem = whole.substr(0, whole.size() - s.size());
    s = trimmed(s);
    if (!eat(s, "#")) return std::nullopt;
    s = trimmed(s);
    if (s.empty() || !number_tail(s, "", out.number)) return std::nullopt;
    return out;
  }
  if (eat(s, "global")) {
    eat(s, "_");
  } else if (eat(s, "train")) {
    eat(s, "ing");
    eat(s, "_");
  }
  if (!eat(s, "iteration") && !eat(s, "iter") && !eat(s, "step")) return std::nullopt;
  out.stem = whole.substr(0, whole.size() - s.size());
  if (!number_tail(s, kSeparators, out.number)) return std::nullopt;
  return out;
}

std::optional<StepName> user_step_name(std::string_view name, std::string_view wanted) {
  const std::string_view whole = trimmed(name);
  const std::string_view stem = trimmed(wanted);
  StepName out;
  if (stem.empty() || whole.substr(0, stem.size()) != stem) return std::nullopt;
  out.stem = whole.substr(0, stem.size());
  if (!number_tail(whole.substr(stem.size()), kSeparators, out.number)) return std::nullopt;
  return out;
}

bool is_pytorch_optimizer_name(std::string_view name) {
  return starts_with(trimmed(name), "optimizer.step#");
}

bool is_optimizer_name(std::string_view name) {
  if (is_pytorch_optimizer_name(name)) return true;
  const std::string s = small_letters(trimmed(range_stem(name)));
  constexpr std::array<std::string_view, 7> kNames = {
      "optimizer",      "optimizer_step",  "optimizer-step", "optimizer step",
      "optimizer.step", "## optimizer ##", "optim_step"};
  for (std::string_view n : kNames) {
    if (s == n) return true;
  }
  return false;
}

std::optional<std::string_view> pause_name(std::string_view name) {
  const std::string s = small_letters(name);
  if (contains(s, "::")) return std::nullopt;  // a function's name, not a phase of the run
  const bool checkpoint = contains(s, "checkpoint") || contains(s, "ckpt");
  if (checkpoint && (contains(s, "save") || contains(s, "saving") || contains(s, "load")))
    return "checkpoint";
  for (std::string_view word : {"eval", "evaluate", "evaluation", "validation", "validate"}) {
    if (has_word(s, word)) return "evaluation";
  }
  return std::nullopt;
}

PassRange pass_range(std::string_view name) {
  const std::string s = small_letters(range_stem(name));
  if (contains(s, "checkpointfunctionbackward") || contains(s, "checkpointwithoutoutput"))
    return PassRange::recompute;
  for (size_t at = s.find("recompute"); at != std::string::npos; at = s.find("recompute", at + 1)) {
    if (at == 0 || (!letter_or_digit(s[at - 1]) && s[at - 1] != '_')) return PassRange::recompute;
  }
  if (contains(s, "autograd::engine::evaluate_function")) return PassRange::evaluate_function;
  const std::string_view end = without_digits(s);
  constexpr std::string_view kBackward = "backward";
  if (end.size() >= kBackward.size() && end.substr(end.size() - kBackward.size()) == kBackward)
    return PassRange::backward;
  return PassRange::none;
}

bool is_backward_phase(std::string_view name) {
  if (name.size() > 64) return false;
  const std::string s = small_letters(name);
  if (contains(s, "forward") || contains(s, "fwd") || contains(s, "::")) return false;
  return has_word(s, "backward") || has_word(s, "bwd");
}

bool speaks_of_gradients(std::string_view name) {
  if (name.size() > 256) return false;
  const std::string s = small_letters(name);
  if (contains(s, "zero") || contains(s, "clip") || contains(s, "norm") || contains(s, "::"))
    return false;
  for (std::string_view word : {"grad", "grads", "gradient", "gradients"}) {
    if (has_word(s, word)) return true;
  }
  return false;
}

bool is_computing_op(std::string_view name) {
  const std::string_view s = range_stem(name);
  const size_t colons = s.find("::");
  if (colons == std::string_view::npos) return false;
  const std::string_view op = s.substr(colons + 2);
  constexpr std::array<std::string_view, 12> kNoWork = {"empty",      "zeros",   "ones",   "full",
                                                        "new_",       "detach",  "resize", "view",
                                                        "as_strided", "reshape", "expand", "t"};
  for (std::string_view n : kNoWork) {
    if (op == n || (n.size() > 1 && starts_with(op, n))) return false;
  }
  return true;
}

bool is_offload_name(std::string_view name) {
  const std::string s = small_letters(range_stem(name));
  for (std::string_view word : {"offload", "onload", "swap_in", "swap_out"}) {
    if (contains(s, word)) return true;
  }
  return false;
}

}  // namespace ws
