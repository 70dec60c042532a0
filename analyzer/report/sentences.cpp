// One-line summaries that text and Markdown share.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <set>

#include "report/fact_words.h"
#include "report/numbers.h"
#include "report/phrases.h"
#include "report/tables.h"

namespace ws {
namespace {

constexpr double kAllOfIt = 0.98;  // a gain that leaves no step worth naming

std::string counted(int64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string ranks_words(const ReportRun& run) {
  std::string out = counted(run.rank_count, "rank");
  if (run.world_size && *run.world_size > run.rank_count)
    out += fmt::format(" of {}", *run.world_size);
  return out;
}

std::string short_gpu(const std::string& name) {
  return name.rfind("NVIDIA ", 0) == 0 ? name.substr(7) : name;
}

std::string formats_words(const ReportRun& run) {
  std::set<std::string> names;
  for (const ReportSource& s : run.sources) names.insert(std::string(phrase_of_format(s.format)));
  std::string out;
  for (const std::string& n : names) out += out.empty() ? n : " and " + n;
  return out;
}

std::string steps_words(const Report& report) {
  const ReportSteps& s = report.steps;
  if (!s.mean_ns) return "no steps";
  if (report.whole_window)
    return fmt::format("one window of {}, not a step", duration_text(*s.mean_ns));
  const bool called_steady = report.verdict.kind != "insufficient" && s.count > 1;
  std::string out =
      fmt::format("{} of {}", counted(s.steady, called_steady ? "steady step" : "step"),
                  duration_text(*s.mean_ns));
  // A few long steps move the mean away from what a step takes.
  if (s.median_ns && 20 * std::abs(*s.mean_ns - *s.median_ns) > *s.median_ns)
    out += fmt::format(" in the mean, {} in the median", duration_text(*s.median_ns));
  if (!s.spread_share || s.steady <= 1) return out;
  if (*s.spread_share >= 1 && s.min_ns && s.max_ns)  // a multiple says less than its ends
    return out + fmt::format(", from {} to {}", duration_text(*s.min_ns), duration_text(*s.max_ns));
  out += fmt::format(" (spread {})", percent_text(*s.spread_share));
  return out;
}

// Throughput first: the denominator of the utilisation doubles with FP8, tokens do not.
std::string throughput_words(const ReportThroughput& t) {
  std::string out = fmt::format("{:.0f} tokens/s per GPU", t.tokens_per_s_per_gpu);
  if (t.tflops_per_gpu) out += fmt::format(", {:.0f} TFLOPS", *t.tflops_per_gpu);
  if (t.mfu && t.peak_precision)
    out += fmt::format(", MFU {} of {:.0f} dense {}", percent_text(*t.mfu), *t.peak_tflops,
                       *t.peak_precision);
  return out;
}

}  // namespace

std::vector<std::string> headline_of_run(const Report& report) {
  const ReportRun& run = report.run;
  std::vector<std::string> out = {ranks_words(run)};
  if (run.gpu) out.push_back(fmt::format("{} x {}", run.device_count, short_gpu(*run.gpu)));
  if (const std::string formats = formats_words(run); !formats.empty()) out.push_back(formats);
  out.push_back(steps_words(report));
  if (run.throughput) out.push_back(throughput_words(*run.throughput));
  return out;
}

std::string steps_word(const Report& report) {
  if (report.whole_window)
    return report.run.selection ? "the selected part" : "the whole recording";
  if (report.steps.steady <= 1) return "one step";
  return report.verdict.kind == "insufficient" ? "the recorded steps" : "the steady steps";
}

std::string where_caption(const Report& report) {
  const ReportSteps& s = report.steps;
  std::string out;
  if (report.whole_window) {
    out = steps_word(report) + ": one window, not a step";
  } else {
    out = (s.steady > 1 ? "mean of " : "") + steps_word(report);
  }
  if (report.run.device_count > 1) out += ", all ranks";
  if (s.critical_rank && report.ranks.size() > 1 && s.mean_ns && *s.mean_ns > 0) {
    for (const ReportRank& r : report.ranks) {
      if (r.rank != *s.critical_rank || !r.step_mean_ns) continue;
      const double excess =
          static_cast<double>(*r.step_mean_ns - *s.mean_ns) / static_cast<double>(*s.mean_ns);
      if (excess >= 0.005)
        out += fmt::format(" (slowest rank: {}, {:+.1f} %)", r.rank, excess * 100);
      break;
    }
  }
  return out;
}

std::vector<std::string> details_of(const WhereRow& row, const TimeUnit& unit) {
  std::vector<std::string> out;
  int64_t digit_ns = unit.ns;
  for (int i = 0; i < unit.decimals; ++i) digit_ns /= 10;
  for (const auto& [label, ns] : row.details) {
    // A row may give way by a digit so that the column adds up: no part is larger than it.
    const bool gives_way =
        row.details.size() == 1 || (ns + digit_ns / 2) / digit_ns > row.time_shown;
    const std::string time =
        gives_way && ns <= row.ns ? shown(row.time_shown, unit) : in_unit(ns, unit);
    if (time.find_first_not_of("0.-") == std::string::npos && row.details.size() > 1) continue;
    if (!out.empty()) out.back() += ',';
    out.push_back(fmt::format("{} {}", label, time));
  }
  return out;
}

// What is taken out where a whole group of losses is re-simulated away.
std::string without_words(std::string_view loss) {
  if (loss == "communication") return "Without the exposed communication";
  if (loss == "imbalance") return "Without the imbalance between the ranks";
  if (loss == "bubble") return "With half the bubble";
  return fmt::format("Without what {} takes", loss == "host" ? "the host" : phrase_of_loss(loss));
}

// What the verdict's loss would give back, and what comes then.
std::string price_sentence(const Report& report) {
  static constexpr std::pair<std::string_view, std::string_view> kGroups[] = {
      {"communication", "communication_zero"},
      {"memory", "memory_zero"},
      {"host", "host_zero"},
      {"imbalance", "imbalance_fixed"},
      {"bubble", "bubble_halved"}};
  std::string_view id;
  for (const auto& [loss, group] : kGroups)
    if (report.verdict.loss && *report.verdict.loss == loss) id = group;
  for (const ReportWhatIf& w : report.what_if) {
    if (w.id != id || w.saved_hi_share < 0.0005) continue;
    const std::string lo = duration_text(w.step_lo_ns), hi = duration_text(w.step_hi_ns);
    const bool some_stays = w.next_loss && *w.next_loss == *report.verdict.loss;
    std::string out =
        fmt::format("{}{}, the step takes {} ({} less)", without_words(*report.verdict.loss),
                    some_stays ? ", as far as it can be taken out" : "",
                    lo == hi ? lo : fmt::format("{} to {}", lo, hi),
                    percent_range(w.saved_lo_share, w.saved_hi_share));
    if (id == "bubble_halved") return out + ", by the formula of the schedule.";
    if (w.saved_lo_share >= kAllOfIt) return "There is next to nothing else in the step.";
    if (!w.next_loss) return out + ", re-simulated.";
    if (some_stays) return out + ", re-simulated; the next wall would be the rest of it.";
    return out + fmt::format(", re-simulated; the next wall would be {}{}.",
                             *w.next_loss == "host" ? "the host" : phrase_of_loss(*w.next_loss),
                             w.next_cause && *w.next_cause != "unknown"
                                 ? fmt::format(" ({})", phrase_of_cause(*w.next_cause))
                                 : "");
  }
  return "";
}

std::optional<std::string> recorder_line(const Report& report) {
  if (!report.run.recorder) return std::nullopt;
  const ReportRecorder& r = *report.run.recorder;
  std::vector<std::string> parts;
  if (r.slowdown_share) {
    parts.push_back(fmt::format("steps took {} while recorded and {} while not ({}{})",
                                duration_text(*r.recorded_step_ns), duration_text(*r.bare_step_ns),
                                *r.slowdown_share < 0 ? "" : "+", percent_text(*r.slowdown_share)));
  }
  if (r.writer_share)
    parts.push_back(
        fmt::format("the recorder's thread used {} of a core", percent_text(*r.writer_share)));
  if (r.tool_share)
    parts.push_back(fmt::format("CUPTI worked for {} of the time", percent_text(*r.tool_share)));
  if (parts.empty()) return std::nullopt;
  std::string out = fmt::format("{}", fmt::join(parts, "; "));
  if (report.run.rank_count > 1) out += fmt::format(" (rank {}, the most)", r.rank);
  return out;
}

namespace {

// Whether a condition or an evidence of what fires reads the setting: ".cp" but not
// ".cp_comm_type".
bool gates_a_finding(const std::string& column, const Report& report) {
  const std::string name = "." + column;
  const auto reads = [&](const std::string& sql) {
    for (size_t at = sql.find(name); at != std::string::npos; at = sql.find(name, at + 1)) {
      const size_t end = at + name.size();
      if (end == sql.size() ||
          (sql[end] != '_' && std::isalnum(static_cast<unsigned char>(sql[end])) == 0))
        return true;
    }
    return false;
  };
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const ReportFinding& r) {
    const Finding& f = r.finding;
    return f.status == FindingStatus::fires &&
           (std::any_of(f.clauses.begin(), f.clauses.end(),
                        [&](const ClauseValue& c) { return reads(c.clause); }) ||
            std::any_of(f.evidence.begin(), f.evidence.end(),
                        [&](const EvidenceValue& e) { return reads(e.expression); }));
  });
}

bool is_of_layout(const std::string& column) {
  static constexpr std::string_view kLayout[] = {
      "tp",          "pp",           "vpp",        "cp",
      "ep",          "etp",          "dp",         "gpus",
      "micro_batch", "seq_len",      "num_layers", "num_experts",
      "framework",   "global_batch", "precision",  "precisions_seen"};
  return std::find(std::begin(kLayout), std::end(kLayout), column) != std::end(kLayout);
}

// No record shows these: without a configuration the command line stated them.
bool is_stated(std::string_view column) {
  return column == "framework" || column == "framework_version" || column == "te_version" ||
         column == "torch_version";
}

std::string stated_line(const Report& report) {
  std::vector<std::string> words;
  for (const auto& [name, value] : report.run.config)
    if (!report.run.config_given && is_stated(name)) words.push_back(config_words(name, value));
  return words.empty() ? "" : fmt::format("as stated: {}", fmt::join(words, ", "));
}

// No recording shows these: a file with a model and no run was given.
bool has_model(const Report& report) {
  return std::any_of(report.run.config.begin(), report.run.config.end(), [](const auto& c) {
    return c.first == "num_layers" || c.first == "hidden_size";
  });
}

// A short list as it is; of a long one the layout and what the findings rest on, unless all is
// asked for.
std::string config_line(const Report& report, bool all) {
  constexpr size_t kFewSettings = 10, kFewLeft = 2;
  std::vector<std::string> shown, known;
  size_t left = 0;
  for (const auto& [name, value] : report.run.config) {
    const std::string words = config_words(name, value);
    const bool told = name.size() > 6 && name.substr(name.size() - 6) == "_asked";
    if (words.empty() || told) continue;  // what was asked in vain is told where it is denied
    if (!report.run.config_given && is_stated(name)) continue;
    known.push_back(words);
    if (is_of_layout(name) || gates_a_finding(name, report)) {
      shown.push_back(words);
    } else {
      ++left;
    }
  }
  if (all || known.size() <= kFewSettings || left <= kFewLeft)
    return fmt::format("{}", fmt::join(known, ", "));
  shown.push_back(fmt::format("{} more settings (--all)", left));
  return fmt::format("{}", fmt::join(shown, ", "));
}

}  // namespace

