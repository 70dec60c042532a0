// Tested by: run_builder_test.cpp
#include "analysis/run_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "analysis/counted_steps.h"
#include "analysis/one_run.h"
#include "analysis/run_evidence.h"
#include "base/text.h"
#include "model/framework_names.h"

namespace ws {
namespace {

// Ranks that a file states stay; the rest take the free numbers in order.
void number_ranks(std::vector<RankAnalysis>& ranks, Notes& notes) {
  std::set<int32_t> taken;
  std::vector<size_t> open, clashing;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].rank_source == RankSource::order)
      open.push_back(i);
    else if (!taken.insert(ranks[i].rank).second)
      clashing.push_back(i);
  }
  int32_t next = 0;
  const auto free_number = [&] {
    while (taken.count(next) > 0) ++next;
    taken.insert(next);
    return next;
  };
  for (size_t i : open) ranks[i].rank = free_number();
  for (size_t i : clashing) {
    const int32_t claimed = ranks[i].rank;
    ranks[i].rank = free_number();
    notes.add(NoteCode::two_files_one_rank, file_of(ranks[i].path), 1,
              fmt::format("{} claims rank {} again and is shown as rank {}", file_of(ranks[i].path),
                          claimed, ranks[i].rank));
  }
  if (!open.empty()) notes.add(NoteCode::rank_unknown, {}, static_cast<int64_t>(open.size()));
  std::stable_sort(ranks.begin(), ranks.end(),
                   [](const RankAnalysis& a, const RankAnalysis& b) { return a.rank < b.rank; });
}

// Hosts are numbered per file; the run numbers them by name, in order of rank.
void number_hosts(std::vector<RankAnalysis>& ranks) {
  std::map<std::string, int32_t> by_name;
  int32_t unnamed = -1, next = 0;
  for (RankAnalysis& rank : ranks) {
    if (rank.host_name.empty()) {
      if (unnamed < 0) unnamed = next++;
      rank.host = unnamed;
      continue;
    }
    const auto [it, fresh] = by_name.try_emplace(rank.host_name, next);
    if (fresh) ++next;
    rank.host = it->second;
  }
}

// Who said which rank it is, and which kinds of records a file lacks altogether.
void note_sources(const RankAnalysis& rank, Notes& notes) {
  const std::string file(file_of(rank.path));
  if (rank.rank_source == RankSource::file_name) notes.add(NoteCode::rank_from_file_name, file);
  if (rank.rank_source == RankSource::environment) notes.add(NoteCode::rank_from_environment, file);
  const bool device_records = std::any_of(rank.devices.begin(), rank.devices.end(),
                                          [](const DeviceAnalysis& d) { return d.ops > 0; });
  if (device_records && !rank.has_api_records) notes.add(NoteCode::missing_api_records, file);
  if (device_records && !rank.has_host_ranges) notes.add(NoteCode::no_host_ranges, file);
}

void note_drift(const CrossRank& cross, Notes& notes) {
  double fastest = 0;
  int64_t ranks = 0;
  for (const ClockDrift& drift : cross.drifts) {
    fastest = std::max(fastest, std::abs(drift.rate));
    ranks += drift.rate != 0 ? 1 : 0;
  }
  if (ranks > 0)
    notes.add(NoteCode::clock_drift, {}, ranks,
              fmt::format("up to {:.1f} us per second", fastest * 1e6));
}

void note_matching(const AcrossRanks& across, Notes& notes) {
  if (across.inconsistent > 0)
    notes.add(NoteCode::inconsistent_collectives, {}, across.inconsistent);
  if (across.incomplete > 0) notes.add(NoteCode::incomplete_collectives, {}, across.incomplete);
  if (across.clock_unknown) notes.add(NoteCode::clocks_unknown, {}, across.instances);
  if (across.clock_violations > 0)
    notes.add(NoteCode::clock_violations, {}, across.clock_violations);
}

// "rank 3", "ranks 0, 2", at most a few of them.
std::string ranks_words(const std::vector<int32_t>& ranks) {
  constexpr size_t kNamed = 8;
  const auto last = ranks.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, ranks.size()));
  std::string out =
      fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks.begin(), last, ", "));
  if (ranks.size() > kNamed) out += fmt::format(" and {} more", ranks.size() - kNamed);
  return out;
}

