// The table that proves the verdict, and the verdict in words.
//
// The table has one row per loss group and adds up twice: in ns (by construction: every leaf is in
// one group) and in what is printed (rounded_parts). Idle of an offload round trip has host
// leaves but is the memory group's (ALGORITHMS 4): it moves between the two rows, the sum stays.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/build_parts.h"
#include "report/numbers.h"
#include "report/phrases.h"

namespace ws {
namespace {

void add_detail(WhereRow& row, std::string_view label, int64_t ns) {
  if (ns == 0) return;
  row.ns += ns;
  const auto it = std::find_if(row.details.begin(), row.details.end(),
                               [&](const auto& d) { return d.first == label; });
  if (it != row.details.end()) {
    it->second += ns;
  } else {
    row.details.emplace_back(label, ns);
  }
}

void add_idle_detail(WhereRow& row, std::string_view label, int64_t ns) {
  add_detail(row, label, ns);
  row.idle_ns += ns;
}

std::string_view where_of_loss(const std::string& loss) {
  if (loss == "useful") return name_of(WhereGroup::compute);
  return loss;  // the other groups are called after their loss
}

bool always_shown(const WhereRow& row) {
  return row.group == name_of(WhereGroup::compute) ||
         row.group == name_of(WhereGroup::communication) ||
         row.group == name_of(WhereGroup::memory) || row.group == name_of(WhereGroup::host);
}

// Rows that sentences speak of, or findings on memory that is paid for through choices, are rounded
// as they are there.
std::vector<bool> spoken_of(const Report& report) {
  const WhereTable& table = report.where;
  const ReportVerdict& v = report.verdict;
  const bool latent = report.memory && report.memory->latent_wall == 1;
  std::vector<bool> out;
  size_t largest = table.rows.size();
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const WhereRow& row = table.rows[i];
    out.push_back((v.loss && row.group == where_of_loss(*v.loss)) ||
                  (v.also && row.group == where_of_loss(*v.also)) ||
                  (latent && row.group == name_of(WhereGroup::memory)));
    const bool other =
        row.group != name_of(WhereGroup::compute) && row.group != name_of(WhereGroup::unexplained);
    if (other && (largest == table.rows.size() || row.ns > table.rows[largest].ns)) largest = i;
  }
  if (v.kind == "none" && largest < out.size()) out[largest] = true;  // "the largest is ..."
  return out;
}

void print_columns(Report& report) {
  WhereTable& table = report.where;
  table.unit = unit_for(table.sum_ns);
  int64_t digit_ns = table.unit.ns;
  for (int i = 0; i < table.unit.decimals; ++i) digit_ns /= 10;
  table.sum_shown = (table.sum_ns + digit_ns / 2) / digit_ns;
  std::vector<int64_t> ns;
  for (const WhereRow& row : table.rows) ns.push_back(row.ns);
  const std::vector<bool> keep = spoken_of(report);
  const auto shares = rounded_parts(ns, 1000, keep);
  const auto times = rounded_parts(ns, table.sum_shown, keep, digit_ns);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    table.rows[i].share_tenths = shares[i];
    table.rows[i].time_shown = times[i];
  }
}

bool is_idle(std::string_view label) {
  const auto& all = leaf_phrases();
  return std::any_of(all.begin(), all.end(), [&](const LeafPhrase& p) {
    return p.label == label && p.leaf.substr(0, 5) == "idle.";
  });
}

// Which of the host's idle parts an offload round trip covers is not known by the ns: waiting for
// the copy first, then what the host computes, then the rest.
void take_offload_idle(WhereRow& host, int64_t ns) {
  host.ns -= ns;
  host.idle_ns -= ns;
  for (const std::string_view leaf : {"idle.sync", "idle.host", "idle.launch", "idle.kernel_gap"}) {
    const LeafPhrase* p = phrase_of_leaf(leaf);
    for (auto& [label, part] : host.details) {
      if (p == nullptr || label != p->label) continue;
      const int64_t taken = std::min(ns, part);
      part -= taken;
      ns -= taken;
    }
  }
  for (auto& [label, part] : host.details) {
    if (!is_idle(label)) continue;
    const int64_t taken = std::min(ns, part);
    part -= taken;
    ns -= taken;
  }
  host.details.erase(std::remove_if(host.details.begin(), host.details.end(),
                                    [](const auto& d) { return d.second == 0; }),
                     host.details.end());
}

std::string step_word(const Report& report) { return report.whole_window ? "window" : "step"; }

