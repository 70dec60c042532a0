// Every input that stands here or beside the checkout, through the dependency graph: with nothing
// changed the replay gives back every event time, the simulated partition is the recorded one, and
// the critical path covers the priced steps to the nanosecond. So do the ranks of every run
// together, with the meetings of their collectives.
#include <algorithm>
#include <filesystem>
#include <map>

#include "analysis/analyze_rank.h"
#include "analysis/critical_path.h"
#include "analysis/next_wall.h"
#include "analysis/run_builder.h"
#include "import/importer.h"
#include "support/catch.h"

using namespace ws;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> inputs() {
  std::vector<std::string> out;
  for (const char* folder :
       {"/samples", "/tests/cases", "/../shared/cases", "/../shared/data/open"}) {
    const std::string root = std::string(WS_SOURCE_DIR) + folder;
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      const std::string name = entry.path().filename().string();
      const bool trace = name.find(".json") != std::string::npos ||
                         name.find(".sqlite") != std::string::npos ||
                         name.find(".wst") != std::string::npos;
      const bool contract = name == "expected.json" || name == "report.json";
      // Larger files say nothing new, and this test runs under the sanitizers too.
      if (entry.is_regular_file() && trace && !contract && entry.file_size() < (8U << 20))
        out.push_back(entry.path().string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Differences {
  TimeNs sum = 0;
  std::string text;
};

// Leaves of the simulated windows against those of the same recorded steps.
Differences partition_differences(const RankAnalysis& recorded, const RankAnalysis& simulated,
                                  const std::vector<int64_t>& index) {
  Differences out;
  for (const DeviceAnalysis& sim : simulated.devices) {
    for (const DeviceAnalysis& rec : recorded.devices) {
      if (rec.device != sim.device) continue;
      for (size_t i = 0; i < sim.steps.size(); ++i) {
        for (size_t s = 0; s < rec.steps.size(); ++s) {
          if (rec.steps[s].index != index[i + 1]) continue;
          for (size_t l = 0; l < kLeafCount; ++l) {
            const TimeNs d = sim.breakdowns[i].ns[l] - rec.breakdowns[s].ns[l];
            out.sum += std::abs(d);
            if (d != 0)
              out.text += std::string(name_of(leaf_at(l))) + " " + std::to_string(d) + ", ";
          }
        }
      }
    }
  }
  return out;
}

// Folders that hold the ranks of one run, each in a file; sets of files that are too large together
// are left out.
std::map<std::string, std::vector<std::string>> runs() {
  std::map<std::string, std::vector<std::string>> out;
  for (const std::string& path : inputs())
    out[fs::path(path).parent_path().string()].push_back(path);
  for (auto it = out.begin(); it != out.end();) {
    uintmax_t bytes = 0;
    for (const std::string& path : it->second) bytes += fs::file_size(path);
    it = it->second.size() < 2 || bytes > (16U << 20) ? out.erase(it) : std::next(it);
  }
  return out;
}

}  // namespace

TEST_CASE("unchanged, the ranks of a run come back with all their meetings") {
  auto classes = KernelClasses::load(WS_SOURCE_DIR "/rules/kernel_classes.json");
  REQUIRE(classes);
  StepOptions options;
  options.replay_ops = 100'000;
  int replayed = 0, met = 0;
  for (const auto& [folder, paths] : runs()) {
    std::vector<RankAnalysis> ranks;
    for (const std::string& path : paths) {
      auto traces = read_file(path);
      for (size_t i = 0; traces && i < traces->size(); ++i)
        ranks.push_back(analyze_rank((*traces)[i], *classes, options));
    }
    if (ranks.size() < 2) continue;
    const auto run = combine_ranks(std::move(ranks), {});
    if (!run || run->what_if.steps == 0) continue;
    INFO(folder);
    CHECK(run->what_if.replay_error_ns == 0);
    ++replayed;
    met += run->what_if.meetings > 0 ? 1 : 0;
  }
  CHECK(replayed >= 6);
  CHECK(met >= 5);
}

TEST_CASE("unchanged, every input comes back as it was recorded") {
  auto classes = KernelClasses::load(WS_SOURCE_DIR "/rules/kernel_classes.json");
  REQUIRE(classes);
  StepOptions options;
  options.replay_ops = 100'000;
  int graphs = 0, equal = 0;
  for (const std::string& path : inputs()) {
    auto traces = read_file(path);
    if (!traces) continue;
    for (const Trace& trace : *traces) {
      // Of a file that is cut off nothing is re-simulated: its idle time is not explained.
      if (trace.notes.count(NoteCode::truncated_file) > 0) continue;
      RankAnalysis rank = analyze_rank(trace, *classes, options);
      if (!rank.replay) continue;
      INFO(path << " rank " << rank.rank);
      const std::vector<int64_t> index = rank.replay->step_index;
      const ReplayGraph graph({std::move(*rank.replay)}, Offsets{TimeNs{0}}, {}, {});
      const std::vector<TimeNs> events = graph.run(graph.recorded(true));
      bool exact = true;
      for (size_t n = 0; n < graph.nodes().size(); ++n) {
        exact = exact && events[2 * n] == graph.nodes()[n].start_ns &&
                events[2 * n + 1] == graph.nodes()[n].end_ns;
      }
      REQUIRE(exact);
      const auto simulated = simulated_ranks(graph, {&rank}, events, 0);
      const Differences d = partition_differences(rank, simulated.front(), index);
      INFO(d.text);
      TimeNs steps = 0;
      for (const DeviceAnalysis& device : simulated.front().devices)
        for (const Step& step : device.steps) steps += step.window.length();
      // Causes may reach back before the first record kept, never far.
      if (d.sum != 0) WARN(path << ": " << d.text);
      CHECK(d.sum * 200 <= steps);
      const CriticalPath critical = critical_path(graph);
      TimeNs sum = 0;
      for (const PathPart& part : critical.parts) sum += part.ns;
      CHECK(sum == critical.length_ns);
      ++graphs;
      equal += d.sum == 0 ? 1 : 0;
    }
  }
  CHECK(graphs >= 10);
  CHECK(equal * 10 >= graphs * 9);
}
