// An export becomes one Trace per rank. A rank is a process with device records; processes that use
// one physical GPU are one rank. Which process shares a GPU, and whose the records without a
// process are, shows only when all is read: in these rare cases the file is read a second time
// with that knowledge, which keeps the common path free of moving rows between traces.
// Tested by: nsys_test.cpp
#include "import/nsys.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "import/framework.h"
#include "import/nsys_file.h"
#include "import/nsys_info.h"
#include "import/nsys_ranges.h"
#include "import/nsys_rows.h"

namespace ws {
namespace nsys {
namespace {

Result<void> read_records(const File& file, const Strings& strings, Ranks& ranks) {
  if (Result<void> ok = read_device_records_and_calls(file, strings, ranks); !ok) return ok;
  if (Result<void> ok = read_nvtx(file, strings, ranks); !ok) return ok;
  if (Result<void> ok = read_os_waits(file, strings, ranks); !ok) return ok;
  if (Result<void> ok = read_overhead(file, strings, ranks); !ok) return ok;
  if (Result<void> ok = read_device_memory(file, ranks); !ok) return ok;
  if (ranks.too_many()) {
    return Error{fmt::format(
        "{}: expected at most {} processes with records, found more; this is no export of nsys",
        file.path(), Ranks::kMostRanks)};
  }
  return {};
}

bool has_records(const Trace& t) {
  return t.ops.size() > 0 || t.calls.size() > 0 || t.ranges.size() > 0;
}

// Processes that become ranks: those with device records, else all that recorded anything.
std::vector<ProcessKey> candidates(const Ranks& ranks) {
  std::vector<ProcessKey> with_device, with_anything;
  for (const auto& [key, rank] : ranks.all()) {
    if (rank->has_device_records) with_device.push_back(key);
    if (has_records(rank->builder.trace)) with_anything.push_back(key);
  }
  return with_device.empty() ? with_anything : with_device;
}

Layout layout_of(const Ranks& ranks, const Info& info) {
  Layout layout;
  std::map<std::string, ProcessKey> owner_of_gpu;
  std::set<ProcessKey> named;  // processes that may own records without one
  for (const auto& [key, rank] : ranks.all()) {
    if (key != kUnknownProcess && has_records(rank->builder.trace)) named.insert(key);
    if (key == kUnknownProcess || !rank->has_device_records) continue;
    for (const Device& device : rank->builder.trace.devices) {
      const std::string gpu = physical_gpu(info, pid_of(key), device.ordinal);
      if (gpu.empty()) continue;
      const auto [it, fresh] =
          owner_of_gpu.try_emplace(fmt::format("{} {}", host_of(key), gpu), key);
      if (fresh) continue;
      const auto chained = layout.joined.find(it->second);
      const ProcessKey leader = chained == layout.joined.end() ? it->second : chained->second;
      if (leader != key) layout.joined.try_emplace(key, leader);
    }
  }
  if (ranks.all().count(kUnknownProcess) == 0) return layout;
  std::set<ProcessKey> with_device;
  for (ProcessKey key : named) {
    if (ranks.all().at(key)->has_device_records) with_device.insert(key);
  }
  const std::set<ProcessKey>& owners = with_device.empty() ? named : with_device;
  if (owners.size() == 1) layout.only_process = *owners.begin();
  return layout;
}

// One process that recorded host events only may hold all ranges; without GPU there is one trace.
Layout host_only_layout(const std::vector<ProcessKey>& processes, Layout layout) {
  for (ProcessKey key : processes) {
    if (key != processes.front()) layout.joined.try_emplace(key, processes.front());
  }
  return layout;
}

void add_messages(Trace& trace, const Info& info, const std::set<ProcessKey>& members) {
  std::map<std::string, int> seen;
  constexpr size_t kMostMessages = 8;
  for (const Message& m : info.messages) {
    const bool general = pid_of(m.process) == 0 || static_cast<int64_t>(m.process) < 0;
    if (!general && members.count(m.process) == 0) continue;
    if (seen.size() >= kMostMessages && seen.count(m.text) == 0) continue;
    ++seen[m.text];
    trace.notes.add(m.is_loss ? NoteCode::records_lost : NoteCode::recorder_message,
                    "DIAGNOSTIC_EVENT", 1, m.text);
  }
}

void set_devices(Trace& trace, const Info& info) {
  constexpr size_t kMostDetailed = 1024;  // of one process, with room
  std::vector<int64_t> pids(trace.devices.size(),
                            trace.processes.empty() ? -1 : trace.processes[0].pid);
  for (const Stream& s : trace.streams) pids[row(s.device)] = trace.processes[row(s.process)].pid;
  for (size_t d = 0; d < std::min(trace.devices.size(), kMostDetailed); ++d)
    trace.devices[d] = find_device(info, pids[d], trace.devices[d].ordinal);
}

struct Setting {  // what all traces of a file share
  const File& file;
  const Info& info;
  std::map<int64_t, int32_t> hosts;  // host bits -> number
  bool one_rank = true;
};

void set_rank(Trace& trace, const Rank& rank, const Setting& all) {
  if (rank.mpi_rank >= 0) {
    trace.rank = rank.mpi_rank;
    trace.rank_source = RankSource::distributed_info;
  } else if (all.one_rank && all.info.environment_rank >= 0) {
    // With several ranks in the file the environment is that of their launcher.
    trace.rank = all.info.environment_rank;
    trace.world_size = all.info.environment_world;
    trace.rank_source = RankSource::environment;
  }
}

Trace finish(ProcessKey key, Rank& rank, const std::set<ProcessKey>& members, Setting& all) {
  Trace& open = rank.builder.trace;
  std::stable_sort(
      open.memory.begin(), open.memory.end(),
      [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
  Trace trace = rank.builder.seal();
  trace.path = all.file.path();
  trace.format = kNsysImporter.name;
  trace.tool_version = all.info.tool_version;
  trace.os = all.info.os;
  trace.framework = framework_of(trace);
  trace.clock_base_ns = all.info.clock_base_ns;
  // Some exports carry times since the epoch already.
  constexpr TimeNs kSessionsAreShorterNs = TimeNs{1} << 59;  // 18 years
  if (trace.capture.begin_ns > kSessionsAreShorterNs) trace.clock_base_ns = 0;
  const int64_t host = host_of(key);
  trace.host = all.hosts.try_emplace(host, static_cast<int32_t>(all.hosts.size())).first->second;
  if (const auto name = all.info.host_names.find(host); name != all.info.host_names.end())
    trace.host_name = name->second;
  trace.settings = all.info.settings;
  set_rank(trace, rank, all);
  set_devices(trace, all.info);
  Notes& notes = trace.notes;
  if (all.info.schema_newer) notes.add(NoteCode::schema_newer, {}, 1, all.info.tool_version);
  if (trace.ops.size() == 0 && notes.count(NoteCode::time_out_of_range) == 0)
    notes.add(NoteCode::no_gpu_events);
  if (trace.graphs_as_a_whole) notes.add(NoteCode::graph_level_trace);
  if (members.size() > 1 && trace.ops.size() > 0) notes.add(NoteCode::processes_share_device);
  add_messages(trace, all.info, members);
  return trace;
}

// One communicator that spans exactly the ranks of this file tells them apart.
void rank_by_communicator(std::vector<Trace>& traces, const std::vector<const Rank*>& ranks) {
  if (traces.size() < 2) return;
  for (const auto& [id, first] : ranks[0]->communicators) {
    std::set<int64_t> numbers;
    for (const Rank* rank : ranks) {
      const auto it = rank->communicators.find(id);
      if (it == rank->communicators.end()) break;
      if (it->second.rank_count != static_cast<int64_t>(ranks.size())) break;
      if (it->second.rank < 0 || it->second.rank >= it->second.rank_count) break;
      numbers.insert(it->second.rank);
    }
    if (numbers.size() != ranks.size()) continue;
    for (size_t i = 0; i < traces.size(); ++i) {
      traces[i].rank = static_cast<int32_t>(ranks[i]->communicators.find(id)->second.rank);
      traces[i].world_size = static_cast<int32_t>(ranks.size());
      traces[i].rank_source = RankSource::distributed_info;
    }
    return;
  }
}

Result<std::vector<Trace>> read(const std::string& path) {
  const Result<File> file = File::open(path);
  if (!file) return file.error();
  const Result<Info> info = read_info(*file);
  if (!info) return info.error();
  const Result<Strings> strings = Strings::read(*file);
  if (!strings) return strings.error();

  Layout layout;
  auto ranks = std::make_unique<Ranks>(*strings, layout);
  if (Result<void> ok = read_records(*file, *strings, *ranks); !ok) return ok.error();
  std::vector<ProcessKey> keys = candidates(*ranks);
  if (keys.empty()) {
    return Error{fmt::format(
        "{}: expected recorded events, found an export of a capture in which nothing was captured; "
        "record again with nsys profile --trace=cuda,nvtx and check the capture range",
        path)};
  }
  Layout better = layout_of(*ranks, *info);
  if (!ranks->all().at(keys[0])->has_device_records) better = host_only_layout(keys, better);
  if (!(better == layout)) {
    ranks = nullptr;  // before the second reading: its rows take as much room
    ranks = std::make_unique<Ranks>(*strings, better);
    if (Result<void> ok = read_records(*file, *strings, *ranks); !ok) return ok.error();
    keys = candidates(*ranks);
  }
  std::sort(keys.begin(), keys.end(), [](ProcessKey a, ProcessKey b) {
    return std::pair(pid_of(a), a) < std::pair(pid_of(b), b);
  });
  std::vector<Trace> traces;
  std::vector<const Rank*> sources;
  Setting all{*file, *info, {}, keys.size() == 1};
  for (ProcessKey key : keys) {
    std::set<ProcessKey> members = {key};
    for (const auto& [member, leader] : better.joined) {
      if (leader == key) members.insert(member);
    }
    Rank& rank = *ranks->all().at(key);
    traces.push_back(finish(key, rank, members, all));
    sources.push_back(&rank);
  }
  rank_by_communicator(traces, sources);
  return traces;
}

bool is_export(const File& file) {
  if (!file.has_table("StringIds")) return false;
  constexpr std::string_view kMarks[] = {"META_DATA_EXPORT",
                                         "EXPORT_META_DATA",
                                         "TARGET_INFO_GPU",
                                         "TARGET_INFO_SYSTEM_ENV",
                                         "NVTX_EVENTS",
                                         "OSRT_API",
                                         "ProcessStreams",
                                         "CUPTI_ACTIVITY_KIND_KERNEL",
                                         "CUPTI_ACTIVITY_KIND_RUNTIME"};
  return std::any_of(std::begin(kMarks), std::end(kMarks),
                     [&](std::string_view table) { return file.has_table(table); });
}

// A database that can not even be opened may be a damaged export: reading it tells what is wrong.
int sniff(std::string_view head, const std::string& path) {
  constexpr int kExport = 100, kUnreadable = 10;
  if (head.substr(0, kSqliteMagic.size()) != kSqliteMagic) return 0;
  const Result<File> file = File::open(path);
  if (!file) return kUnreadable;
  return is_export(*file) ? kExport : 0;
}

}  // namespace
}  // namespace nsys

const Importer kNsysImporter = {"nsys-sqlite", nsys::sniff, nsys::read};

Error foreign_database(const std::string& path) {
  const Result<nsys::File> file = nsys::File::open(path);
  if (!file) return file.error();
  struct Known {
    std::string_view table;
    std::string_view tool;
  };
  if (file->has_table("fact_run")) {
    return Error{fmt::format(
        "{}: expected traces, found a fact database, made by wallsight; its report is shown by "
        "`wallsight report {}`",
        path, path)};
  }
  if (file->has_table("rocpd_op") || file->has_table("rocpd_api")) {
    return Error{fmt::format(
        "{}: expected an Nsight Systems export, found a trace of AMD's rocpd (rocmProfileData), "
        "which can not be read; record with torch.profiler, which works on ROCm",
        path)};
  }
  constexpr Known kKnown[] = {
      {"CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "an nvprof database"},
      {"StringTable", "an nvprof database"},
      {"read_only_op_instances", "a DLProf database"},
      {"db_version", "a DLProf database"},
      {"STR_TABLE", "a hipprof database"},
      {"HIPTX", "a hipprof database"},
  };
  for (const Known& k : kKnown) {
    if (file->has_table(k.table)) {
      return Error{fmt::format(
          "{}: expected an Nsight Systems export, found {}; record with nsys profile and run nsys "
          "export --type=sqlite, or use torch.profiler",
          path, k.tool)};
    }
  }
  return Error{fmt::format(
      "{}: expected an Nsight Systems export, found an SQLite database of something else; "
      "give the file that nsys export --type=sqlite wrote",
      path)};
}

}  // namespace ws
