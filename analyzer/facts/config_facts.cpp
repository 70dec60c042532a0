// Tested by: config_facts_test.cpp
#include "facts/config_facts.h"

#include <fmt/format.h>

#include "base/text.h"
#include "config/key_table.h"
#include "config/releases.h"

namespace ws {
namespace {

FactRowValue fact_of(const ConfigValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* d = std::get_if<double>(&value)) return *d;
  if (const auto* b = std::get_if<bool>(&value)) return static_cast<int64_t>(*b);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  return padded(std::get<std::vector<std::string>>(value));
}

// Our own form has one name for it, whatever the run itself uses.
std::string graph_key(const RunConfig& config) {
  const ConfigEntry* e = entry(config, "cuda_graph_modules");
  if (e == nullptr) return "";
  const auto has = [&](const char* part) { return e->shown.find(part) != std::string::npos; };
  const bool scope = has("graph_scope") || has("graph-scope");
  const bool native = config.format == kNativeFormat;
  const bool modules = !native && (has("graph_modules") || has("graph-modules"));
  if (scope && modules) return "both";
  return scope ? "cuda_graph_scope" : modules ? "cuda_graph_modules" : "";
}

// ' moe-enable-deepep seq-length ': flags and keys alike, without their sections, but for
// torchtitan, whose releases differ in them. What no key stands for is there too: a release may not
// have it. The dump of the arguments is what a release printed, and so has.
std::string spelled(const RunConfig& config) {
  std::vector<std::string> names;
  const bool sections = text(config, "framework") == "pytorch";
  const auto add = [&](const std::string& shown) {
    for (std::string& name : plain_names(shown, sections)) names.push_back(std::move(name));
  };
  for (const ConfigEntry& e : config.entries) add(e.shown);
  if (config.format == kArgumentDumpFormat) return padded(names);
  for (const UnknownSetting& u : config.unknown) add(one_line(to_utf8(u.name)));
  return padded(names);
}

}  // namespace

std::string padded(const std::vector<std::string>& names) {
  return names.empty() ? std::string() : fmt::format(" {} ", fmt::join(names, " "));
}

std::vector<std::string> plain_names(const std::string& shown, bool sections) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : shown + " ") {
    if (c == '.' && !sections) name.clear();
    if (c == '.' && sections) name += c;
    if (c == ' ' && !name.empty()) names.push_back(std::move(name)), name.clear();
    if (c == '_' || (c == '-' && !name.empty())) name += '-';
    if (c != '.' && c != ' ' && c != '_' && c != '-') name += c;
  }
  return names;
}

void put_releases(FactRowValues& row, const RunConfig& config) {
  const auto put = [&](const char* name, const std::optional<std::string>& version) {
    if (const auto release = version ? release_number(*version) : std::nullopt)
      row[name] = *release;
  };
  const std::string framework = text(config, "framework").value_or("");
  const auto version = text(config, "framework_version");
  put("te_release", text(config, "te_version"));
  if (framework == "pytorch" && version != "main" && version != "dev")
    put("torch_release", version);
  put("torch_release", text(config, "torch_version"));
  if (const auto release = core_release(config)) row["core_release"] = *release;
}

FactRowValues config_row(const RunConfig& config) {
  FactRowValues out;
  for (const FactColumn& column : facts_columns()) {
    if (column.table != "fact_config") continue;
    if (const ConfigEntry* e = entry(config, column.column)) out[column.column] = fact_of(e->value);
  }
  // The sizes of a model are no settings that a run could have made or left out.
  const bool of_run = config.format != kModelCardFormat;
  out["given"] = static_cast<int64_t>(of_run);
  // A file for Bridge says what differs from a recipe, which is elsewhere.
  const std::string framework = text(config, "framework").value_or("");
  const bool own_form = config.format == kNativeFormat && framework != "megatron_bridge";
  out["taken_as_whole"] =
      static_cast<int64_t>(of_run && !config.partial && (own_form || framework == "megatron_lm"));
  if (of_run) out["environment_given"] = static_cast<int64_t>(config.environment);
  if (const std::string names = spelled(config); !names.empty()) out["spelled"] = names;
  put_releases(out, config);
  if (const auto precision = precision_of(config)) out["precision"] = *precision;
  if (const auto impl = text(config, "cuda_graph_impl"))
    out["cuda_graphs"] = static_cast<int64_t>(*impl != "none");
  if (const std::string key = graph_key(config); !key.empty()) out["cuda_graph_key"] = key;
  const Layout layout = layout_of(config);
  if (layout.vpp) out["vpp"] = *layout.vpp;
  if (layout.micro_batch) out["micro_batch"] = *layout.micro_batch;
  if (text(config, "recompute_granularity") == "full") out.erase("recompute_modules");
  // FSDP of PyTorch shards over all of data parallel where no size is given.
  const std::string sharding = text(config, "fsdp_sharding").value_or("");
  const bool shards = sharding == "optim_grads" || sharding == "optim_grads_params";
  if (framework == "pytorch" && shards && !entry(config, "fsdp_shard_size"))
    out["fsdp_shard_size"] = int64_t{0};
  return out;
}