// What is said of single steps says of which ranks, once for those of which it is the same; what is
// said of a device does where ranks differ.
void merge_rank_notes(RunAnalysis& run) {
  using Said = std::pair<NoteCode, std::string>;
  std::map<Said, std::vector<int32_t>> ranks;
  const auto of_a_step = [](const Note& n) {
    return n.code == NoteCode::outlier_step || n.code == NoteCode::profiler_overhead ||
           n.code == NoteCode::constants_default;
  };
  for (const RankAnalysis& rank : run.ranks)
    for (const Note& n : rank.notes.all())
      if (of_a_step(n)) ranks[{n.code, n.detail}].push_back(rank.rank);
  for (const RankAnalysis& rank : run.ranks) {
    for (const Note& n : rank.notes.all()) {
      const auto same = of_a_step(n) ? ranks.find({n.code, n.detail}) : ranks.end();
      const bool of_all = same != ranks.end() && same->second.size() == run.ranks.size() &&
                          n.code == NoteCode::constants_default;
      if (same == ranks.end() || run.ranks.size() == 1 || of_all) {
        run.notes.add(n.code, n.first_place, n.count, n.detail);
      } else if (same->second.front() == rank.rank) {
        run.notes.add(n.code, n.first_place, static_cast<int64_t>(same->second.size()),
                      ranks_words(same->second) + ": " + n.detail);
      }
    }
  }
}

// recorded: usable ranks of the input, chosen or not.
void gather_notes(int64_t recorded, RunAnalysis& run) {
  std::set<std::string> formats;
  int64_t world = 0, unsplit = 0;
  for (const RankAnalysis& rank : run.ranks) {
    formats.insert(rank.format);
    note_sources(rank, run.notes);
    world = std::max<int64_t>(world, rank.world_size);
    for (const DeviceAnalysis& device : rank.devices)
      for (const CollectiveRow& row : device.collectives)
        if (row.unsplit_ns > 0) unsplit += row.count;
  }
  merge_rank_notes(run);
  if (formats.size() > 1)
    run.notes.add(NoteCode::mixed_formats, {}, static_cast<int64_t>(formats.size()));
  if (world > recorded)
    run.notes.add(NoteCode::peers_missing, {}, world - recorded,
                  fmt::format("{} of {} ranks", recorded, world));
  if (unsplit > 0) {
    const bool missing = ranks_missing(run.ranks, recorded);
    const bool deselected = static_cast<int64_t>(run.ranks.size()) < recorded;
    run.notes.add(missing      ? NoteCode::unsplit_collectives
                  : deselected ? NoteCode::deselected_collectives
                               : NoteCode::unmatched_collectives,
                  {}, unsplit);
  }
  note_matching(run.across, run.notes);
}

// The graph covers a few neighbouring steps: there one offset is enough for any clock.
TimeNs offset_in(const RankAnalysis& rank, const RunClock& clock) {
  const bool replayed =
      rank.replay && !rank.replay->cuts.empty() && !rank.replay->cuts.front().at_ns.empty();
  const TimeNs at = replayed ? rank.replay->cuts.front().at_ns.front() : rank.capture.begin_ns;
  return at - clock(at);
}

// The same in rows of ranks, for the dependency graph: instances in which everybody's waiting is
// known. A rank's records are those of its devices one after the other.
MatchedRanks matched_ranks(const CrossRank& cross, const std::vector<RankAnalysis>& ranks,
                           const AcrossRanks& across) {
  MatchedRanks out;
  const std::vector<RunClock> clocks = run_clocks(cross, ranks);
  std::vector<uint32_t> first_record;
  out.offsets.assign(ranks.size(), TimeNs{0});
  for (size_t p = 0; p < cross.participants.size(); ++p) {
    const Participant at = cross.participants[p];
    const bool first = at.device_row == 0;
    first_record.push_back(
        first ? 0
              : first_record.back() + static_cast<uint32_t>(cross.set.ranks[p - 1].records.size()));
    if (first) out.offsets[at.rank_row] = offset_in(ranks[at.rank_row], clocks[p]);
  }
  for (const Instance& x : cross.clocks.instances) {
    Instance known{x.communicator, x.expected, {}};
    for (const Member& m : x.members) {
      if (cross.arrivals[m.rank][m.record] != kNotMatched && !cross.wait_only[m.rank][m.record])
        known.members.push_back({static_cast<uint32_t>(cross.participants[m.rank].rank_row),
                                 first_record[m.rank] + m.record});
    }
    if (known.members.size() == x.members.size() && known.members.size() > 1)
      out.instances.push_back(std::move(known));
  }
  out.communicators = cross.set.communicators;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    if (std::find(across.late_ranks.begin(), across.late_ranks.end(), ranks[r].rank) !=
        across.late_ranks.end())
      out.late_ranks.push_back(r);
  }
  return out;
}

