// Tested by: config_facts_test.cpp
#include "facts/config_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ws {
namespace {

std::string shown(const FactRowValue& v) {
  if (const auto* i = std::get_if<int64_t>(&v)) return fmt::format("{}", *i);
  if (const auto* d = std::get_if<double>(&v)) return fmt::format("{:g}", *d);
  return std::get<std::string>(v);
}

std::string word(const FactRowValues& row, const char* key) {
  const auto it = row.find(key);
  return it == row.end() ? std::string() : shown(it->second);
}

bool is_size(std::string_view key) {
  constexpr std::string_view kSizes[] = {"tp", "pp", "cp", "ep", "dp"};
  return std::find(std::begin(kSizes), std::end(kSizes), key) != std::end(kSizes);
}

ConfigValue value_like(const ConfigValue& like, const FactRowValue& v) {
  if (const auto* s = std::get_if<std::string>(&v)) return *s;
  if (const auto* d = std::get_if<double>(&v)) return *d;
  const auto i = std::get<int64_t>(v);
  return std::holds_alternative<bool>(like) ? ConfigValue(i != 0) : ConfigValue(i);
}

class Merger {
 public:
  Merger(const FactRowValues& asked, const FactRowValues& seen,
         const std::set<std::string>& defaults, const ConfigShown& shown)
      : asked_(asked), seen_(seen), defaults_(defaults), shown_(shown) {
    out_.row = asked;
    out_.row.erase("taken_as_whole");
  }

  ConfigMerge run(const std::vector<Contradiction>& of_other_run,
                  const std::optional<Contradiction>& unfit) {
    out_.contradictions = of_other_run;
    out_.other_run = !of_other_run.empty();
    if (unfit) {
      out_.contradictions.push_back(*unfit);
      out_.other_run = out_.unfit = true;
    }
    for (const auto& [key, value] : seen_) {
      if (key == "precision" || key == "cuda_graphs" || key.rfind("moe_", 0) == 0) continue;
      take(key, value);
    }
    if (const auto it = seen_.find("precision"); word(asked_, "precision").empty())
      if (it != seen_.end()) out_.row["precision"] = it->second;
    take_graphs();
    take_dispatcher();
    const std::vector<Denial> denied = denials(asked_, seen_, shown_);
    for (const Denial& d : denied) {
      if (!d.another_run || defaults_.count(d.key) != 0) continue;
      contradict(d.key, d.configured, d.recorded);
      out_.other_run = true;
    }
    if (out_.other_run)
      forget_the_file();
    else
      take_denials(denied);
    if (const std::string all = told(); !all.empty()) out_.row["contradicted"] = all;
    return std::move(out_);
  }

 private:
  void contradict(std::string_view key, const std::string& asked, const std::string& seen) {
    out_.contradictions.push_back({std::string(key), asked, seen, false});
  }
  // Of another run's file only is told that it is one: no setting in it is this run's.
  void forget_the_file() {
    out_.row = seen_;
    out_.row.erase("gpus");
    out_.row["given"] = int64_t{1};
    out_.row["sizes_contradicted"] = int64_t{1};
    for (Contradiction& c : out_.contradictions) c.told_by_rule = true;
  }
  void take(const std::string& key, const FactRowValue& value) {
    const auto it = asked_.find(key);
    if (it != asked_.end() && it->second != value) {
      contradict(key, shown(it->second), shown(value));
      // Experts are not split over ranks by chance, whatever else a file leaves to defaults.
      out_.other_run =
          out_.other_run || (is_size(key) && (defaults_.count(key) == 0 || key == "ep"));
      out_.other_scale = out_.other_scale || key == "gpus";
    }
    if (key == "gpus") return;  // what is said of the layout in the file stands on its GPUs
    out_.row[key] = value;
  }
  // "tp 4 against 2, gpus 64 against 8"
  std::string told() const {
    std::string out;
    for (const Contradiction& c : out_.contradictions)
      out += fmt::format("{}{} {} against {}", out.empty() ? "" : ", ", c.key, c.configured,
                         c.recorded);
    return out;
  }
  // A file that names no type says FP32, and may be half of a command; one of torchtitan BF16.
  bool types_by_default() const {
    if (defaults_.count("mixed_precision") != 0) return true;
    return defaults_.count("bf16") != 0 && defaults_.count("fp16") != 0 &&
           word(asked_, "precision") == "fp32";
  }
  void take_denials(const std::vector<Denial>& denied) {
    std::string keys;
    for (const Denial& d : denied) {
      if (d.another_run) continue;
      const bool types = d.key == "precision" && types_by_default();
      const bool by_default = types || defaults_.count(d.key) != 0;
      contradict(d.key, d.configured + (by_default ? " (its default)" : ""), d.recorded);
      out_.contradictions.back().told_by_rule = !types;
      if (!types) keys += " " + d.key + (d.runs ? "_on" : "");
      for (const auto& [key, value] : d.take) {
        if (types && key == "precision_asked") continue;
        out_.row[key] = value;
        out_.not_in_use.insert(key);
      }
      for (const std::string& key : d.drop) {
        out_.row.erase(key);
        out_.not_in_use.insert(key);
      }
    }
    if (!keys.empty()) out_.row["denied"] = keys + " ";
  }
  void take_graphs() {
    const auto it = seen_.find("cuda_graphs");
    if (it == seen_.end()) return;
    out_.row["cuda_graphs"] = it->second;
    const std::string asked = word(asked_, "cuda_graphs"), seen = shown(it->second);
    if (asked != "1" || seen == "1") return;
    out_.row["graphs_asked"] = int64_t{1};
    contradict("CUDA graphs", "yes", "none");
  }
  void take_dispatcher() {
    const std::string type = word(asked_, "moe_token_dispatcher_type");
    const std::string seen_type = word(seen_, "moe_token_dispatcher_type");
    // Collectives that are no all-to-all prove little: counts are exchanged beside the tokens.
    if (seen_type.empty() || (seen_type == "allgather" && !type.empty())) return;
    const std::string backend = word(asked_, "moe_flex_dispatcher_backend");
    const std::string seen_backend = word(seen_, "moe_flex_dispatcher_backend");
    const std::string asked = type == "flex" ? backend : type;
    const std::string seen = seen_type == "flex" ? seen_backend : seen_type;
    out_.row["moe_token_dispatcher_type"] = seen_type;
    if (type == "flex") out_.row.erase("moe_flex_dispatcher_backend");
    if (!seen_backend.empty()) out_.row["moe_flex_dispatcher_backend"] = seen_backend;
    if (asked.empty() || asked == seen) return;
    out_.row["dispatcher_asked"] = asked;
    contradict("dispatcher", asked, seen);
  }