// "on ranks 2, 3 in ProfilerStep#7", "" for everybody always.
std::string where_words(const ReportVerdict& v) {
  std::string out;
  for (size_t i = 0; i < v.where_ranks.size(); ++i) {
    out += i > 0 ? ", " : v.where_ranks.size() > 1 ? " on ranks " : " on rank ";
    out += std::to_string(v.where_ranks[i]);
  }
  for (size_t i = 0; i < v.where_steps.size(); ++i) {
    out += i > 0 ? ", " : " in ";
    out += v.where_steps[i];
  }
  return out;
}

// The share is the whole group's, the cause is what leads in it.
std::string taker_of(const std::string& loss) {
  if (loss == "host") return "the host";
  if (loss == "bubble") return "the pipeline bubble";
  return std::string(phrase_of_loss(loss));
}

std::string share_words(const Report& report, std::optional<double> lo, std::optional<double> hi) {
  if (!lo || !hi) return "";
  return fmt::format("{} of the {}", percent_range(*lo, *hi), step_word(report));
}

// Without a cause, the largest part of the lost time says at least where to look.
std::string cause_words(const Report& report) {
  const ReportVerdict& v = report.verdict;
  std::string cause(phrase_of_cause(v.cause));
  if (v.cause != "unknown") return cause;
  if (v.kind == "insufficient") return "too much of the step is not explained";
  if (v.loss == "communication") return "collectives of unknown groups";
  for (const WhereRow& row : report.where.rows) {
    if (!v.loss || row.group != phrase_of_loss(*v.loss) || row.details.empty()) continue;
    // Two of much the same size are named both: which is the larger may be a matter of who is
    // charged for the time they share.
    const bool both =
        row.details.size() > 1 && 2 * row.details[1].second >= row.details.front().second;
    return fmt::format("{}{} ({})", row.details.front().first,
                       both ? " and " + row.details[1].first : "", cause);
  }
  return cause;
}

const ReportLoss* loss_of(const Report& report, const std::string& loss) {
  for (const ReportLoss& l : report.losses) {
    if (l.loss == loss) return &l;
  }
  return nullptr;
}

std::string group_words(const Report& report, const std::string& loss, const std::string& cause) {
  const ReportLoss* l = loss_of(report, loss);
  const std::string share = l != nullptr ? ", " + percent_range(l->lo_share, l->hi_share) : "";
  return fmt::format("{} ({}{})", phrase_of_loss(loss), phrase_of_cause(cause), share);
}

std::string_view kind_of_cause(std::string_view cause) {
  static constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"ep_all_to_all", "ep"}, {"tp_collective", "tp"}, {"dp_gradient", "dp"},
      {"dp_parameter", "dp"},  {"cp_exchange", "cp"},   {"pp_transfer", "pp"}};
  for (const auto& [name, kind] : kKinds)
    if (cause == name) return kind;
  return "other";
}

// Does no other communication lie bare? The share in the headline is that of all of it.
bool is_all_of_it(const Report& report, const std::string& cause) {
  int64_t own = 0, all = 0;
  for (const ReportCollective& c : report.collectives) {
    const int64_t exposed = c.wait_ns + c.transfer_ns + c.unsplit_ns;
    const bool parameter = c.op == "all_gather" || c.op == "broadcast";
    all += exposed;
    if (c.kind != "dp" || cause == (parameter ? "dp_parameter" : "dp_gradient"))
      own += c.kind == kind_of_cause(cause) ? exposed : 0;
  }
  return own == all;
}

// Communication against imbalance with next to nothing proven of either: the peers were not
// recorded or not matched.
bool is_unsplit(const Report& report) {
  const ReportVerdict& v = report.verdict;
  if (v.loss != "communication" || v.also != "imbalance") return false;
  const ReportLoss* a = loss_of(report, *v.loss);
  const ReportLoss* b = loss_of(report, *v.also);
  return a != nullptr && b != nullptr && a->lo_share < 0.1 * a->hi_share &&
         b->lo_share < 0.1 * b->hi_share;
}

// Idle time that is told under another group leaves the largest idle parts of this one.
void take_largest_idle(WhereRow& row, int64_t ns) {
  row.ns -= ns;
  row.idle_ns -= ns;
  std::stable_sort(row.details.begin(), row.details.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (auto& [label, part] : row.details) {
    if (!is_idle(label)) continue;
    const int64_t taken = std::min(part, ns);
    part -= taken;
    ns -= taken;
  }
  row.details.erase(std::remove_if(row.details.begin(), row.details.end(),
                                   [](const auto& d) { return d.second == 0; }),
                    row.details.end());
}

// Whole graphs count as compute and hold what was not recorded: communication and copies as well.
void tell_graphs_apart(WhereRow& compute, double share, int64_t step_ns) {
  const LeafPhrase* p = phrase_of_leaf("compute_other");
  const auto it = std::find_if(compute.details.begin(), compute.details.end(),
                               [&](const auto& d) { return p != nullptr && d.first == p->label; });
  if (it == compute.details.end()) return;
  const int64_t opaque =
      std::clamp<int64_t>(std::llround(share * static_cast<double>(step_ns)), 0, it->second);
  it->second -= opaque;
  if (it->second == 0) compute.details.erase(it);
  if (opaque > 0) compute.details.emplace_back("CUDA graphs, contents not recorded", opaque);
}

}  // namespace

