// YAML (and with it JSON) as a tree of sections. yaml-cpp shares aliased nodes instead of copying
// them, so what an anchor can multiply is only this walk: it has a budget of nodes and of depth.
// Tested by: read_config_test.cpp, config_forms_test.cpp, config_damage_test.cpp
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "config/broken_text.h"
#include "config/readers.h"

namespace ws {
namespace {

constexpr int kNodeBudget = 50'000;
constexpr int kDepthLimit = 24;

struct Sections {
  bool bridge = false, native = false, model_card = false, nemo = false;
};

class TreeReader {
 public:
  TreeReader(ConfigBuilder& out, const std::string& source, const YAML::Node& root)
      : out_(out), source_(source), root_(root) {}

  std::optional<Error> walk(const YAML::Node& node, const std::string& path, int depth) {
    if (--budget_ < 0) {
      return Error{fmt::format(
          "{}: {}: expected at most {} values, found more, counted through its anchors; write the "
          "values out",
          source_, where(path, node), kNodeBudget)};
    }
    if (depth > kDepthLimit)
      return Error{fmt::format("{}: {}: expected at most {} levels of nesting, found more", source_,
                               where(path, node), kDepthLimit)};
    for (const auto& item : node) {
      if (!item.first.IsDefined() || !item.first.IsScalar()) continue;
      const std::string key = item.first.Scalar();
      const std::string below = path.empty() ? key : path + "." + key;
      if (auto error = setting(item.second, key, below, depth)) return error;
    }
    return std::nullopt;
  }
  const Sections& sections() const { return sections_; }

 private:
  static std::string where(const std::string& path, const YAML::Node& node) {
    return fmt::format("line {}: {}", node.Mark().line + 1,
                       path.empty() ? "/" : shorten(one_line(to_utf8(path)), 80));
  }
  static size_t line_of(const YAML::Node& node) {
    return node.Mark().line < 0 ? 0 : static_cast<size_t>(node.Mark().line) + 1;
  }

  std::optional<Error> setting(const YAML::Node& node, const std::string& key,
                               const std::string& path, int depth) {
    if (key == "env" || key == "env_vars" || key == "environment") {
      variables(node, path);
      return std::nullopt;
    }
    if (!key.empty() && key[0] == '_') return std::nullopt;  // _target_, _partial_: Hydra's own
    const Spelling* s = spelling_of(key, path);
    if (node.IsMap()) {
      if (s != nullptr && s->key->name != "mixed_precision" && s->key->name != "model" &&
          s->key->name != "framework") {
        out_.refuse(line_of(node), path, "one value", "a section");
      }
      return walk(node, path, depth + 1);
    }
    if (node.IsSequence()) return sequence(node, s, path, depth);
    if (s == nullptr) {
      out_.unknown(path, line_of(node));
    } else {
      sections_.nemo |= s->of_nemo;
      out_.set(*s, node.IsNull() ? "" : value_of(node, path), path, line_of(node));
    }
    return std::nullopt;
  }

  // "${model.x}" and "${.x}" (beside it) of Hydra, where the value stands in the file.
  std::string value_of(const YAML::Node& node, const std::string& path) const {
    const std::string& word = node.Scalar();
    if (word.size() < 4 || word.rfind("${", 0) != 0 || word.find('}') + 1 != word.size())
      return word;
    std::string wanted = word.substr(2, word.size() - 3);
    for (std::string base = path; !wanted.empty() && wanted[0] == '.'; wanted.erase(0, 1)) {
      const size_t dot = base.rfind('.');
      base.erase(dot == std::string::npos ? 0 : dot);
      if (wanted.size() > 1 && wanted[1] == '.') continue;
      wanted = base + (base.empty() ? wanted.substr(1) : wanted);
      break;
    }
    YAML::Node there = root_;
    for (size_t at = 0; at <= wanted.size();) {
      const size_t dot = std::min(wanted.find('.', at), wanted.size());
      if (!there.IsMap()) return word;
      const YAML::Node next = std::as_const(there)[wanted.substr(at, dot - at)];  // adds nothing
      if (!next.IsDefined()) return word;
      there.reset(next);
      at = dot + 1;
    }
    return there.IsScalar() && there.Scalar().rfind("${", 0) != 0 ? there.Scalar() : word;
  }

  std::optional<Error> sequence(const YAML::Node& node, const Spelling* s, const std::string& path,
                                int depth) {
    std::vector<std::string> values;
    int index = 0;
    for (const auto& item : node) {
      if (--budget_ < 0) return walk(node, path, depth);
      if (item.IsScalar()) values.push_back(item.Scalar());
      if (item.IsMap() && s == nullptr) {
        if (auto error = walk(item, fmt::format("{}.{}", path, index), depth + 1)) return error;
      } else if (!item.IsScalar() && s != nullptr) {
        out_.refuse(line_of(item), path, "a list of names", "a section or list in it");
      }
      ++index;
    }
    if (s != nullptr)
      out_.set_list(*s, values, path, line_of(node));
    else
      out_.unknown(path, line_of(node));
    return std::nullopt;
  }

