// Tested by: options_test.cpp
#include "collector/options.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "collector/recording.h"

extern char** environ;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

namespace ws::collector {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<int64_t> number(std::string_view text) {
  int64_t v = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, v);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return v;
}

int64_t number_or(const char* name, int64_t fallback) {
  const auto v = number(variable(name));
  return v && *v >= 0 ? *v : fallback;
}

struct RankVariables {
  const char* rank;
  const char* world;
};
// Surest first: launchers of one process per rank set the later ones too.
constexpr RankVariables kRankVariables[] = {{"RANK", "WORLD_SIZE"},
                                            {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                            {"PMIX_RANK", "PMIX_SIZE"},
                                            {"PMI_RANK", "PMI_SIZE"},
                                            {"SLURM_PROCID", "SLURM_NTASKS"}};

bool has_secret_word(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  });
  constexpr std::string_view kWords[] = {"token", "secret", "passw", "key", "credential", "auth"};
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [&](std::string_view w) { return lower.find(w) != std::string::npos; });
}

// Settings of CUDA, NCCL and the frameworks; never anything that may be a secret.
bool is_kept(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"NCCL_",    "CUDA_", "TORCH_",
                                            "PYTORCH_", "NVTE_", "OMP_"};
  return !has_secret_word(name) &&
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view p) { return name.substr(0, p.size()) == p; }) &&
         name.substr(0, 14) != "CUDA_INJECTION";
}

void read_settings(ProcessRow& p) {
  constexpr size_t kLongest = 256, kMost = 256;
  for (char** e = environ; e != nullptr && *e != nullptr && p.settings.size() < kMost; ++e) {
    const std::string_view entry(*e);
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos || !is_kept(entry.substr(0, equals))) continue;
    // Paths and addresses say where people are, not how the job is set.
    if (entry.find_first_of("/\\@", equals) != std::string_view::npos) continue;
    p.settings.emplace_back(entry.substr(0, equals), entry.substr(equals + 1, kLongest));
  }
  std::sort(p.settings.begin(), p.settings.end());
}

// "--wandb-key abc" and "--api_token=abc" lose what follows the name.
void read_arguments(ProcessRow& p) {
  constexpr size_t kMostBytes = size_t{16} * 1024, kLongest = 512;
  std::string all(kMostBytes, '\0');
  const int fd = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : ::read(fd, all.data(), all.size());
  if (fd >= 0) ::close(fd);
  all.resize(n > 0 ? static_cast<size_t>(n) : 0);
  bool hide_next = false;
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\0', at), all.size());
    const std::string_view argument = std::string_view(all).substr(at, end - at);
    const bool option = argument.substr(0, 1) == "-";
    const size_t equals = argument.find('=');
    const std::string_view name = argument.substr(0, equals);
    if (hide_next && !option) {
      p.arguments.emplace_back("...");
    } else if (equals != std::string_view::npos && has_secret_word(name)) {
      p.arguments.emplace_back(std::string(name) + "=...");
    } else {
      p.arguments.emplace_back(argument.substr(0, kLongest));
    }
    hide_next = option && equals == std::string_view::npos && has_secret_word(name);
    at = end + 1;
  }
}

Tier tier_of(std::string_view text) {
  if (text == "nvtx") return Tier::nvtx;
  if (text == "device") return Tier::device;
  return text == "memory" ? Tier::memory : Tier::host;
}

}  // namespace

bool list_holds(std::string_view list, int64_t rank) {
  bool understood = false;
  for (size_t at = 0; at <= list.size();) {
    const size_t comma = std::min(list.find(',', at), list.size());
    const std::string_view part = list.substr(at, comma - at);
    const size_t dash = part.find('-');
    const auto first = number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (!first || !last) return true;
    understood = true;
    if (rank >= *first && rank <= *last) return true;
    at = comma + 1;
  }
  return !understood;
}

std::optional<std::pair<int64_t, int64_t>> parse_steps(std::string_view text) {
  const size_t colon = text.find(':');
  const auto first = number(text.substr(0, colon));
  const auto last = colon == std::string_view::npos ? first : number(text.substr(colon + 1));
  if (!first || !last || *first < 0 || *last < *first) return std::nullopt;
  return std::pair(*first, *last);
}

Options read_options(const ProcessRow& process) {
  Options o;
  o.folder = variable("WALLSIGHT_DIR");
  o.tier = tier_of(variable("WALLSIGHT_TIER"));
  o.whole_graphs = variable("WALLSIGHT_GRAPHS") == "graph";
  o.delay_ms = number_or("WALLSIGHT_DELAY_MS", 0);
  o.duration_ms = number_or("WALLSIGHT_DURATION_MS", 0);
  o.step_range = variable("WALLSIGHT_STEP_RANGE");
  if (const auto steps = parse_steps(variable("WALLSIGHT_STEPS")); steps && !o.step_range.empty())
    std::tie(o.first_step, o.last_step) = *steps;
  o.steps_by_pattern = o.first_step >= 0 && variable("WALLSIGHT_STEP_PATTERN") == "1";
  constexpr int64_t kMostMegabytes = int64_t{1} << 30;
  o.file_cap_bytes = static_cast<uint64_t>(std::clamp<int64_t>(
                         number_or("WALLSIGHT_MAX_FILE_MB", 4096), 1, kMostMegabytes))
                     << 20;
  // Rings and tables of names take about a third of what may be used.
  const int64_t memory_mb = std::clamp<int64_t>(number_or("WALLSIGHT_MAX_MEMORY_MB", 96), 12, 4096);
  o.buffer_count = static_cast<uint32_t>(memory_mb * 2 / 3);
  o.cupti_path = variable("WALLSIGHT_CUPTI");
  if (const std::string ranks = variable("WALLSIGHT_RANKS"); !ranks.empty() && process.rank >= 0)
    o.rank_chosen = list_holds(ranks, process.rank);
  return o;
}

ProcessRow describe_process() {
  ProcessRow p;
  p.recorder_version = WALLSIGHT_VERSION;
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) == 0) p.host = host;
  p.pid = ::getpid();
  p.start_realtime_ns = read_clocks().realtime_ns;
  for (const RankVariables& v : kRankVariables) {
    const auto rank = number(variable(v.rank));
    if (!rank || *rank < 0 || *rank > INT32_MAX) continue;
    p.rank = static_cast<int32_t>(*rank);
    const auto world = number(variable(v.world));
    if (world && *world > 0 && *world <= INT32_MAX) p.world_size = static_cast<int32_t>(*world);
    break;
  }
  read_settings(p);
  read_arguments(p);
  return p;
}

std::string file_name_of(const ProcessRow& p) {
  std::string host = p.host.substr(0, 64);
  for (char& c : host) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
    if (!plain) c = '-';
  }
  constexpr int64_t kMs = 1'000'000;
  return (host.empty() ? "host" : host) + "." + (p.rank < 0 ? "x" : std::to_string(p.rank)) + "." +
         std::to_string(p.pid) + "." + std::to_string(p.start_realtime_ns / kMs) + ".wst";
}

}  // namespace ws::collector
