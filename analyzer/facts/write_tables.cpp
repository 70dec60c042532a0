// Kernels, idle causes, notes. Tested by: write_facts_test.cpp
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "analysis/counted_steps.h"
#include "analysis/how_to_record.h"
#include "analysis/phrases.h"
#include "base/text.h"
#include "facts/fact_writers.h"

namespace ws {
namespace {

struct MergedKernel {
  std::string name, cls;
  int64_t count = 0;
  TimeNs total_ns = 0;
  bool unclassified = false;
  std::vector<std::pair<TimeNs, int64_t>> p50, p99;  // of each device, with its count
};

// The quantile of each device, weighted by its records: exact for one device, between the devices'
// values for several.
TimeNs weighted(std::vector<std::pair<TimeNs, int64_t>> values, int64_t percent_place) {
  std::sort(values.begin(), values.end());
  int64_t total = 0, before = 0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values) {
    before += weight;
    if (before * 100 >= total * percent_place) return value;
  }
  return 0;
}

std::vector<MergedKernel> merged_kernels(const RunAnalysis& run) {
  std::map<std::pair<std::string, std::string>, MergedKernel> by_name;
  for_each_device(run, [&](const RankAnalysis&, const DeviceAnalysis& device, const DeviceMeans&) {
    for (const KernelRow& row : device.kernels) {
      MergedKernel& out = by_name[{row.name, row.cls}];
      out.name = row.name;
      out.cls = row.cls;
      out.count += row.count;
      out.total_ns += row.total_ns;
      out.unclassified |= row.unclassified;
      out.p50.emplace_back(row.p50_ns, row.count);
      out.p99.emplace_back(row.p99_ns, row.count);
    }
  });
  std::vector<MergedKernel> out;
  out.reserve(by_name.size());
  for (auto& [key, kernel] : by_name) out.push_back(std::move(kernel));
  std::stable_sort(out.begin(), out.end(), [](const MergedKernel& a, const MergedKernel& b) {
    return a.total_ns > b.total_ns;
  });
  return out;
}

struct MergedIdle {
  int64_t count = 0;
  const IdleRow* largest = nullptr;
  int32_t rank = 0, device = 0;
};

}  // namespace

Result<void> write_kernels(const Database& db, const FactInput& in) {
  const TimeNs all_ns = in.run.means.total.total();
  const int64_t counted = std::max<int64_t>(1, in.run.means.counted);
  struct ClassSum {
    int64_t count = 0;
    TimeNs total_ns = 0;
  };
  std::map<std::string, ClassSum> classes;
  FactTable kernels(db, "fact_kernel"), table(db, "fact_kernel_class");
  for (const MergedKernel& k : merged_kernels(in.run)) {
    kernels.row(k.name, k.cls, k.count, k.total_ns,
                rounded(k.total_ns, std::max<int64_t>(1, k.count)), weighted(k.p50, 50),
                weighted(k.p99, 99), ratio(k.total_ns, all_ns), k.unclassified);
    classes[k.cls].count += k.count;
    classes[k.cls].total_ns += k.total_ns;
  }
  for (OpClass cls : {OpClass::gemm, OpClass::attention, OpClass::compute_other, OpClass::membound,
                      OpClass::comm, OpClass::p2p, OpClass::h2d, OpClass::d2h}) {
    const ClassSum sum = classes[std::string(name_of(cls))];
    table.row(name_of(cls), rounded(sum.count, counted), rounded(sum.total_ns, counted),
              sum.count > 0 ? std::optional(rounded(sum.total_ns, sum.count)) : std::nullopt,
              ratio(sum.total_ns, all_ns));
  }
  if (auto ok = kernels.result(); !ok) return ok;
  return table.result();
}

Result<void> write_idle(const Database& db, const FactInput& in) {
  constexpr auto kFirst = static_cast<size_t>(Leaf::idle_launch);
  std::array<MergedIdle, kLeafCount - kFirst> merged{};
  for_each_device(
      in.run, [&](const RankAnalysis& rank, const DeviceAnalysis& device, const DeviceMeans&) {
        for (const IdleRow& row : device.idle) {
          MergedIdle& out = merged[static_cast<size_t>(row.leaf) - kFirst];
          out.count += row.count;
          const TimeNs length = row.largest.length();
          if (length == 0 || (out.largest != nullptr && out.largest->largest.length() >= length))
            continue;
          out.largest = &row;
          out.rank = rank.rank;
          out.device = device.device;
        }
      });
  FactTable table(db, "fact_idle");
  for (size_t i = 0; i < merged.size(); ++i) {
    const Leaf leaf = leaf_at(kFirst + i);
    const TimeNs ns = in.run.means.mean[leaf];
    const IdleRow* most = merged[i].largest;
    const auto name = [](const std::string& s) {
      return s.empty() ? std::nullopt : std::optional(s);
    };
    table.row(name_of(leaf).substr(5), ns, merged[i].count, ratio(ns, in.run.means.step_ns()),
              most ? std::optional(merged[i].rank) : std::nullopt,
              most ? std::optional(merged[i].device) : std::nullopt,
              most ? std::optional(most->largest.begin_ns) : std::nullopt,
              most ? std::optional(most->largest.length()) : std::nullopt,
              most ? name(most->before) : std::nullopt, most ? name(most->after) : std::nullopt);
  }
  return table.result();
}

namespace {

std::optional<std::string> withheld_rate(const Database& db) {
  auto row = db.prepare("SELECT withheld FROM fact_throughput WHERE withheld IS NOT NULL");
  if (!row || !row->step()) return std::nullopt;
  return std::string(row->text(0));
}

// What of the configuration was not understood, and where it is not what was recorded.
Notes config_notes(const Database& db, const FactInput& in) {
  Notes out;
  if (in.options.config == nullptr) {
    if (in.options.stated == nullptr) return out;
    const std::string& place = in.options.stated->source;
    if (in.other_framework)
      out.add(NoteCode::config_contradicted, place, 1,
              in.other_framework->sentence("the " + place));
    for (const std::string& text : in.options.stated->notes)
      out.add(NoteCode::config_unclear, place, 1, text);
    return out;
  }
  const RunConfig& config = *in.options.config;
  for (const Contradiction& c : in.merge->contradictions)
    if (!c.told_by_rule) out.add(NoteCode::config_contradicted, config.source, 1, c.sentence());
  if (const auto text = withheld_rate(db))
    out.add(NoteCode::rate_withheld, config.source, 1, *text);
  for (const std::string& text : config.notes)
    out.add(NoteCode::config_unclear, config.source, 1, text);
  if (config.unknown.empty()) return out;
  std::string names;
  for (size_t i = 0; i < config.unknown.size() && i < 5; ++i)
    names += (i > 0 ? ", " : "") + config.unknown[i].name;
  if (config.unknown.size() > 5) names += ", ...";
  out.add(NoteCode::config_keys_unused, config.unknown[0].place,
          static_cast<int64_t>(config.unknown.size()), names);
  return out;
}

}  // namespace

Result<void> write_notes(const Database& db, const FactInput& in) {
  FactTable table(db, "fact_note");
  Notes all = in.run.notes;
  all.merge(config_notes(db, in));
  const Recorders recorders = recorders_of(in.run.ranks);
  for (const Note& note : all.all()) {
    const NoteInfo& info = info_of(note.code);
    std::string text(info.text);
    if (!note.detail.empty()) text += ": " + one_line(to_utf8(note.detail));
    table.row(info.id, name_of(info.severity), note.count, one_line(to_utf8(note.first_place)),
              text, recorders.in_order(info.advice));
  }
  return table.result();
}

}  // namespace ws
