// Tested by: read_config_test.cpp, config_damage_test.cpp
#include "config/config_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "config/precision_recipes.h"
#include "config/releases.h"

namespace ws {
namespace {

constexpr size_t kUnknownLimit = 2000, kNoteLimit = 100, kListLimit = 64;

std::string shown_text(std::string_view s) { return shorten(one_line(to_utf8(s)), 60); }

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = s.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kBlank) - first + 1);
}

bool is_null(std::string_view s) {
  return s.empty() || s == "None" || s == "null" || s == "~" || s == "Null" || s == "NULL";
}

// torch.bfloat16 and bfloat16 are bf16; the a2a+p2p family has one spelling more.
std::string normal_word(std::string_view value) {
  std::string s(value);
  for (char& c : s)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (s.rfind("torch.", 0) == 0) s.erase(0, 6);
  static constexpr std::pair<std::string_view, std::string_view> kSame[] = {
      {"bfloat16", "bf16"}, {"float16", "fp16"},         {"half", "fp16"},
      {"float32", "fp32"},  {"float", "fp32"},           {"uint8", "fp8"},
      {"float64", "fp64"},  {"all_gather", "allgather"}, {"all_to_all", "alltoall"}};
  for (const auto& [from, to] : kSame)
    if (s == from) return std::string(to);
  return s;
}

std::optional<bool> truth(std::string_view s) {
  const std::string w = normal_word(s);
  if (w == "true" || w == "1" || w == "yes" || w == "on") return true;
  if (w == "false" || w == "0" || w == "no" || w == "off") return false;
  return std::nullopt;
}

std::optional<double> real(std::string_view s) {
  double v = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc() || end != s.data() + s.size() || !std::isfinite(v)) return std::nullopt;
  return v;
}

std::optional<int64_t> whole(std::string_view s) {
  std::string digits(s);
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  int64_t v = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, ec] = std::from_chars(digits.data(), end, v);
  if (ec == std::errc() && at == end && !digits.empty()) return v;
  const auto d = real(s);  // "4096.0", "1e3"
  if (d && std::fabs(*d) < 1e15 && *d == std::floor(*d)) return static_cast<int64_t>(*d);
  return std::nullopt;
}

std::vector<std::string> list_items(std::string_view s) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : s) {
    const bool part = c != ' ' && c != ',' && c != '[' && c != ']' && c != '\'' && c != '"' &&
                      c != '\t' && c != '(' && c != ')';
    if (part) word += c;
    if (!part && !word.empty()) out.push_back(std::move(word)), word.clear();
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

}  // namespace

ConfigBuilder::ConfigBuilder(std::string source, std::string format, Twice twice)
    : source_(std::move(source)), format_(std::move(format)), twice_(twice) {}

std::string ConfigBuilder::place(size_t line) const {
  return line == 0 ? source_ : fmt::format("{}: line {}", source_, line);
}

void ConfigBuilder::refuse(size_t line, std::string_view shown, std::string_view expected,
                           std::string_view found) {
  if (refused()) return;
  error_ = {fmt::format("{}: {}: expected {}, found {}; correct the file", place(line),
                        shown_text(shown), expected, found)};
}

void ConfigBuilder::store(const ConfigKey& key, ConfigValue value, std::string_view shown,
                          size_t line) {
  const auto it = values_.find(key.name);
  if (it == values_.end()) {
    values_[key.name] = {key.name, std::move(value), place(line), std::string(shown)};
    return;
  }
  // Another spelling of the key beside the first: both are set.
  if (std::string& names = it->second.shown; names.find(shown) == std::string::npos)
    names += fmt::format(" {}", shown);
  if (it->second.value == value) return;
  const bool last = twice_ == Twice::last_wins;
  note(fmt::format("`{}` is given as {} ({}) and as {} ({}): the {} is used", shown_text(shown),
                   shown_text(shown_value(it->second.value)), it->second.place,
                   shown_text(shown_value(value)), place(line), last ? "last" : "first"));
  if (last) it->second = {key.name, std::move(value), place(line), it->second.shown};
}