void add_where_table(Report& report) {
  constexpr size_t kGroups = static_cast<size_t>(WhereGroup::unexplained) + 1;
  std::vector<WhereRow> rows(kGroups);
  for (size_t i = 0; i < kGroups; ++i) rows[i].group = name_of(static_cast<WhereGroup>(i));
  WhereTable& table = report.where;
  for (const ReportLeaf& leaf : report.partition) {
    const LeafPhrase* p = phrase_of_leaf(leaf.leaf);
    const WhereGroup group = p != nullptr ? p->group : WhereGroup::unexplained;
    WhereRow& row = rows[static_cast<size_t>(group)];
    add_detail(row, p != nullptr ? p->label : std::string_view(leaf.leaf), leaf.ns);
    if (leaf.leaf.rfind("idle.", 0) == 0) row.idle_ns += leaf.ns;
    table.sum_ns += leaf.ns;
  }
  tell_graphs_apart(rows[static_cast<size_t>(WhereGroup::compute)], report.opaque_share,
                    table.sum_ns);
  if (report.memory && report.memory->offload_idle_share > 0) {
    WhereRow& host = rows[static_cast<size_t>(WhereGroup::host)];
    const auto wanted =
        std::llround(report.memory->offload_idle_share * static_cast<double>(table.sum_ns));
    const int64_t moved = std::clamp<int64_t>(wanted, 0, host.idle_ns);
    take_offload_idle(host, moved);
    add_idle_detail(rows[static_cast<size_t>(WhereGroup::memory)], "idle while offloaded", moved);
  }
  if (report.across && report.across->stage_idle_share.value_or(0) > 0) {
    auto left = std::llround(*report.across->stage_idle_share * static_cast<double>(table.sum_ns));
    for (const WhereGroup group : {WhereGroup::host, WhereGroup::unexplained}) {
      WhereRow& row = rows[static_cast<size_t>(group)];
      const int64_t moved = std::clamp<int64_t>(left, 0, row.idle_ns);
      if (moved == 0) continue;
      take_largest_idle(row, moved);
      add_idle_detail(rows[static_cast<size_t>(WhereGroup::bubble)], "idle at a stage's edge",
                      moved);
      left -= moved;
    }
  }
  for (WhereRow& row : rows) {
    std::stable_sort(row.details.begin(), row.details.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (row.ns != 0 || always_shown(row)) table.rows.push_back(std::move(row));
  }
  print_columns(report);
}

void add_headline(Report& report) {
  ReportVerdict& v = report.verdict;
  const std::string cause = cause_words(report);
  if (v.kind == "insufficient") {
    const bool no_step = v.cause == "too_few_steps" && report.whole_window;
    v.headline =
        fmt::format("not enough evidence: {}", no_step ? "no complete step was found" : cause);
    return;
  }
  if (v.kind == "mixed" && is_unsplit(report)) {
    v.headline = fmt::format(
        "exposed communication takes {} of the {}{}, {}{}; transfer or waiting for late ranks, one "
        "can not tell",
        percent_text(loss_of(report, *v.loss)->hi_share), step_word(report), where_words(v),
        is_all_of_it(report, v.cause) ? "all of it " : "mostly ", cause);
    return;
  }
  if (v.kind == "mixed" && v.loss && v.also) {
    v.headline =
        fmt::format("no single wall: {} and {}{}", group_words(report, *v.loss, v.cause),
                    group_words(report, *v.also, v.also_cause.value_or("unknown")), where_words(v));
    return;
  }
  std::string share = share_words(report, v.share_lo, v.share_hi);
  if (!share.empty()) share = fmt::format("; {} takes {}", taker_of(v.loss.value_or("")), share);
  if (v.kind == "none") {
    v.headline = fmt::format("no wall: compute bound by {}{}", cause, share);
    return;
  }
  v.headline =
      fmt::format("{}: {}{}{}", phrase_of_wall(v.wall.value_or("")), cause, where_words(v), share);
}

}  // namespace ws
