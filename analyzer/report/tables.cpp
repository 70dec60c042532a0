// Tested by: report_test (text_test.cpp, renderers_agree_test.cpp).
#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/across_tables.h"
#include "report/numbers.h"
#include "report/phrases.h"
#include "report/table_rows.h"

namespace ws {
namespace {

int64_t group_ns(const LeafTimes& leaves, WhereGroup group) {
  int64_t sum = 0;
  for (const auto& [leaf, ns] : leaves) {
    const LeafPhrase* p = phrase_of_leaf(leaf);
    if ((p != nullptr ? p->group : WhereGroup::unexplained) == group) sum += ns;
  }
  return sum;
}

// Idle time at the edge of a pipeline stage is bubble, as in the table of the step.
std::map<WhereGroup, int64_t> stage_idle_of(const ReportRank& rank) {
  std::map<WhereGroup, int64_t> out;
  int64_t left = rank.stage_idle_ns.value_or(0);
  for (const WhereGroup g : {WhereGroup::host, WhereGroup::unexplained}) {
    const int64_t moved = std::clamp<int64_t>(left, 0, group_ns(rank.partition, g));
    out[g] = -moved;
    out[WhereGroup::bubble] += moved;
    left -= moved;
  }
  return out;
}

Table rank_table(const Report& report, bool all) {
  Table t{"RANKS",
          fmt::format("mean over {}, slowest first, then most compute", steps_word(report)),
          {{"rank", true}, {"device", true}, {"host"}},
          {},
          {}};
  std::vector<ReportRank> rows = report.ranks;
  const auto key = [](const ReportRank& r) {
    return std::pair(r.step_mean_ns.value_or(0), group_ns(r.partition, WhereGroup::compute));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& x, const auto& y) { return key(x) > key(y); });
  const TimeUnit unit = unit_for(rows.empty() ? 0 : rows.front().step_mean_ns.value_or(0));
  t.columns.push_back({unit.name, true});
  std::vector<WhereGroup> groups;
  for (const WhereRow& w : report.where.rows) {
    for (const LeafPhrase& p : leaf_phrases()) {
      if (name_of(p.group) == w.group) {
        groups.push_back(p.group);
        t.columns.push_back({w.group, true});
        break;
      }
    }
  }
  bool late = false;
  for (const ReportRank& r : rows) late = late || r.late_ns.has_value();
  if (late) t.columns.push_back({"late", true});
  fill(t, rows, all, [&](const ReportRank& r) {
    std::vector<std::string> cells = {std::to_string(r.rank), std::to_string(r.device), r.host,
                                      r.step_mean_ns ? in_unit(*r.step_mean_ns, unit) : "-"};
    const std::map<WhereGroup, int64_t> moved = stage_idle_of(r);
    for (const WhereGroup g : groups) {
      const auto by = moved.find(g);
      cells.push_back(
          in_unit(group_ns(r.partition, g) + (by == moved.end() ? 0 : by->second), unit));
    }
    if (late) cells.push_back(r.late_ns ? in_unit(*r.late_ns, unit) : "-");
    return cells;
  });
  return t;
}

Table outlier_table(const Report& report, bool all) {
  Table t{"OUTLIERS",
          "steps that differ from the median",
          {{"rank", true},
           {"step"},
           {"length", true},
           {"to median", true},
           {"largest excess", false, true}},
          {},
          {}};
  std::vector<ReportStep> rows;
  for (const ReportStep& s : report.steps.rows) {
    if (s.outlier) rows.push_back(s);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.end_ns - a.begin_ns > b.end_ns - b.begin_ns;
  });
  const auto median = static_cast<double>(report.steps.median_ns.value_or(0));
  fill(t, rows, all, [&](const ReportStep& s) {
    const auto length = static_cast<double>(s.end_ns - s.begin_ns);
    return std::vector<std::string>{
        std::to_string(s.rank), s.name, duration_text(s.end_ns - s.begin_ns),
        median > 0 ? fmt::format("{:+.1f} %", (length / median - 1) * 100) : "-",
        s.note.value_or("")};
  });
  return t;
}

std::string gap_place(const Report& report, const ReportGap& g) {
  std::string out = report.ranks.size() > 1 ? fmt::format("rank {}", g.rank) : "";
  if (g.step.empty() || report.whole_window) return out;
  return fmt::format("{}{}{} + {}", out, out.empty() ? "" : ", ", g.step,
                     duration_text(g.since_step_begin_ns));
}

