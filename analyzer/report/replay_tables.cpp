// What re-simulation tells: the changes with their gains, and what the steps waited for.
// Tested by: report_test (text_test.cpp, text_tables_test.cpp), tests/golden
#include "report/replay_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "report/numbers.h"
#include "report/phrases.h"
#include "report/table_rows.h"

namespace ws {
namespace {

constexpr double kWorthARow = 0.005;  // what saves less is shown when asked for

std::string time_range(int64_t lo_ns, int64_t hi_ns) {
  const std::string lo = duration_text(lo_ns), hi = duration_text(hi_ns);
  return lo == hi ? lo : fmt::format("{} to {}", lo, hi);
}

// What the ends of an interval assume, where more than rounding lies between them.
std::string_view ends_of(std::string_view change) {
  if (change == "bubble_halved") {
    return "half the bubble: by the formula of the schedule, for twice the micro-batches of half "
           "the "
           "size and for twice the chunks per stage; least: fill and drain alone, less what the "
           "costlier of the two adds (gaps, latency and launches; hand-overs); most: all that "
           "stages wait for each other";
  }
  if (change == "dp_overlapped") {
    return "hidden DP collectives: least: a bucket per layer, the last one exposed, compute a "
           "tenth slower beside the others; most: all that the pass is long enough for";
  }
  return "";
}

// Exposed communication of which waiting and transfer can not be told apart.
double unsplit_share(const Report& report) {
  double out = 0;
  for (const ReportLeaf& leaf : report.partition)
    if (leaf.leaf.find(".unsplit") != std::string::npos) out += leaf.share;
  return out;
}

double idle_share(const Report& report, std::string_view cause) {
  for (const ReportIdle& i : report.idle)
    if (i.cause == cause) return i.share;
  return 0;
}

// What the host does on its own while the device stands idle, where that leads.
std::string own_work_of_host(const Report& report) {
  std::string_view most;
  double share = 0.01;
  for (const std::string_view cause :
       {"dataload", "host", "launch", "graph_launch", "gc", "alloc", "jit"}) {
    if (idle_share(report, cause) <= share) continue;
    share = idle_share(report, cause);
    most = cause;
  }
  return most.empty() ? "" : fmt::format(" (mostly {})", phrase_of_idle(most));
}

bool same_gain(const ReportWhatIf& a, const ReportWhatIf& b) {
  constexpr double kTheSame = 0.005;
  return std::abs(a.saved_lo_share - b.saved_lo_share) <= kTheSame &&
         std::abs(a.saved_hi_share - b.saved_hi_share) <= kTheSame;
}

// Waits and launches cost more than the idle time they are charged with where the host, without
// them, would be ahead and do its other work beside the device's: idle time has the cause that
// fills it, the price has what allows it. Both are one loss.
std::string run_ahead_remark(const Report& report, const ReportWhatIf& w) {
  constexpr double kMuchMore = 0.02, kFarMore = 0.05;
  if (w.id == "launch_zero") {
    const double own = idle_share(report, "launch") + idle_share(report, "graph_launch") +
                       idle_share(report, "host") + idle_share(report, "kernel_gap");
    if (w.saved_lo_share < own + kFarMore) return "";
    return fmt::format(
        "{}: more than the {} that the device idles for launches and the code between them: the "
        "host would also be ahead of the device when its other work comes",
        phrase_of_change(w.id), percent_text(own));
  }
  const double own = idle_share(report, "sync");
  if (w.id != "sync_zero" || w.saved_lo_share < own + kMuchMore) return "";
  std::string out = fmt::format(
      "{}: more than the {} that the device idles for synchronisation itself: each wait also keeps "
      "the host from doing its own work{} beside the device's. To be had where nothing needs the "
      "awaited value at once",
      phrase_of_change(w.id), percent_text(own), own_work_of_host(report));
  for (const ReportWhatIf& other : report.what_if) {
    const bool own_work =
        other.id == "dataload_zero" || other.id == "launch_zero" || other.id == "gc_zero";
    if (own_work && same_gain(other, w))
      return out + fmt::format("; {} give back the same time, one of the two is enough",
                               phrase_of_change(other.id));
  }
  return out;
}

}  // namespace

Table what_if_table(const Report& report, bool all) {
  Table t{"WHAT IF",
          "re-simulated, one change at a time; gains do not add up",
          {{"change"}, {"saves", true}, {"step", true}, {"next", false, true}},
          {},
          {}};
  const auto asked = [](const ReportWhatIf& w) { return w.asked; };
  const size_t worth = static_cast<size_t>(
      std::count_if(report.what_if.begin(), report.what_if.end(),
                    [](const ReportWhatIf& w) { return w.saved_hi_share >= kWorthARow; }));
  size_t most = rows_shown(report.what_if.size(), worth, all);
  const auto behind = report.what_if.begin() + static_cast<std::ptrdiff_t>(most);
  if (static_cast<size_t>(std::count_if(behind, report.what_if.end(), std::not_fn(asked))) <
      kFewestLeft)
    most = report.what_if.size();
  std::vector<const ReportWhatIf*> shown;
  for (size_t i = 0; i < report.what_if.size(); ++i) {
    const ReportWhatIf& w = report.what_if[i];
    if (i >= most && !asked(w)) continue;
    shown.push_back(&w);
    std::string next = w.next_loss ? std::string(phrase_of_loss(*w.next_loss)) : "";
    if (w.next_cause && *w.next_cause != "unknown")
      next += fmt::format(" ({})", phrase_of_cause(*w.next_cause));
    t.rows.push_back({w.asked ? w.id : std::string(phrase_of_change(w.id)),
                      percent_range(w.saved_lo_share, w.saved_hi_share),
                      time_range(w.step_lo_ns, w.step_hi_ns), next});
  }
  if (const size_t left = report.what_if.size() - t.rows.size(); left > 0) {
    t.remarks.push_back(t.rows.empty() ? fmt::format("all {} save less than 0.5 % (--all)", left)
                        : worth > t.rows.size()
                            ? fmt::format("{} of {}, those that save most; --all shows the rest",
                                          t.rows.size(), report.what_if.size())
                            : fmt::format("and {} more, which save less than 0.5 % (--all)", left));
  }
  const ReportReplay& r = report.replay;
  if (report.what_if.empty() || !r.unexplained_share) return t;
  for (const ReportWhatIf* w : shown) {
    if (const std::string_view ends = ends_of(w->id); !ends.empty()) t.remarks.emplace_back(ends);
    if (std::string remark = run_ahead_remark(report, *w); !remark.empty())
      t.remarks.push_back(std::move(remark));
  }
  t.remarks.push_back(fmt::format(
      "from {} step length{}; the dependency graph leaves {} of the step unexplained", r.steps,
      r.steps == 1 ? "" : "s", percent_text(std::max(0.0, *r.unexplained_share))));
  if (const double unsplit = unsplit_share(report); unsplit >= 0.001) {
    t.remarks.push_back(
        fmt::format("communication without a matched record of its peers takes {} of the step: the "
                    "least takes it for waiting, which stays, the most for transfer",
                    percent_text(unsplit)));
  }
  if (r.why_no_prices)
    t.remarks.push_back(
        fmt::format("the verdict goes by shares, not by these gains: {}", *r.why_no_prices));
  return t;
}

// Leaves with one label are added up over ranks.
Table path_table(const Report& report, bool all) {
  struct Row {
    std::string label;
    double share = 0;
    int64_t ns = 0;
    std::map<int64_t, int64_t> by_rank;
  };
  std::vector<Row> rows;
  for (const ReportPathPart& part : report.path) {
    const LeafPhrase* p = phrase_of_leaf(part.leaf);
    const std::string label(p != nullptr ? p->label : std::string_view(part.leaf));
    auto it =
        std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.label == label; });
    if (it == rows.end()) it = rows.insert(rows.end(), Row{label, 0, 0, {}});
    it->share += part.share;
    it->ns += part.ns;
    it->by_rank[part.rank] += part.ns;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.ns > b.ns; });
  Table t{"CRITICAL PATH",
          "what the re-simulated steps waited for, per step",
          {{"part"}, {"share", true}, {"time", true}},
          {},
          {}};
  const bool several = report.ranks.size() > 1;
  if (several) t.columns.push_back({"mostly on rank", true});
  fill(t, rows, all, "the longest", [&](const Row& r) {
    std::vector<std::string> cells = {
        r.label, percent_text(r.share),
        duration_text(r.ns / std::max<int64_t>(1, report.replay.steps))};
    const auto most =
        std::max_element(r.by_rank.begin(), r.by_rank.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    if (several) cells.push_back(std::to_string(most->first));
    return cells;
  });
  return t;
}

}  // namespace ws