void ConfigBuilder::set(const Spelling& spelling, std::string_view value, std::string_view shown,
                        size_t line) {
  const ConfigKey& key = *spelling.key;
  value = trimmed(spelling.constant.empty() ? value : std::string_view(spelling.constant));
  if (value.find("${") != std::string_view::npos || value.find('\x01') != std::string_view::npos) {
    note(fmt::format("`{}` ({}) comes from outside the file: taken as not given", shown_text(shown),
                     place(line)));
    outside_[key.name] = place(line);
    return;
  }
  if (const auto word = key.words.find(value); word != key.words.end()) value = word->second;
  if (const auto word = spelling.words.find(value); word != spelling.words.end())
    value = word->second;
  if (key.derived && value == "-1") {  // torchtitan: "what is left", no size of its own
    if (key.minimum == 0) store(key, int64_t{0}, shown, line);
    return;
  }
  const auto wrong = [&](const std::string& expected) {
    refuse(line, shown, expected, fmt::format("'{}'", shown_text(value)));
  };
  // A release may have words that are new: no reason to refuse the file.
  const auto no_known_word = [&](const std::vector<std::string>& known) {
    note(fmt::format("`{}` ({}): '{}' is none of {}: taken as not given", shown_text(shown),
                     place(line), shown_text(value), fmt::join(known, " ")));
  };
  const bool has_none = std::count(key.choices.begin(), key.choices.end(), "none") > 0;
  if (is_null(value) && !has_none) return;
  switch (key.type) {
    case KeyType::integer: {
      const auto v = whole(value);
      if (v && static_cast<double>(*v) >= key.minimum && static_cast<double>(*v) <= key.maximum)
        return store(key, *v, shown, line);
      return wrong(fmt::format("a whole number from {:.0f} to {:.0f}", key.minimum, key.maximum));
    }
    case KeyType::number: {
      const auto v = real(value);
      if (v && *v >= key.minimum && *v <= key.maximum) return store(key, *v, shown, line);
      return wrong(fmt::format("a number from {:g} to {:g}", key.minimum, key.maximum));
    }
    case KeyType::boolean: {
      const auto v = truth(value);
      if (v) return store(key, *v, shown, line);
      if (key.words.empty()) return wrong("true or false");
      std::vector<std::string> known;
      for (const auto& [word, meaning] : key.words) known.push_back(word);
      return no_known_word(known);
    }
    case KeyType::list:
      return set_list(spelling, list_items(value), shown, line);
    case KeyType::text:
      break;
  }
  std::string word = is_null(value)        ? "none"
                     : key.choices.empty() ? std::string(value)
                                           : normal_word(value);
  const auto& choices = key.choices;
  const auto is_choice = [&] {
    return choices.empty() || std::find(choices.begin(), choices.end(), word) != choices.end();
  };
  if (!is_choice()) std::replace(word.begin(), word.end(), '-', '_');  // megatron-lm
  if (!is_choice()) return no_known_word(choices);
  if (key.release) {
    auto release = normal_release(key, value);
    return release ? store(key, std::move(*release), shown, line)
                   : wrong(expected_release(key, value));
  }
  if (word.size() > 4096) return wrong("a text of at most 4096 bytes");
  store(key, word, shown, line);
}