// A torn file among good ones costs its rank, not the verdict: the run is as if it had not been
// recorded there. Where no rank is good they all stay, and the verdict says what is missing.
void leave_out_torn(RunAnalysis& run) {
  std::vector<std::optional<NotEnough>> torn;
  for (const RankAnalysis& rank : run.ranks) torn.push_back(lost_records({&rank, 1}));
  const bool good = std::any_of(run.ranks.begin(), run.ranks.end(), [&](const RankAnalysis& rank) {
    return !torn[static_cast<size_t>(&rank - run.ranks.data())] && !rank.devices.empty();
  });
  if (!good) return;
  std::vector<RankAnalysis> kept;
  for (size_t i = 0; i < run.ranks.size(); ++i) {
    RankAnalysis& rank = run.ranks[i];
    if (!torn[i]) {
      kept.push_back(std::move(rank));
      continue;
    }
    run.notes.merge(rank.notes);
    run.notes.add(NoteCode::rank_left_out, file_of(rank.path), 1,
                  fmt::format("rank {}: {}", rank.rank, torn[i]->why));
  }
  run.ranks = std::move(kept);
}

void say_inference(RunAnalysis& run) {
  if (!looks_like_inference(run)) return;
  run.verdict.why.emplace_back(
      "this looks like inference (names of serving or of a paged cache of keys and values, none of "
      "a backward pass or an optimizer): wallsight analyses training steps, and its advice is for "
      "training");
}

// Clocks, waiting and lateness; afterwards the single operations are no longer needed.
MatchedRanks join_ranks(RunAnalysis& run) {
  const CrossRank cross = match_ranks(run.ranks);
  split_waits(cross, run.ranks);
  find_stage_idle(cross, run.ranks);
  run.across = look_across(cross, run.ranks);
  run.means = means_of(run.ranks);
  for (const LateCause& late : run.across.causes)
    run.means.late_causes.emplace_back(late.cause, late.marginal_ns);
  for (size_t p = 0; p < run.across.late.size(); ++p) {
    const Participant at = cross.participants[p];
    DeviceAnalysis& device = run.ranks[at.rank_row].devices[at.device_row];
    const auto steps = static_cast<int64_t>(counted_steps(device.steps).size());
    device.late_ns = rounded(run.across.late[p].marginal_ns, std::max<int64_t>(1, steps));
  }
  note_drift(cross, run.notes);
  MatchedRanks known = matched_ranks(cross, run.ranks, run.across);
  for (RankAnalysis& rank : run.ranks)
    for (DeviceAnalysis& device : rank.devices) device.comms = {};
  return known;
}

}  // namespace

// Only positive signs count: a recording without a backward pass may be a part of a step.
bool looks_like_inference(const RunAnalysis& run) {
  return !run.ranks.empty() &&
         std::all_of(run.ranks.begin(), run.ranks.end(),
                     [](const RankAnalysis& rank) { return is_inference(rank.framework); });
}

Result<RunAnalysis> combine_ranks(std::vector<RankAnalysis> ranks, const RunOptions& options,
                                  Notes notes) {
  if (ranks.empty())
    return Error{"inputs: expected at least one trace, found none; name trace files or folders"};
  if (auto error = check_one_run(ranks)) return *error;
  RunAnalysis run;
  run.step_window = options.step_window;
  run.notes = std::move(notes);
  number_ranks(ranks, run.notes);
  number_hosts(ranks);
  const auto selected = [&](const RankAnalysis& rank) {
    return options.ranks.empty() ||
           std::find(options.ranks.begin(), options.ranks.end(), rank.rank) != options.ranks.end();
  };
  std::string found;
  for (RankAnalysis& rank : ranks) {
    found += fmt::format("{}{}", found.empty() ? "" : ", ", rank.rank);
    if (selected(rank)) run.ranks.push_back(std::move(rank));
  }
  if (run.ranks.empty()) {
    return Error{
        fmt::format("--rank: expected ranks of this run, found none of them; "
                    "the run has {}",
                    shorten(found, 200))};
  }
  const size_t chosen = run.ranks.size();
  leave_out_torn(run);
  const size_t torn = chosen - run.ranks.size();
  const MatchedRanks known = join_ranks(run);
  gather_notes(static_cast<int64_t>(ranks.size() - torn), run);
  run.what_if = price_run(run.ranks, run.means, known, options.price);
  if (!run.what_if.why_not.empty())
    run.notes.add(NoteCode::what_if_not_available, {}, 1, run.what_if.why_not);
  const bool some_chosen = !options.ranks.empty() && chosen < ranks.size();
  run.verdict = judge(run.ranks, run.means, run.what_if.prices, run.across, some_chosen);
  say_inference(run);
  return run;
}

}  // namespace ws