std::vector<std::string> assumption_lines(const Report& report, bool all) {
  std::vector<std::string> out;
  std::string line;
  if (!report.whole_window) {
    line = fmt::format("steps are cut by {}", phrase_of_origin(report.steps.origin));
    if (report.steps.window == "host") line += " as the host marked them (--step-window host)";
    const auto devices = static_cast<int64_t>(report.ranks.size());
    for (const auto& [reason, count] : report.steps.left_out) {
      const bool of_each = devices > 1 && count % devices == 0;
      line += fmt::format(
          "; {} left out: {}",
          of_each ? fmt::format("{} of each rank", count / devices) : std::to_string(count),
          reason);
    }
    out.push_back(line);
  }
  line = config_line(report, all);
  if (!line.empty())
    out.push_back(
        (report.run.config_given ? "configuration as given, and as recorded where that is known: "
         : has_model(report)
             ? "configuration as the recording shows it, sizes of the model from the file: "
             : "configuration as the recording shows it: ") +
        line);
  if (line = stated_line(report); !line.empty()) out.push_back(line);
  if (report.ranks.empty()) return out;
  const auto range = [&](int64_t ReportRank::*member) {
    int64_t lo = report.ranks.front().*member, hi = lo;
    for (const ReportRank& r : report.ranks) {
      lo = std::min(lo, r.*member);
      hi = std::max(hi, r.*member);
    }
    const std::string low = duration_text(lo), high = duration_text(hi);
    return low == high ? low : fmt::format("{} to {}", low, high);
  };
  out.push_back(fmt::format("launch latency {}, gap between kernels {}",
                            range(&ReportRank::launch_latency_ns),
                            range(&ReportRank::kernel_gap_ns)));
  if (const bool gains = std::any_of(report.findings.begin(), report.findings.end(),
                                     [](const ReportFinding& f) {
                                       return f.finding.status == FindingStatus::fires &&
                                              f.finding.gain_basis != "published" &&
                                              !f.gain.empty();
                                     });
      gains && report.replay.why_no_gains)
    out.emplace_back("gains are ceilings: the shares of the step that a change could remove");
  return out;
}

bool advises(const Report& report, size_t note) {
  const ReportNote& n = report.notes[note];
  if (n.advice.empty()) return false;
  return note + 1 == report.notes.size() || report.notes[note + 1].advice != n.advice;
}

std::string note_line(const ReportNote& note) {
  const std::string times = note.count == 1 ? "once" : fmt::format("{} times", note.count);
  if (!note.first_place.empty()) {
    return fmt::format("{} ({}, {} {})", note.text, times, note.count == 1 ? "at" : "first at",
                       note.first_place);
  }
  const bool of_the_run = note.text.find(": ") != std::string::npos;  // says its own numbers
  return note.count == 1 || of_the_run ? note.text : fmt::format("{} ({})", note.text, times);
}

}  // namespace ws
