// Tested by: report_test (text_test.cpp, renderers_agree_test.cpp).
#include "report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "report/across_tables.h"
#include "report/numbers.h"
#include "report/phrases.h"
#include "report/replay_tables.h"
#include "report/table_rows.h"

namespace ws {
namespace {

int64_t group_ns(const LeafTimes& leaves, WhereGroup group, bool idle_only = false) {
  int64_t sum = 0;
  for (const auto& [leaf, ns] : leaves) {
    if (idle_only && leaf.rfind("idle.", 0) != 0) continue;
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
    const int64_t moved = std::clamp<int64_t>(left, 0, group_ns(rank.partition, g, true));
    out[g] = -moved;
    out[WhereGroup::bubble] += moved;
    left -= moved;
  }
  return out;
}

std::string brief_name(WhereGroup group) {
  if (group == WhereGroup::communication) return "comm";
  if (group == WhereGroup::imbalance) return "imbal.";
  return group == WhereGroup::unexplained ? "unknown" : "";
}

Table rank_table(const Report& report, bool all) {
  std::vector<ReportRank> rows = report.ranks;
  const auto any = [&](auto holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  const bool late = any([](const ReportRank& r) { return r.late_ns.has_value(); });
  const bool waited_for = any([&](const ReportRank& r) {  // jitter is no waiting
    return 200 * r.late_ns.value_or(0) > report.steps.mean_ns.value_or(0);
  });
  const bool named = any([](const ReportRank& r) { return !r.host.empty(); });
  Table t{"RANKS",
          fmt::format("{}{}, {}slowest first, then most compute",
                      report.steps.steady > 1 && !report.whole_window ? "mean over " : "",
                      steps_word(report), waited_for ? "most late first, then " : ""),
          {{"rank", true}, {"device", true}},
          {},
          {}};
  if (named) t.columns.push_back({"host", false, true});
  const auto key = [&](const ReportRank& r) {
    return std::tuple(waited_for ? r.late_ns.value_or(0) : 0, r.step_mean_ns.value_or(0),
                      group_ns(r.partition, WhereGroup::compute));
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& x, const auto& y) { return key(x) > key(y); });
  int64_t longest = 0;
  for (const ReportRank& r : rows) longest = std::max(longest, r.step_mean_ns.value_or(0));
  const TimeUnit unit = unit_for(longest);
  t.columns.push_back({unit.name, true});
  std::vector<WhereGroup> groups;
  for (const WhereRow& w : report.where.rows) {
    for (const LeafPhrase& p : leaf_phrases()) {
      if (name_of(p.group) == w.group) {
        groups.push_back(p.group);
        t.columns.push_back({w.group, true, false, false, brief_name(p.group)});
        break;
      }
    }
  }
  if (late) t.columns.push_back({"late", true});
  fill(t, rows, all, "the first in this order", [&](const ReportRank& r) {
    std::vector<std::string> cells = {std::to_string(r.rank), std::to_string(r.device)};
    if (named) cells.push_back(r.host.empty() ? "-" : r.host);
    cells.push_back(r.step_mean_ns ? in_unit(*r.step_mean_ns, unit) : "-");
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

std::string to_median(double ratio) {
  constexpr double kMultiple = 3;  // from here on a percentage says less than a multiple
  return ratio < kMultiple ? fmt::format("{:+.1f} %", (ratio - 1) * 100)
                           : fmt::format("{:.1f} x", ratio);
}

Table outlier_table(const Report& report, bool all) {
  Table t{"OUTLIERS",
          "",
          {{"rank", true},
           {"step", false, true},
           {"length", true},
           {"to median", true},
           {"largest difference", false, true}},
          {},
          {}};
  std::vector<ReportStep> rows;
  for (const ReportStep& s : report.steps.rows) {
    if (s.outlier) rows.push_back(s);
  }
  std::set<int64_t> steps, out;
  std::set<std::pair<int64_t, int64_t>> devices, with;
  for (const ReportStep& s : report.steps.rows) {
    steps.insert(s.index);
    devices.emplace(s.rank, s.device);
    if (!s.outlier) continue;
    out.insert(s.index);
    with.emplace(s.rank, s.device);
  }
  t.caption = fmt::format(
      "{} of {} recorded steps{}: those that stand out from the spread of the others", out.size(),
      steps.size(),
      devices.size() > 1 ? fmt::format(", on {} of {} GPUs", with.size(), devices.size()) : "");
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.end_ns - a.begin_ns > b.end_ns - b.begin_ns;
  });
  const auto median = static_cast<double>(report.steps.median_ns.value_or(0));
  fill(t, rows, all, "the longest", [&](const ReportStep& s) {
    const auto length = static_cast<double>(s.end_ns - s.begin_ns);
    return std::vector<std::string>{
        std::to_string(s.rank), s.name, duration_text(s.end_ns - s.begin_ns),
        median > 0 ? to_median(length / median) : "-", s.note.value_or("")};
  });
  return t;
}

// Which ranks and devices there are decides what it takes to find a place again.
struct Places {
  bool ranks = false, devices = false;
};
Places places_of(const Report& report) {
  Places out;
  for (size_t i = 1; i < report.ranks.size(); ++i) {  // sorted by rank
    const bool same = report.ranks[i].rank == report.ranks[i - 1].rank;
    out.ranks = out.ranks || !same;
    out.devices = out.devices || same;
  }
  return out;
}

// The table above counts some idle time under other groups than the host's; where it does, the sums
// of the two tables differ by just that.
std::string idle_told_elsewhere(const Report& report) {
  std::string parts;
  int64_t idle = 0, elsewhere = 0;
  for (const WhereRow& row : report.where.rows) {
    idle += row.idle_ns;
    if (row.group == name_of(WhereGroup::host)) continue;
    elsewhere += row.idle_ns;
    if (row.idle_ns * 2000 < report.where.sum_ns) continue;  // would print as 0.0 %
    parts += fmt::format("{}{} under {}", parts.empty() ? "" : ", ", duration_text(row.idle_ns),
                         row.group);
  }
  if (parts.empty()) return "";
  if (idle > elsewhere) parts += fmt::format(", {} under host", duration_text(idle - elsewhere));
  return fmt::format("of these {}, the table of the {} has {}", duration_text(idle),
                     report.whole_window ? "window" : "step", parts);
}

Table idle_table(const Report& report, bool all) {
  Table t{"IDLE TIME BY CAUSE",
          fmt::format("device idle, per {}; how often, the largest stretch and where it is",
                      report.whole_window ? "window" : "step"),
          {{"cause"}, {"share", true}, {"time", true}, {"count", true}, {"largest", true}},
          {},
          {}};
  const Places places = places_of(report);
  if (places.ranks) t.columns.push_back({"rank", true});
  if (places.devices) t.columns.push_back({"device", true});
  if (!report.whole_window) t.columns.push_back({"in step", false, true});
  t.columns.push_back({report.whole_window ? "after" : "at", true});
  t.columns.push_back({"before kernel", false, true, true});
  std::vector<ReportIdle> rows;
  for (const ReportIdle& i : report.idle) {
    if (i.ns > 0) rows.push_back(i);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.ns > b.ns; });
  fill(t, rows, all, "those of most time", [&](const ReportIdle& i) {
    std::vector<std::string> cells = {std::string(phrase_of_idle(i.cause)), percent_text(i.share),
                                      duration_text(i.ns), std::to_string(i.count),
                                      i.largest ? duration_text(i.largest->ns) : "-"};
    const ReportGap gap = i.largest.value_or(ReportGap{});
    if (places.ranks) cells.push_back(i.largest ? std::to_string(gap.rank) : "");
    if (places.devices) cells.push_back(gap.device ? std::to_string(*gap.device) : "");
    if (!report.whole_window) cells.push_back(gap.step);
    cells.push_back(gap.step.empty() ? "" : "+ " + duration_text(gap.since_step_begin_ns));
    cells.push_back(gap.after);
    return cells;
  });
  if (!t.rows.empty()) {
    if (const std::string told = idle_told_elsewhere(report); !told.empty())
      t.remarks.push_back(told);
  }
  return t;
}

// What no row has takes no room.
void drop_empty_columns(Table& t) {
  for (size_t i = t.columns.size(); i-- > 0;) {
    if (!std::all_of(t.rows.begin(), t.rows.end(), [&](const auto& row) { return row[i] == "-"; }))
      continue;
    t.columns.erase(t.columns.begin() + static_cast<std::ptrdiff_t>(i));
    for (auto& row : t.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
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
           {"bus GB/s", true}},
          {},
          {}};
  fill(t, report.collectives, all, "those of most exposed time", [](const ReportCollective& c) {
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
  drop_empty_columns(t);
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
  fill(t, report.kernels, all, "those of most time", [](const ReportKernel& k) {
    return std::vector<std::string>{
        percent_text(k.share),
        duration_text(k.total_ns),
        std::to_string(k.count),
        duration_text(k.mean_ns),
        duration_text(k.p99_ns),
        k.unclassified ? "unknown" : std::string(phrase_of_class(k.cls)),
        k.name};
  });
  return t;
}

// "19.8 ms at 12.9 GB/s".
std::string copy_words(const ReportCopies& c) {
  return c.gbps ? fmt::format("{} at {}", duration_text(c.busy_ns), gbps_text(*c.gbps)) : "";
}

// Of pinned copies alone: others are slow for another reason than the link.
std::string link_words(const ReportMemory& m) {
  constexpr double kFarBelow = 0.5;  // as rules that speak of it
  if (!m.pinned_link_share) return "";
  return fmt::format("{} of the link's {:.0f} GB/s{}", percent_text(*m.pinned_link_share),
                     *m.host_link_gbps,
                     *m.pinned_link_share < kFarBelow ? ": far NUMA node or shared link" : "");
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
  const auto noted = [&](std::string_view code) {
    return std::any_of(report.notes.begin(), report.notes.end(),
                       [&](const ReportNote& n) { return n.code == code; });
  };
  if (m.recompute_share > 0) {
    row("recompute", percent_text(m.recompute_share),
        m.recompute_estimated ? "estimated by counting kernels: a bound"
        : noted("recompute_inferred")
            ? "told by forward operators in the backward pass, not by a range"
            : "launched inside ranges that name it");
  }
  if (m.offload_bytes > 0) {
    row("offload", bytes_text(m.offload_bytes),
        fmt::format("{}; exposed copies {}, idle while offloaded {}", per,
                    percent_text(m.offload_exposed_share), percent_text(m.offload_idle_share)));
  }
  if (m.alloc_share > 0)
    row("allocator stalls", percent_text(m.alloc_share),
        "device idle inside calls that allocate or free its memory");
  // Bytes are of all copies; what offload exposes stands in its own row.
  const auto direction = [&](double exposed) {
    return m.offload_bytes > 0 ? fmt::format("{} with offload; exposed of other copies {}", per,
                                             percent_text(exposed))
                               : fmt::format("{}; exposed {}", per, percent_text(exposed));
  };
  const auto rates = [&](std::string_view way, const char* where) {
    for (const ReportCopies& c : m.copies) {
      if (c.direction == way && c.bytes > 0)
        row(where + (c.host_memory.empty() ? std::string("memory not told") : c.host_memory),
            bytes_text(c.bytes), copy_words(c));
    }
  };
  if (m.h2d_bytes > 0)
    row("host to device", bytes_text(m.h2d_bytes), direction(m.h2d_exposed_share));
  rates("h2d", "to device, ");
  if (m.d2h_bytes > 0)
    row("device to host", bytes_text(m.d2h_bytes), direction(m.d2h_exposed_share));
  rates("d2h", "to host, ");
  for (const ReportCopies& c : m.copies) {
    if (c.direction == "peer" && c.bytes > 0)
      row("between devices", bytes_text(c.bytes), fmt::format("{}; {}", per, copy_words(c)));
  }
  if (m.pinned_gbps)
    row(report.ranks.size() > 1 ? "slowest pinned copies" : "large pinned copies",
        gbps_text(*m.pinned_gbps), link_words(m));
  if (m.pageable_copies_per_step > 0) {
    row("pageable copies", count_text(m.pageable_copies_per_step),
        fmt::format("{}, {}; exposed with their staging {}{}", per, bytes_text(m.pageable_bytes),
                    percent_text(m.pageable_exposed_share),
                    m.pageable_gbps ? "; " + gbps_text(*m.pageable_gbps) : ""));
  }
  if (m.latent_wall.value_or(0) != 0 && !t.rows.empty()) {
    t.remarks.push_back(
        "memory is paid for through choices (recompute, small micro-batches): a latent memory "
        "wall");
  }
  return t;
}

}  // namespace

std::vector<Table> detail_tables(const Report& report, bool all) {
  std::vector<Table> out;
  const auto add = [&](Table t) {
    if (!t.rows.empty() || !t.remarks.empty()) out.push_back(std::move(t));
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