  // The native form is flat; sections belong to Bridge and NeMo; a model card may stand alone.
  const Spelling* spelling_of(const std::string& key, const std::string& path) {
    const bool top = path == key;
    const KeyTable& table = key_table();
    if (top) {
      // hidden_size and its like are keys of both, and show neither.
      const Spelling* of_card = table.by_model_card(key);
      if (const Spelling* s = table.by_native(key)) {
        (of_card != nullptr ? sections_.model_card : sections_.native) = true;
        return s;
      }
    }
    if (const Spelling* s = table.by_path(path)) return sections_.bridge |= !top, s;
    if (const Spelling* s = table.by_model_card(key)) return sections_.model_card = true, s;
    return nullptr;
  }

  // {NAME: value}, ["NAME=value"] or [{name: NAME, value: value}].
  void variables(const YAML::Node& node, const std::string& path) {
    if (node.IsNull()) return;
    out_.has_environment();
    bool read = node.IsMap() || node.IsSequence();
    for (const auto& item : node) {
      if (--budget_ < 0) return;
      if (node.IsMap()) {
        if (item.first.IsScalar() && item.second.IsScalar())
          out_.set_variable(item.first.Scalar(), item.second.Scalar(), line_of(item.second));
      } else if (!variable(item)) {
        read = false;
      }
    }
    if (!read)
      out_.note(
          fmt::format("`{}` ({}) holds more than variables, as NAME: value or a list of "
                      "NAME=value: the rest of it was not read",
                      shorten(one_line(to_utf8(path)), 80), out_.place(line_of(node))));
  }

  bool variable(const YAML::Node& item) {
    if (item.IsMap()) {
      const YAML::Node name = item["name"], value = item["value"];
      if (!name || !value || !name.IsScalar() || !value.IsScalar()) return false;
      out_.set_variable(name.Scalar(), value.Scalar(), line_of(item));
      return true;
    }
    const size_t equals = item.IsScalar() ? item.Scalar().find('=') : std::string::npos;
    if (equals == std::string::npos || equals == 0) return false;
    out_.set_variable(item.Scalar().substr(0, equals), item.Scalar().substr(equals + 1),
                      line_of(item));
    return true;
  }

  ConfigBuilder& out_;
  const std::string& source_;
  const YAML::Node& root_;
  Sections sections_;
  int budget_ = kNodeBudget;
};

std::string format_of(const Sections& s) {
  if (s.bridge) return "Megatron Bridge or NeMo sections";
  return std::string(s.native ? kNativeFormat : kModelCardFormat);
}

// source: NVIDIA NeMo examples/nlp/language_modeling/conf/megatron_gpt_config.yaml (how much to
// recompute "not used with 'selective'")
void finish_nemo(RunConfig& config) {
  config.notes.emplace_back(
      "keys of NeMo 1 are read as those of Megatron Bridge that say the same; advice is spelled "
      "for "
      "Megatron Bridge");
  if (text(config, "recompute_granularity") != "selective") return;
  auto& entries = config.entries;
  entries.erase(
      std::remove_if(entries.begin(), entries.end(),
                     [](const ConfigEntry& e) {
                       return (e.key == "recompute_method" || e.key == "recompute_num_layers") &&
                              e.shown.find("activations_checkpoint") != std::string::npos;
                     }),
      entries.end());
}

}  // namespace

Result<RunConfig> read_tree(std::string_view text, const std::string& source) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    const YAML::Node root = documents.empty() ? YAML::Node() : documents[0];
    if (!root.IsMap()) {
      return Error{
          fmt::format("{}: line 1: expected keys with values (YAML or JSON), found {}; see "
                      "schemas/run_config.schema.json for the keys",
                      source, root.IsSequence() ? "a list" : "a single value")};
    }
    // Twice: the form is known only after the first look.
    ConfigBuilder look(source, "", Twice::last_wins);
    TreeReader reader(look, source, root);
    if (const auto error = reader.walk(root, "", 0)) return *error;
    ConfigBuilder out(source, format_of(reader.sections()), Twice::last_wins);
    TreeReader again(out, source, root);
    if (const auto error = again.walk(root, "", 0)) return *error;
    if (documents.size() > 1)
      out.note(fmt::format("the file holds {} documents (---): the first is read alone",
                           documents.size()));
    if (reader.sections().bridge) out.default_framework("megatron_bridge");
    auto config = out.finish();
    if (config && reader.sections().nemo) finish_nemo(*config);
    return config;
  } catch (const YAML::Exception& e) {
    const auto from_one = [](int v) { return v < 0 ? size_t{1} : static_cast<size_t>(v) + 1; };
    return broken_tree(text, source, from_one(e.mark.line), from_one(e.mark.column), e.msg);
  }
}

}  // namespace ws