Result<void> insert_row(const Database& db, const std::string& table, const FactRowValues& row) {
  std::string names, marks;
  for (const auto& [name, value] : row) {
    names += (names.empty() ? "" : ", ") + name;
    marks += marks.empty() ? "?" : ", ?";
  }
  auto statement =
      db.prepare(row.empty() ? "INSERT INTO " + table + " DEFAULT VALUES"
                             : "INSERT INTO " + table + " (" + names + ") VALUES (" + marks + ")");
  if (!statement) return statement.error();
  int at = 0;
  for (const auto& [name, value] : row) {
    ++at;
    if (const auto* i = std::get_if<int64_t>(&value)) statement->bind(at, *i);
    if (const auto* d = std::get_if<double>(&value)) statement->bind(at, *d);
    if (const auto* s = std::get_if<std::string>(&value)) statement->bind(at, std::string_view(*s));
  }
  statement->step();
  if (!statement->failed()) return {};
  return Error{fmt::format("{}: can not write facts ({})", table, db.last_error())};
}

Result<void> insert_without_file(const Database& db, const std::string& table,
                                 const FactRowValues& row) {
  for (const auto& [name, value] : row) {
    const FactRowValues one = {{"table_name", table}, {"name", name}, {"value", value}};
    if (auto ok = insert_row(db, "fact_without_file", one); !ok) return ok;
  }
  return {};
}

namespace {

// None where a bare flag would say something else than the value.
std::optional<std::string> written_value(const WrittenKey& way, const ConfigValue& value) {
  const std::string shown = shown_value(value);
  if (!way.constant.empty())
    return shown == way.constant ? std::optional<std::string>("") : std::nullopt;
  const auto* flag = std::get_if<bool>(&value);
  if (way.framework == "megatron_lm") {
    return flag == nullptr ? std::optional(shown)
           : *flag         ? std::optional<std::string>("")
                           : std::nullopt;
  }
  if (flag != nullptr) return *flag ? "True" : "False";
  return std::holds_alternative<std::string>(value) ? '"' + shown + '"' : shown;
}

}  // namespace

Result<void> insert_settings(const Database& db, const RunConfig& config,
                             const std::set<std::string>& not_in_use) {
  for (const ConfigEntry& e : config.entries) {
    if (not_in_use.count(e.key) != 0) continue;
    for (const WrittenKey& way : key_table().ways_to_write(e.key)) {
      const auto value = written_value(way, e.value);
      if (!value) continue;
      const std::string name = way.name.substr(way.name.rfind('.') + 1);
      const FactRowValues row = {{"framework", way.framework}, {"name", name}, {"value", *value}};
      if (auto ok = insert_row(db, "fact_setting", row); !ok) return ok;
    }
  }
  return {};
}

Result<FactDb> config_facts(const RunConfig& config, const ConfigStudy& study) {
  auto facts = FactDb::in_memory();
  if (!facts) return facts.error();
  if (auto ok = insert_row(facts->db(), "fact_config", config_row(config)); !ok) return ok.error();
  if (auto ok = insert_row(facts->db(), "fact_layout", layout_row(config, study)); !ok)
    return ok.error();
  if (auto ok = insert_settings(facts->db(), config); !ok) return ok.error();
  return facts;
}

}  // namespace ws
