// Facts and findings to one Report. Each part reads its tables with plain SELECTs in a fixed order,
// so the same facts give the same bytes in every renderer.
// Tested by: report_test (build_report_test.cpp).
#include "report/build_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "report/build_parts.h"

namespace ws {
namespace {

template <class T>
T number_from(const std::string& s) {
  T v{};
  std::istringstream(s) >> v;
  return v;
}

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const size_t a = part.find_first_not_of(' ');
    if (a != std::string::npos) out.push_back(part.substr(a));
  }
  return out;
}

// Facts keep bare clauses; a report prints sentences.
std::string sentence(std::string s) {
  const std::string first = s.substr(0, s.find(' '));
  if (first.find_first_not_of("abcdefghijklmnopqrstuvwxyz'") == std::string::npos && !s.empty() &&
      s[0] != '\'') {
    s[0] = static_cast<char>(s[0] - 'a' + 'A');
  }
  if (!s.empty() && s.back() != '.') s += '.';
  return s;
}

void read_verdict(const Statement& s, Report& report) {
  ReportVerdict& v = report.verdict;
  v.kind = text_of(s, 0);
  v.loss = maybe_text(s, 1);
  v.wall = maybe_text(s, 2);
  v.cause = text_of(s, 3);
  v.confidence = text_of(s, 4);
  v.share_lo = maybe_real(s, 5);
  v.share_hi = maybe_real(s, 6);
  v.price_lo = maybe_real(s, 7);
  v.price_hi = maybe_real(s, 8);
  v.also = maybe_text(s, 9);
  v.also_cause = maybe_text(s, 10);
  for (const std::string& rank : split_list(text_of(s, 11)))
    v.where_ranks.push_back(number_from<int64_t>(rank));
  v.where_steps = split_list(text_of(s, 12));
}

Result<void> read_config(const Database& db, Report& report) {
  return each_row(db, "SELECT * FROM fact_config", [&](const Statement& s) {
    bool other_run = false;  // then the row has nothing of the file
    std::string against = ", ";
    for (int i = 0; i < s.column_count(); ++i)
      if (s.column_name(i) == std::string_view("contradicted")) against += s.text(i);
    for (int i = 0; i < s.column_count(); ++i)
      other_run |= s.column_name(i) == std::string_view("sizes_contradicted") && s.int64(i) != 0;
    for (int i = 0; i < s.column_count(); ++i) {
      const std::string_view name = s.column_name(i);
      const bool of_the_file = name == "given" || name == "contradicted" || name == "denied" ||
                               name == "sizes_contradicted";
      if (name == "given") report.run.config_given = s.int64(i) != 0 && !other_run;
      const std::string text = text_of(s, i);
      if (against.find(fmt::format(", {} {} against ", name, text)) != std::string::npos) continue;
      if (!s.is_null(i) && !of_the_file) report.run.config.emplace_back(s.column_name(i), text);
    }
  });
}

Result<void> read_throughput(const Database& db, Report& report) {
  return each_row(db,
                  "SELECT tokens_per_step, tokens_per_s_per_gpu, tflops_per_gpu, peak_tflops, "
                  "peak_precision, mfu FROM fact_throughput WHERE tokens_per_s_per_gpu IS NOT NULL",
                  [&](const Statement& s) {
                    report.run.throughput =
                        ReportThroughput{s.int64(0),       s.real(1),        maybe_real(s, 2),
                                         maybe_real(s, 3), maybe_real(s, 5), maybe_text(s, 4)};
                  });
}

Result<void> read_recorder(const Database& db, Report& report) {
  return each_row(db,
                  "SELECT rank, writer_share, tool_share, slowdown_share, bare_step_ns, "
                  "recorded_step_ns FROM fact_recorder WHERE window_ns IS NOT NULL ORDER BY "
                  "coalesce(slowdown_share, -1) DESC, coalesce(writer_share, 0) DESC, rank LIMIT 1",
                  [&](const Statement& s) {
                    report.run.recorder =
                        ReportRecorder{s.int64(0),       maybe_real(s, 1), maybe_real(s, 2),
                                       maybe_real(s, 3), s.maybe_int64(4), s.maybe_int64(5)};
                  });
}