  const FactRowValues &asked_, &seen_;
  const std::set<std::string>& defaults_;
  const ConfigShown& shown_;
  ConfigMerge out_;
};

}  // namespace

std::string Contradiction::sentence(std::string_view said_by) const {
  return fmt::format("{}: {} says {}, the recording shows {}", key, said_by, configured, recorded);
}

ConfigMerge merge_config(const FactRowValues& asked, const FactRowValues& recorded,
                         const std::set<std::string>& defaults,
                         const std::optional<Contradiction>& unfit, const ConfigShown& shown,
                         const std::vector<Contradiction>& of_other_run) {
  return Merger(asked, recorded, defaults, shown).run(of_other_run, unfit);
}

RunConfig as_it_ran(const RunConfig& file, const ConfigMerge& merge) {
  RunConfig out = file;
  if (merge.other_run) return out;
  out.entries.clear();
  for (ConfigEntry e : file.entries) {
    if (merge.not_in_use.count(e.key) != 0 || is_size(e.key)) {
      const auto it = merge.row.find(e.key);
      if (it == merge.row.end()) continue;
      e.value = value_like(e.value, it->second);
    }
    out.entries.push_back(std::move(e));
  }
  return out;
}

std::optional<Contradiction> framework_against_names(const RunConfig& config,
                                                     const ConfigShown& shown) {
  using Program = ConfigShown::Program;
  const std::string asked = text(config, "framework").value_or("");
  if (asked.empty() || shown.program == Program::unknown) return std::nullopt;
  const bool torchtitan = asked == "pytorch" && config.format == kTorchtitanFormat;
  const char* configured = torchtitan               ? "torchtitan"
                           : asked == "pytorch"     ? "PyTorch"
                           : asked == "megatron_lm" ? "Megatron-LM"
                                                    : "Megatron Bridge";
  const auto told = [&](std::string recorded) {
    return Contradiction{"framework", configured, std::move(recorded)};
  };
  switch (shown.program) {
    case Program::no_megatron:
      return asked == "pytorch" ? std::nullopt
                                : std::optional(told("PyTorch (" + shown.sign + ")"));
    case Program::megatron_core:  // both programs run on it
      return asked == "pytorch" ? std::optional(told("Megatron Core")) : std::nullopt;
    case Program::megatron_lm:
      return asked == "megatron_lm" ? std::nullopt : std::optional(told("Megatron-LM"));
    default:
      return asked == "megatron_bridge" ? std::nullopt : std::optional(told("Megatron Bridge"));
  }
}

std::optional<Contradiction> layout_against_gpus(const Layout& layout, int64_t world) {
  const auto check = [&](int64_t gpus) -> std::optional<Contradiction> {
    if (gpus <= 0) return std::nullopt;
    const auto told = [&](const char* sizes, int64_t product) {
      return gpus == world ? Contradiction{sizes, fmt::format("{}", product),
                                           fmt::format("{} GPU{}", world, world == 1 ? "" : "s")}
                           : Contradiction{sizes, fmt::format("{} for {} GPUs", product, gpus),
                                           "a job that started"};
    };
    if (layout.attention_known && gpus % layout.attention_product != 0)
      return told("TP x CP x PP", layout.attention_product);
    if (layout.experts && layout.expert_known && gpus % layout.expert_product != 0)
      return told("ETP x EP x PP", layout.expert_product);
    return std::nullopt;
  };
  // The same layout may have run on another number of GPUs, where it fits into that one too.
  if (auto in_itself = check(layout.gpus.value_or(world))) return in_itself;
  return check(world);
}

}  // namespace ws
