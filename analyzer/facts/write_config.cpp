// What the records show of the configuration; everything else is NULL until the user gives it.
// Tested by: write_facts_test.cpp
#include <fmt/format.h>

#include <charconv>
#include <set>

#include "facts/config_facts.h"
#include "facts/fact_writers.h"

namespace ws {
namespace {

// Size of the named communicators of a kind; two sizes (expert and plain data parallelism) or none
// are not an answer.
std::optional<int64_t> group_size(const RunAnalysis& run, CommKind kind) {
  std::set<int64_t> sizes;
  for (const RankAnalysis& rank : run.ranks) {
    for (const Communicator& c : rank.communicators) {
      if (!c.named || c.guessed || c.kind != kind) continue;
      const auto members = static_cast<int64_t>(c.members.size());
      if (const int64_t size = c.size > 0 ? c.size : members; size > 0) sizes.insert(size);
    }
  }
  return sizes.size() == 1 ? std::optional(*sizes.begin()) : std::nullopt;
}

struct Dispatcher {
  std::optional<std::string_view> type, backend;
};

Dispatcher dispatcher_of(const RunAnalysis& run) {
  bool deepep = false, hybridep = false, all_to_all = false, other = false;
  for (const RankAnalysis& rank : run.ranks) {
    deepep |= rank.config.deepep;
    hybridep |= rank.config.hybridep;
    all_to_all |= rank.config.nccl_all_to_all_on_ep;
    other |= rank.config.collectives_on_ep;
  }
  if (hybridep) return {"flex", "hybridep"};
  if (deepep) return {"flex", "deepep"};
  if (all_to_all) return {"alltoall", std::nullopt};
  if (other) return {"allgather", std::nullopt};
  return {};
}

std::set<std::string> precisions_of(const RunAnalysis& run) {
  std::set<std::string> seen;
  for (const RankAnalysis& rank : run.ranks)
    seen.insert(rank.config.precisions.begin(), rank.config.precisions.end());
  if (seen.count("tf32") != 0) seen.erase("fp32");  // TF32 is how FP32 is multiplied
  return seen;
}

// 0 only where launches were recorded and none was a graph launch.
std::optional<int64_t> cuda_graphs(const RunAnalysis& run) {
  bool calls = false, graphs = false;
  for (const RankAnalysis& rank : run.ranks) {
    calls |= rank.has_api_records;
    for (const DeviceAnalysis& device : rank.devices)
      graphs |= device.evidence.cuda_graphs || device.counts.graph_launches > 0;
  }
  if (graphs) return 1;
  return calls && !run.means.devices.empty() ? std::optional<int64_t>(0) : std::nullopt;
}

// The value of an environment variable if all ranks that recorded it agree.
std::optional<std::string> setting(const RunAnalysis& run, std::string_view name) {
  std::set<std::string> values;
  for (const RankAnalysis& rank : run.ranks)
    for (const auto& [key, value] : rank.config.settings)
      if (key == name) values.insert(value);
  return values.size() == 1 ? std::optional(*values.begin()) : std::nullopt;
}

std::optional<int64_t> max_connections(const RunAnalysis& run) {
  const auto text = setting(run, "CUDA_DEVICE_MAX_CONNECTIONS");
  int64_t value = 0;
  if (!text || text->empty()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

// PyTorch has two names for the variable; the newer wins.
std::optional<int64_t> expandable_segments(const RunAnalysis& run) {
  auto text = setting(run, "PYTORCH_ALLOC_CONF");
  if (!text) text = setting(run, "PYTORCH_CUDA_ALLOC_CONF");
  if (!text) return std::nullopt;
  return text->find("expandable_segments:True") != std::string::npos ? 1 : 0;
}

}  // namespace

FactRowValues recorded_config(const RunAnalysis& run) {
  FactRowValues out;
  const auto put = [&](const char* name, std::optional<int64_t> v) {
    if (v) out[name] = *v;
  };
  put("tp", group_size(run, CommKind::tp));
  // A communicator of sends joins two neighbours, or all stages: its size is not PP.
  if (run.across.pipeline) put("pp", run.across.pipeline->stages);
  put("cp", group_size(run, CommKind::cp));
  put("ep", group_size(run, CommKind::ep));
  put("dp", group_size(run, CommKind::dp));
  const Dispatcher dispatcher = dispatcher_of(run);
  if (dispatcher.type) out["moe_token_dispatcher_type"] = std::string(*dispatcher.type);
  if (dispatcher.backend) out["moe_flex_dispatcher_backend"] = std::string(*dispatcher.backend);
  put("cuda_graphs", cuda_graphs(run));
  put("cuda_device_max_connections", max_connections(run));
  put("expandable_segments", expandable_segments(run));
  const std::set<std::string> precisions = precisions_of(run);
  if (precisions.size() == 1) out["precision"] = *precisions.begin();
  if (precisions.size() > 1) {
    out["precision"] = std::string("mixed");
    out["precisions_seen"] = fmt::format("{}", fmt::join(precisions, " and "));
  }
  if (const auto name = setting(run, "optimizer_seen")) out["optimizer_seen"] = *name;
  for (const char* name : {"reduces_in_16_bits", "ddp_seen", "loader_workers_seen"})
    if (const auto v = setting(run, name)) put(name, *v == "1" ? 1 : 0);
  return out;
}

namespace {

// Of which software a release is depends on the framework: as stated, else as names tell it. A
// framework that did not run is not put, and neither is its release.
void put_stated(const Database& db, const FactInput& in, FactRowValues& row) {
  if (in.options.stated == nullptr) return;
  RunConfig with_framework = *in.options.stated;
  if (in.other_framework)
    std::erase_if(with_framework.entries, [](const ConfigEntry& e) {
      return e.key == "framework" || e.key == "framework_version";
    });
  for (const ConfigEntry& e : with_framework.entries) row[e.key] = std::get<std::string>(e.value);
  auto run =
      db.prepare("SELECT framework FROM fact_run WHERE framework_by IN ('program', 'operators')");
  if (run && run->step() && !run->is_null(0))
    add_missing(with_framework, "framework", std::string(run->text(0)), "recording");
  put_releases(row, with_framework);
}

// Which software it is, a file tells even where its settings would stop the job.
void put_software(const FactRowValues& row, FactRowValues& alone) {
  for (const char* key : {"framework", "framework_version", "te_version", "torch_version",
                          "core_release", "te_release", "torch_release"})
    if (const auto it = row.find(key); it != row.end()) alone[key] = it->second;
}

}  // namespace

Result<void> write_config(const Database& db, const FactInput& in) {
  if (in.options.config != nullptr && !(in.merge && in.merge->other_run))
    if (auto ok = insert_settings(db, *in.options.config, in.merge->not_in_use); !ok) return ok;
  FactRowValues alone = recorded_config(in.run);
  put_stated(db, in, alone);
  if (!in.merge) return insert_row(db, "fact_config", alone);
  FactRowValues row = in.merge->row;
  if (in.merge->other_run) put_stated(db, in, row);
  if (auto ok = insert_row(db, "fact_config", row); !ok) return ok;
  if (!in.merge->other_run) put_software(row, alone);
  return insert_without_file(db, "fact_config", alone);
}

}  // namespace ws