void ConfigBuilder::set_list(const Spelling& spelling, const std::vector<std::string>& values,
                             std::string_view shown, size_t line) {
  const ConfigKey& key = *spelling.key;
  if (key.type != KeyType::list) {
    if (values.size() == 1) return set(spelling, values[0], shown, line);
    if (key.type == KeyType::text && key.choices.empty())  // moe_layer_freq: [0, 0, 1, 1]
      return set(spelling, fmt::format("[{}]", fmt::join(values, ",")), shown, line);
    return refuse(line, shown, "one value", fmt::format("a list of {}", values.size()));
  }
  std::vector<std::string> words;
  for (const std::string& value : values) {
    for (std::string& w : list_items(value))
      if (!is_null(w)) words.push_back(shown_text(w));
  }
  if (words.size() > kListLimit)
    return refuse(line, shown, fmt::format("at most {} names", kListLimit),
                  fmt::format("{}", words.size()));
  store(key, std::move(words), shown, line);
}

namespace {

// Variables of a shell script's own show nothing; those of the libraries of a run do.
bool of_the_run(std::string_view name) {
  constexpr std::string_view kStarts[] = {"NCCL_", "CUDA_", "NVTE_", "TORCH_", "PYTORCH_"};
  return std::any_of(std::begin(kStarts), std::end(kStarts),
                     [&](std::string_view start) { return name.substr(0, start.size()) == start; });
}

}  // namespace

void ConfigBuilder::set_variable(std::string_view name, std::string_view value, size_t line) {
  const auto* spellings = key_table().by_variable(name);
  if (spellings != nullptr || of_the_run(name)) has_environment();
  if (spellings == nullptr) return;  // an environment is full of what is no setting of the run
  for (const Spelling& s : *spellings) {
    const bool holds = value.find(s.constant) != std::string_view::npos;
    set({s.key, s.constant.empty() ? "" : holds ? "true" : "false"}, value, name, line);
  }
}

void ConfigBuilder::unknown(std::string_view name, size_t line) {
  const std::string key = shown_text(name);
  if (unknown_.size() < kUnknownLimit) unknown_.emplace(key, UnknownSetting{key, place(line)});
}

void ConfigBuilder::note(std::string sentence) {
  if (notes_.size() < kNoteLimit) notes_.push_back(std::move(sentence));
}

void ConfigBuilder::default_framework(std::string_view name) { default_framework_ = name; }

Result<RunConfig> ConfigBuilder::finish() {
  if (refused()) return error_;
  if (values_.empty() && !outside_.empty()) {
    std::vector<std::string> keys;
    for (const auto& [key, where] : outside_) keys.push_back(key);
    return Error{fmt::format(
        "{}: expected values of its settings ({}), found that all of them come from "
        "outside the file{}; set them in the file",
        source_, fmt::join(keys, ", "),
        outside_names_.empty()
            ? ""
            : fmt::format(" ({})",
                          shorten(fmt::format("{}", fmt::join(outside_names_, ", ")), 200)))};
  }
  if (values_.empty()) {
    return Error{fmt::format(
        "{}: expected a run configuration (Megatron-LM flags or argument dump, Bridge or NeMo "
        "YAML, torchtitan TOML, or the keys of schemas/run_config.schema.json), found no setting "
        "that is known; give the file that starts the run",
        source_)};
  }
  if (!default_framework_.empty() && values_.count("framework") == 0)
    values_["framework"] = {"framework", default_framework_, source_};
  RunConfig out{source_, format_, {}, {}, {}, std::move(notes_)};
  out.environment = environment_;
  for (const auto& [key, where] : outside_)
    if (values_.count(key) == 0) out.outside.push_back(key);
  for (auto& [key, e] : values_) out.entries.push_back(std::move(e));
  for (auto& [name, u] : unknown_) out.unknown.push_back(std::move(u));
  const auto nodes = integer(out, "nodes"), per_node = integer(out, "gpus_per_node");
  if (nodes && per_node)
    add_missing(out, "gpus", *nodes * *per_node, entry(out, "nodes")->place + " (nodes x GPUs)");
  if (text(out, "framework") == "megatron_bridge") add_precision_recipe(out);
  drop_settings_of_megatron(out);
  if (auto ok = review_releases(out); !ok) return ok.error();
  return out;
}

}  // namespace ws