Result<void> read_sources(const Database& db, Report& report) {
  return each_row(
      db, "SELECT path, format, tool_version, rank FROM fact_source ORDER BY rank, path, rowid",
      [&](const Statement& s) {
        report.run.sources.push_back({text_of(s, 0), text_of(s, 1), maybe_text(s, 2), s.int64(3)});
      });
}

}  // namespace

Result<void> read_run(const Database& db, Report& report) {
  bool found = false;
  auto ok = each_row(
      db,
      "SELECT id, tool_version, rank_count, device_count, world_size, single_rank_of_job, gpu, "
      "gpu_memory_bytes, platform, framework, selection, step_origin, step_window, step_count, "
      "steady_count, step_mean_ns, step_median_ns, step_min_ns, step_max_ns, step_spread_share, "
      "critical_rank, opaque_share FROM fact_run",
      [&](const Statement& s) {
        found = true;
        ReportRun& r = report.run;
        r.id = text_of(s, 0);
        r.tool_version = text_of(s, 1);
        r.rank_count = s.int64(2);
        r.device_count = s.int64(3);
        r.world_size = s.maybe_int64(4);
        r.single_rank_of_job = s.int64(5) != 0;
        r.gpu = maybe_text(s, 6);
        r.gpu_memory_bytes = s.maybe_int64(7);
        r.platform = maybe_text(s, 8);
        r.framework = maybe_text(s, 9);
        r.selection = maybe_text(s, 10);
        ReportSteps& t = report.steps;
        t.origin = text_of(s, 11);
        t.window = text_of(s, 12);
        t.count = s.int64(13);
        t.steady = s.int64(14);
        t.mean_ns = s.maybe_int64(15);
        t.median_ns = s.maybe_int64(16);
        t.min_ns = s.maybe_int64(17);
        t.max_ns = s.maybe_int64(18);
        t.spread_share = maybe_real(s, 19);
        t.critical_rank = s.maybe_int64(20);
        report.opaque_share = s.real(21);
      });
  if (!ok) return ok;
  if (!found) return fact_error("expected one row in fact_run, found none");
  report.whole_window = report.steps.count == 0;
  ok = each_row(db,
                "SELECT verdict_kind, loss, wall, cause, confidence, share_lo, share_hi, price_lo, "
                "price_hi, also, also_cause, where_ranks, where_steps FROM fact_run",
                [&](const Statement& s) { read_verdict(s, report); });
  if (!ok) return ok;
  if (ok = read_config(db, report); !ok) return ok;
  if (ok = read_throughput(db, report); !ok) return ok;
  if (ok = read_recorder(db, report); !ok) return ok;
  return read_sources(db, report);
}

Result<void> read_notes(const Database& db, Report& report) {
  auto ok = each_row(
      db, "SELECT kind, text FROM fact_verdict_text ORDER BY kind, position, rowid",
      [&](const Statement& s) {
        auto& list = s.text(0) == "why" ? report.verdict.why : report.verdict.missing;
        list.push_back(&list == &report.verdict.why ? sentence(text_of(s, 1)) : text_of(s, 1));
      });
  if (!ok) return ok;
  return each_row(db,
                  "SELECT code, severity, count, first_place, text, advice FROM fact_note ORDER BY "
                  "CASE severity "
                  "WHEN 'data_loss' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, rowid",
                  [&](const Statement& s) {
                    report.notes.push_back({text_of(s, 0), text_of(s, 1), text_of(s, 3),
                                            text_of(s, 4), text_of(s, 5), s.int64(2)});
                  });
}

Result<Report> build_report(const FactDb& facts, const std::vector<Finding>& findings) {
  Report report;
  for (const auto part : {read_run, read_steps, read_tables, read_notes}) {
    if (auto ok = part(facts.db(), report); !ok) return ok.error();
  }
  add_where_table(report);
  add_headline(report);
  report.run.frameworks = frameworks_of(facts);
  report.run.supply = supply_of(facts, findings);
  add_findings(findings, report);
  return report;
}

}  // namespace ws
