// Tested by: known_runs_test.cpp
#include "config/known_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ws {
namespace {

using nlohmann::json;

ConfigValue value_of(const json& v) {
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_integer()) return v.get<int64_t>();
  return v.get<std::string>();
}

KnownModel read_model(const json& row) {
  KnownModel out{row.at("about").get<std::string>(),
                 row.at("source").get<std::string>(),
                 row.value("also", std::vector<std::string>()),
                 {}};
  for (const auto& [key, value] : row.at("keys").items())
    out.sizes.emplace_back(key, value_of(value));
  return out;
}

KnownRun read_run(const json& row) {
  const auto word = [&](const char* key) { return row.at(key).get<std::string>(); };
  const auto size = [&](const char* key) { return row.at(key).get<int64_t>(); };
  KnownRun out;
  out.model = word("model");
  out.name = word("name");
  out.platform = word("platform");
  out.precision = word("precision");
  out.dispatcher = word("dispatcher");
  out.recompute = word("recompute");
  out.graphs = word("graphs");
  out.tflops_per_gpu = word("tflops_per_gpu");
  out.source = word("source");
  out.note = word("note");
  out.gpus = size("gpus");
  out.seq_len = size("seq_len");
  out.tp = size("tp");
  out.cp = size("cp");
  out.ep = size("ep");
  out.etp = size("etp");
  out.pp = size("pp");
  out.vpp = size("vpp");
  return out;
}

// "DeepSeek-V3" and "deepseek_v3" are one name.
std::string plain_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z')
      out += static_cast<char>(c - 'A' + 'a');
    else
      out += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  }
  return out;
}

// "llama3" and the flavor "8B" are "llama3 8B".
std::optional<std::string> model_name(const RunConfig& config) {
  auto name = text(config, "model");
  const auto flavor = text(config, "model_flavor");
  if (name && flavor) *name += " " + *flavor;
  return name;
}

using NamedModel = std::pair<const std::string, KnownModel>;

const NamedModel* find_model(const std::string& name, const KnownRuns& known);

// "8B_flex" is the model 8B with another attention: its sizes are the same.
// source: torchtitan torchtitan/models/llama3/__init__.py
const NamedModel* of_its_attention(const std::string& plain, const KnownRuns& known) {
  for (const std::string_view ending : {"_flex_attn", "_varlen_attn", "_flex", "_varlen", "_sdpa"})
    if (plain.size() > ending.size() &&
        plain.compare(plain.size() - ending.size(), ending.size(), ending) == 0)
      return find_model(plain.substr(0, plain.size() - ending.size()), known);
  return nullptr;
}

const NamedModel* find_model(const std::string& name, const KnownRuns& known) {
  const std::string plain = plain_name(name);
  for (const NamedModel& m : known.models)
    if (m.first == plain || std::count(m.second.also.begin(), m.second.also.end(), plain) > 0)
      return &m;
  return of_its_attention(plain, known);
}

// The model whose layers, width and experts the configuration states.
std::string model_of(const RunConfig& config, const KnownRuns& known) {
  if (const auto name = model_name(config)) {
    if (const NamedModel* m = find_model(*name, known)) return m->first;
  }
  for (const auto& named : known.models) {
    const KnownModel& model = named.second;  // a lambda can not hold a binding
    const auto agrees = [&](const char* key) {
      const ConfigEntry* given = entry(config, key);
      const auto it = std::find_if(model.sizes.begin(), model.sizes.end(),
                                   [&](const auto& s) { return s.first == key; });
      if (it == model.sizes.end()) return given == nullptr;
      return given != nullptr && given->value == it->second;
    };
    if (agrees("num_layers") && agrees("hidden_size") && agrees("num_experts")) return named.first;
  }
  return {};
}

double steps_apart(double a, double b) { return std::fabs(std::log2(a) - std::log2(b)); }

}  // namespace

Result<KnownRuns> load_known_runs(const std::string& path) {
  std::ifstream in(path);
  if (!in)
    return Error{fmt::format("{}: expected the table of configurations, found no file", path)};
  try {
    const json file = json::parse(in);
    KnownRuns out;
    for (const auto& [name, row] : file.at("models").items()) out.models[name] = read_model(row);
    for (const json& row : file.at("configurations")) out.runs.push_back(read_run(row));
    return out;
  } catch (const json::exception& e) {
    return Error{fmt::format(
        "{}: expected models and configurations, found other JSON ({}); restore the file that came "
        "with the program",
        path, e.what())};
  }
}

void add_model_sizes(RunConfig& config, const KnownRuns& known) {
  const auto name = model_name(config);
  if (!name) return;
  const NamedModel* model = find_model(*name, known);
  if (model == nullptr) {
    std::vector<std::string> names;
    for (const auto& [n, m] : known.models) names.push_back(n);
    config.notes.push_back(
        fmt::format("the model '{}' is not in rules/configurations.json ({}): "
                    "its sizes are taken from this file alone",
                    shorten(one_line(to_utf8(*name)), 60), fmt::join(names, ", ")));
    return;
  }
  for (const auto& [key, value] : model->second.sizes)
    add_missing(config, key, value, model->second.source);
}

const KnownRun* nearest_run(const RunConfig& config, const Layout& layout,
                            const std::string& platform, const KnownRuns& known) {
  const std::string model = model_of(config, known);
  const KnownRun* best = nullptr;
  double best_distance = 0;
  for (const KnownRun& run : known.runs) {
    if (model.empty() || run.model != model) continue;
    double distance = run.platform == platform || platform.empty() ? 0 : 3;
    const auto apart = [&](int64_t a, std::optional<int64_t> b) {
      if (b && *b > 0) distance += steps_apart(static_cast<double>(a), static_cast<double>(*b));
    };
    apart(run.seq_len, layout.seq_len);
    apart(run.gpus, layout.gpus);
    apart(run.tp, layout.tp);
    apart(run.cp, layout.cp);
    apart(run.ep, layout.ep);
    apart(run.pp, layout.pp);
    if (best == nullptr || distance < best_distance) {
      best = &run;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace ws