Table idle_table(const Report& report, bool all) {
  Table t{"IDLE TIME BY CAUSE",
          fmt::format("device idle, per {}", report.whole_window ? "window" : "step"),
          {{"cause"},
           {"share", true},
           {"time", true},
           {"stretches", true},
           {"largest", true},
           {"where", false, true},
           {"before kernel", false, true, true}},
          {},
          {}};
  std::vector<ReportIdle> rows;
  for (const ReportIdle& i : report.idle) {
    if (i.ns > 0) rows.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  fill(t, rows, all, [&](const ReportIdle& i) {
    return std::vector<std::string>{std::string(phrase_of_idle(i.cause)),
                                    percent_text(i.share),
                                    duration_text(i.ns),
                                    std::to_string(i.count),
                                    i.largest ? duration_text(i.largest->ns) : "-",
                                    i.largest ? gap_place(report, *i.largest) : "",
                                    i.largest ? i.largest->after : ""};
  });
  return t;
}

std::string time_or_dash(int64_t ns) { return ns == 0 ? "-" : duration_text(ns); }

Table collective_table(const Report& report, bool all) {
  Table t{"COLLECTIVES",
          fmt::format("exposed time over {} of all devices", steps_word(report)),
          {{"kind"},
           {"operation"},
           {"group", false, true},
           {"bytes", true},
           {"count", true},
           {"wait", true},
           {"transfer", true},
           {"not split", true},
           {"hidden", true},
           {"GB/s", true}},
          {},
          {}};
  fill(t, report.collectives, all, [](const ReportCollective& c) {
    return std::vector<std::string>{c.kind,
                                    c.op,
                                    c.group,
                                    c.bytes ? bytes_text(*c.bytes) : "-",
                                    std::to_string(c.count),
                                    time_or_dash(c.wait_ns),
                                    time_or_dash(c.transfer_ns),
                                    time_or_dash(c.unsplit_ns),
                                    time_or_dash(c.hidden_ns),
                                    c.bus_gbps ? fmt::format("{:.1f}", *c.bus_gbps) : "-"};
  });
  return t;
}

Table kernel_table(const Report& report, bool all) {
  Table t{"TOP KERNELS",
          fmt::format("durations over {} of all devices; overlapping kernels both count",
                      steps_word(report)),
          {{"share", true},
           {"total", true},
           {"count", true},
           {"mean", true},
           {"p99", true},
           {"class"},
           {"kernel", false, true}},
          {},
          {}};
  fill(t, report.kernels, all, [](const ReportKernel& k) {
    return std::vector<std::string>{percent_text(k.share),
                                    duration_text(k.total_ns),
                                    std::to_string(k.count),
                                    duration_text(k.mean_ns),
                                    duration_text(k.p99_ns),
                                    k.unclassified ? "unknown" : k.cls,
                                    k.name};
  });
  return t;
}

Table memory_table(const Report& report) {
  Table t{"MEMORY", "", {{"what"}, {"value", true}, {"", false, true}}, {}, {}};
  if (!report.memory) return t;
  const ReportMemory& m = *report.memory;
  const std::string per = report.whole_window ? "in the window" : "per step";
  const auto row = [&](std::string what, std::string value, std::string words) {
    t.rows.push_back({std::move(what), std::move(value), std::move(words)});
  };
  if (m.peak_reserved_bytes) {
    row("peak reserved", bytes_text(*m.peak_reserved_bytes),
        m.headroom_share ? fmt::format("headroom {} of the device", percent_text(*m.headroom_share))
                         : "");
  }
  if (m.peak_allocated_bytes) {
    row("peak allocated", bytes_text(*m.peak_allocated_bytes),
        m.fragmentation_share ? fmt::format("{} of the reserved memory unused at the peak",
                                            percent_text(*m.fragmentation_share))
                              : "");
  }
  if (m.recompute_share > 0) {
    row("recompute", percent_text(m.recompute_share),
        m.recompute_estimated ? "estimated by counting kernels: a bound" : "");
  }
  if (m.offload_bytes > 0) {
    row("offload", bytes_text(m.offload_bytes),
        fmt::format("{}; exposed copies {}, idle while offloaded {}", per,
                    percent_text(m.offload_exposed_share), percent_text(m.offload_idle_share)));
  }
  if (m.alloc_share > 0)
    row("allocator stalls", percent_text(m.alloc_share),
        "device idle inside cudaMalloc, cudaFree and kin");
  if (m.h2d_bytes > 0)
    row("host to device", bytes_text(m.h2d_bytes),
        fmt::format("{}; exposed {}", per, percent_text(m.h2d_exposed_share)));
  if (m.d2h_bytes > 0)
    row("device to host", bytes_text(m.d2h_bytes),
        fmt::format("{}; exposed {}", per, percent_text(m.d2h_exposed_share)));
  if (m.pageable_copies_per_step > 0) {
    row("pageable copies", count_text(m.pageable_copies_per_step),
        fmt::format("{}, {}; exposed with their staging {}{}", per, bytes_text(m.pageable_bytes),
                    percent_text(m.pageable_exposed_share),
                    m.pageable_gbps ? fmt::format("; {:.1f} GB/s", *m.pageable_gbps) : ""));
  }
  if (m.latent_wall.value_or(0) != 0) {
    t.remarks.push_back(
        "memory is paid for through choices (recompute, small micro-batches): a latent memory "
        "wall");
  }
  return t;
}

std::string time_range(int64_t lo_ns, int64_t hi_ns) {
  const std::string lo = duration_text(lo_ns), hi = duration_text(hi_ns);
  return lo == hi ? lo : fmt::format("{} to {}", lo, hi);
}

// What the ends of an interval assume, where more than rounding lies between them.
std::string_view ends_of(std::string_view change) {
  if (change == "bubble_halved")
    return "bubble_halved: by the formula of the schedule, for twice the micro-batches of half the "
           "size and for twice the chunks per stage; least: fill and drain alone, less what the "
           "costlier of the two adds (gaps, latency and launches; hand-overs); most: all that "
           "stages "
           "wait for each other";
  if (change == "dp_overlapped")
    return "dp_overlapped: least: a bucket per layer, the last one exposed, compute a tenth slower "
           "beside the others; most: all that the pass is long enough for";
  return "";
}

// Exposed communication of which waiting and transfer can not be told apart.
double unsplit_share(const Report& report) {
  double out = 0;
  for (const ReportLeaf& leaf : report.partition)
    if (leaf.leaf.find(".unsplit") != std::string::npos) out += leaf.share;
  return out;
}

Table what_if_table(const Report& report, bool all) {
  Table t{"WHAT IF",
          "re-simulated, one change at a time; gains do not add up",
          {{"change"}, {"saves", true}, {"step", true}, {"next", false, true}},
          {},
          {}};
  std::vector<ReportWhatIf> rows;
  for (const ReportWhatIf& w : report.what_if)
    if (all || w.saved_hi_share >= 0.005) rows.push_back(w);
  fill(t, rows, all, [](const ReportWhatIf& w) {
    std::string next = w.next_loss ? std::string(phrase_of_loss(*w.next_loss)) : "";
    if (w.next_cause) next += fmt::format(" ({})", phrase_of_cause(*w.next_cause));
    return std::vector<std::string>{w.id, percent_range(w.saved_lo_share, w.saved_hi_share),
                                    time_range(w.step_lo_ns, w.step_hi_ns), next};
  });
  const ReportReplay& r = report.replay;
  if (t.rows.empty() || !r.unexplained_share) return t;
  for (const auto& row : t.rows)
    if (const std::string_view ends = ends_of(row.front()); !ends.empty())
      t.remarks.emplace_back(ends);
  t.remarks.push_back(fmt::format(
      "from {} step length{}; the dependency graph leaves {} of the step unexplained", r.steps,
      r.steps == 1 ? "" : "s", percent_text(std::max(0.0, *r.unexplained_share))));
  if (const double unsplit = unsplit_share(report); unsplit >= 0.001)
    t.remarks.push_back(fmt::format(
        "communication whose peers were not recorded takes {} of the step: the least takes it for "
        "waiting, which stays, the most for transfer",
        percent_text(unsplit)));
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
  fill(t, rows, all, [&](const Row& r) {
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

}  // namespace

std::vector<Table> detail_tables(const Report& report, bool all) {
  std::vector<Table> out;
  const auto add = [&](Table t) {
    if (!t.rows.empty()) out.push_back(std::move(t));
  };
  if (report.ranks.size() > 1) add(rank_table(report, all));
  add(across_table(report));
  add(late_table(report, all));
  add(outlier_table(report, all));
  add(what_if_table(report, all));
  add(path_table(report, all));
  add(idle_table(report, all));
  add(collective_table(report, all));
  add(kernel_table(report, all));
  add(memory_table(report));
  return out;
}

}  // namespace ws
