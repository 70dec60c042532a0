// Tested by: nsys_info_test.cpp
#include "import/nsys_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "import/settings.h"

namespace ws::nsys {
namespace {

constexpr std::pair<int64_t, int64_t> kNewestSchema = {3, 27};  // of 2026.3
constexpr size_t kMostGpus = 1024;                              // of one machine, with room

int64_t integer(std::string_view text, int64_t missing) {
  int64_t value = missing;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? value : missing;
}

std::string shown(std::string_view bytes) { return one_line(to_utf8(bytes)); }

// "2025.3.1.90" -> "2025.3.1"
std::string_view three_parts(std::string_view version) {
  size_t at = version.find('.');
  for (int i = 0; i < 2 && at != std::string_view::npos; ++i) at = version.find('.', at + 1);
  return version.substr(0, at);
}

Result<void> read_versions(const File& file, Info& info) {
  std::string product, schema;
  for (const char* table : {"EXPORT_META_DATA", "META_DATA_EXPORT"}) {
    Result<void> ok = file.for_each_row(table, {"name", "value"}, [&](const RowValues& s) {
      if (s.text(0) == "EXPORT_PRODUCT_VERSION") product = shown(s.text(1));
      if (s.text(0) == "EXPORT_SCHEMA_VERSION") schema = shown(s.text(1));
    });
    if (!ok) return ok;
  }
  const std::string_view version = three_parts(product);
  info.tool_version =
      fmt::format("{} (schema {})", version.empty() ? "unknown" : shorten(version, 20),
                  schema.empty() ? "unknown" : shorten(schema, 20));
  const size_t dot = schema.find('.');
  if (dot == std::string::npos) return {};
  const std::pair<int64_t, int64_t> found = {integer(schema, 0),
                                             integer(std::string_view(schema).substr(dot + 1), 0)};
  info.schema_newer = found > kNewestSchema;
  return {};
}

Result<void> read_gpus(const File& file, Info& info) {
  const auto text = [](const RowValues& s, int column) { return shown(s.text(column)); };
  Result<void> ok = file.for_each_row(
      "TARGET_INFO_GPU",
      {"id", "cuDevice", "name", "uuid", "totalMemory", "smCount", "computeMajor", "computeMinor",
       "deviceId"},
      [&](const RowValues& s) {
        Gpu gpu;
        gpu.id = s.is_null(0) ? -1 : s.int64(0);
        gpu.ordinal = !s.is_null(1) ? s.int64(1) : !s.is_null(8) ? s.int64(8) : -1;
        gpu.details.name = text(s, 2);
        gpu.details.uuid = text(s, 3);
        gpu.details.memory_bytes = std::max<int64_t>(0, s.int64(4));
        gpu.details.sm_count = static_cast<int32_t>(s.int64(5));
        gpu.details.compute_major = static_cast<int32_t>(s.int64(6));
        gpu.details.compute_minor = static_cast<int32_t>(s.int64(7));
        if (info.gpus.size() < kMostGpus) info.gpus.push_back(std::move(gpu));
      });
  if (!ok) return ok;
  // 2020 and early 2021: the details stand in a table of their own, per process.
  ok = file.for_each_row("TARGET_INFO_CUDA_GPU",
                         {"deviceId", "name", "globalMemorySize", "numMultiprocessors",
                          "computeCapabilityMajor", "computeCapabilityMinor"},
                         [&](const RowValues& s) {
                           Gpu gpu;
                           gpu.ordinal = s.int64(0);
                           gpu.details.name = text(s, 1);
                           gpu.details.memory_bytes = std::max<int64_t>(0, s.int64(2));
                           gpu.details.sm_count = static_cast<int32_t>(s.int64(3));
                           gpu.details.compute_major = static_cast<int32_t>(s.int64(4));
                           gpu.details.compute_minor = static_cast<int32_t>(s.int64(5));
                           if (info.gpus.size() < kMostGpus) info.gpus.push_back(std::move(gpu));
                         });
  if (!ok) return ok;
  return file.for_each_row(
      "TARGET_INFO_CUDA_DEVICE", {"pid", "cudaId", "gpuId", "uuid", "numMultiprocessors"},
      [&](const RowValues& s) {
        info.visible.try_emplace({s.int64(0), s.int64(1)},
                                 VisibleGpu{s.is_null(2) ? -1 : s.int64(2), text(s, 3),
                                            static_cast<int32_t>(s.int64(4))});
      });
}

// "L4X", "L4T": Linux on x86 and Tegra. The machine that was recorded, not the one that exported.
std::string_view os_of(std::string_view platform) {
  if (platform == "Windows") return "windows";
  if (platform == "L4X" || platform == "L4T" || platform == "Linux") return "linux";
  return {};
}

Result<void> read_hosts(const File& file, Info& info) {
  Result<void> ok = file.for_each_row(
      "TARGET_INFO_SYSTEM_ENV", {"globalVid", "name", "value"}, [&](const RowValues& s) {
        const std::string_view name = s.text(1), value = s.text(2);
        if (name == "Hostname") info.host_names[host_of(process_key(s.int64(0)))] = shown(value);
        if (name == "SoftwarePlatform") info.os = os_of(value);
      });
  if (!ok) return ok;
  return file.for_each_row("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
                           [&](const RowValues& s) {
                             if (plausible(s.int64(0), s.int64(0))) info.clock_base_ns = s.int64(0);
                           });
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// Warnings about what we analyze. Messages on CPU samples, OpenGL or cuDNN explain nothing here.
bool concerns_us(std::string_view text) {
  return has_any(text, {"CUDA", "CUPTI", "NVTX", "dropped", "lost"}) &&
         !has_any(text, {"cuDNN", "Unified Memory", "OpenGL"});
}

Result<void> read_messages(const File& file, Info& info) {
  constexpr int64_t kWarning = 2, kError = 3;
  constexpr size_t kMostMessages = 200;
  return file.for_each_row(
      "DIAGNOSTIC_EVENT", {"severity", "text", "globalPid"}, [&](const RowValues& s) {
        const std::string_view text = s.text(1);
        if (s.int64(0) != kWarning && s.int64(0) != kError) return;
        if (!concerns_us(text) || info.messages.size() >= kMostMessages) return;
        info.messages.push_back({process_key(s.int64(2)),
                                 has_any(text, {"dropped", "lost", "overflow"}),
                                 without_paths(text)});
      });
}

struct RankVariable {
  std::string_view rank, world;
};
// Surest first: launchers of one process per rank set the later ones too.
constexpr RankVariable kRankVariables[] = {{"RANK", "WORLD_SIZE"},
                                           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMIX_RANK", "PMIX_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"}};

Result<void> read_environment(const File& file, Info& info) {
  std::map<std::string, std::string, std::less<>> variables;
  Result<void> ok =
      file.for_each_row("META_DATA_CAPTURE", {"name", "value"}, [&](const RowValues& s) {
        const std::string_view name = s.text(0), value = s.text(1);
        if (name.find("ENVIRONMENT_VARIABLE") == std::string_view::npos) return;
        const size_t equals = value.find('=');
        if (equals == std::string_view::npos) return;
        const std::string_view variable = value.substr(0, equals);
        const bool names_rank = std::any_of(
            std::begin(kRankVariables), std::end(kRankVariables),
            [&](const RankVariable& v) { return v.rank == variable || v.world == variable; });
        if (names_rank || is_setting(variable, value.substr(equals + 1)))
          variables[shown(variable)] = shown(value.substr(equals + 1));
      });
  for (const RankVariable& v : kRankVariables) {
    const auto rank = variables.find(v.rank);
    const auto world = variables.find(v.world);
    if (rank == variables.end()) continue;
    const int64_t number = integer(rank->second, -1);
    const int64_t size = world == variables.end() ? 0 : integer(world->second, 0);
    if (number < 0 || number > INT32_MAX || size < 0 || size > INT32_MAX) continue;
    info.environment_rank = static_cast<int32_t>(number);
    info.environment_world = static_cast<int32_t>(size);
    break;
  }
  for (const auto& [name, value] : variables) {
    if (is_setting(name, value)) info.settings.emplace_back(name, value);
  }
  return ok;
}

bool is_uuid(std::string_view uuid) {
  return uuid.find_first_not_of("0-") != std::string_view::npos;
}

}  // namespace

Result<Info> read_info(const File& file) {
  Info info;
  for (Result<void> (*read)(const File&, Info&) :
       {read_versions, read_gpus, read_hosts, read_messages, read_environment}) {
    if (Result<void> ok = read(file, info); !ok) return ok.error();
  }
  return info;
}

std::string without_paths(std::string_view text) {
  constexpr size_t kLongest = 160;
  const std::string line = shown(text);
  std::string out;
  for (size_t at = 0; at < line.size();) {
    const size_t end = std::min(line.find(' ', at), line.size());
    const std::string_view word = std::string_view(line).substr(at, end - at);
    if (!out.empty()) out += ' ';
    out += word.find_first_of("/\\@") == std::string_view::npos ? word : "<path>";
    at = end + 1;
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return shorten(out, kLongest);
}

std::string physical_gpu(const Info& info, int64_t pid, int32_t ordinal) {
  const auto it = info.visible.find({pid, ordinal});
  if (it == info.visible.end()) return {};
  if (is_uuid(it->second.uuid)) return it->second.uuid;
  return it->second.gpu_id >= 0 ? fmt::format("gpu {}", it->second.gpu_id) : std::string();
}

Device find_device(const Info& info, int64_t pid, int32_t ordinal) {
  const auto details = [&](const Gpu& gpu) {
    Device d = gpu.details;
    d.ordinal = ordinal;
    if (!is_uuid(d.uuid)) d.uuid.clear();
    return d;
  };
  if (const auto it = info.visible.find({pid, ordinal}); it != info.visible.end()) {
    const VisibleGpu& v = it->second;
    for (const Gpu& gpu : info.gpus) {
      const bool same = is_uuid(v.uuid) ? gpu.details.uuid == v.uuid : gpu.id == v.gpu_id;
      if (same) return details(gpu);
    }
    Device d;
    d.ordinal = ordinal;
    d.uuid = is_uuid(v.uuid) ? v.uuid : std::string();
    d.sm_count = v.sm_count;
    return d;
  }
  const Gpu* best = nullptr;  // software adapters may claim the same ordinal: take the real GPU
  for (const Gpu& gpu : info.gpus) {
    const bool fuller = best == nullptr || gpu.details.sm_count > best->details.sm_count;
    if (gpu.ordinal == ordinal && fuller) best = &gpu;
  }
  if (best != nullptr) return details(*best);
  // No ordinals at all: the model is known only if all GPUs are of one model.
  Device d;
  const bool alike =
      !info.gpus.empty() && std::all_of(info.gpus.begin(), info.gpus.end(), [&](const Gpu& gpu) {
        return gpu.ordinal < 0 && gpu.details.name == info.gpus[0].details.name;
      });
  if (alike) d = info.gpus[0].details;
  d.uuid.clear();
  d.ordinal = ordinal;
  return d;
}

}  // namespace ws::nsys
