// The tables of the run as a whole: partition, losses, kernels, collectives, idle, memory, what-if.
#include <algorithm>

#include "report/build_parts.h"
#include "report/phrases.h"

namespace ws {
namespace {

Result<void> read_partition(const Database& db, Report& report) {
  auto ok =
      each_row(db, "SELECT leaf, ns, total_ns, share FROM fact_leaf ORDER BY rowid",
               [&](const Statement& s) {
                 report.partition.push_back({text_of(s, 0), s.int64(1), s.int64(2), s.real(3)});
                 report.partition_total_ns += s.int64(2);
               });
  if (!ok) return ok;
  return each_row(
      db,
      "SELECT loss, cause, lo_ns, hi_ns, lo_share, hi_share, price_lo_share, price_hi_share "
      "FROM fact_loss ORDER BY rowid",
      [&](const Statement& s) {
        report.losses.push_back({text_of(s, 0), text_of(s, 1), s.int64(2), s.int64(3), s.real(4),
                                 s.real(5), maybe_real(s, 6), maybe_real(s, 7)});
      });
}

Result<void> read_kernels(const Database& db, Report& report) {
  return each_row(
      db,
      "SELECT name, class, count, total_ns, mean_ns, p50_ns, p99_ns, share, unclassified "
      "FROM fact_kernel ORDER BY total_ns DESC, name, rowid",
      [&](const Statement& s) {
        report.kernels.push_back({text_of(s, 0), text_of(s, 1), s.int64(2), s.int64(3), s.int64(4),
                                  s.int64(5), s.int64(6), s.real(7), s.int64(8) != 0});
      });
}

Result<void> read_collectives(const Database& db, Report& report) {
  return each_row(
      db,
      "SELECT group_name, kind, op, bytes, late_rank, count, total_ns, wait_ns, transfer_ns, "
      "unsplit_ns, hidden_ns, min_ns, bus_gbps FROM fact_collective "
      "ORDER BY wait_ns + transfer_ns + unsplit_ns DESC, total_ns DESC, group_name, op, bytes, "
      "rowid",
      [&](const Statement& s) {
        report.collectives.push_back({text_of(s, 0), text_of(s, 1), text_of(s, 2), s.maybe_int64(3),
                                      s.maybe_int64(4), s.int64(5), s.int64(6), s.int64(7),
                                      s.int64(8), s.int64(9), s.int64(10), s.int64(11),
                                      maybe_real(s, 12)});
      });
}

// The step in which a gap begins, so that the reader finds it without an absolute clock.
void place_in_step(const ReportSteps& steps, ReportGap& gap) {
  for (const ReportStep& s : steps.rows) {
    if (s.rank == gap.rank && s.device == gap.device.value_or(s.device) &&
        s.begin_ns <= gap.begin_ns && gap.begin_ns < s.end_ns) {
      gap.step = s.name;
      gap.since_step_begin_ns = gap.begin_ns - s.begin_ns;
      return;
    }
  }
}

Result<void> read_idle(const Database& db, Report& report) {
  return each_row(db,
                  "SELECT cause, ns, count, share, largest_rank, largest_begin_ns, largest_ns, "
                  "largest_before, largest_after, largest_device FROM fact_idle ORDER BY rowid",
                  [&](const Statement& s) {
                    ReportIdle row{text_of(s, 0), s.int64(1), s.int64(2), s.real(3), {}};
                    if (!s.is_null(4) && !s.is_null(5) && !s.is_null(6)) {
                      row.largest =
                          ReportGap{s.int64(4),    s.int64(5),    s.int64(6), s.maybe_int64(9),
                                    text_of(s, 7), text_of(s, 8), "",         0};
                      place_in_step(report.steps, *row.largest);
                    }
                    report.idle.push_back(std::move(row));
                  });
}

Result<void> read_memory(const Database& db, Report& report) {
  auto ok = each_row(db,
                     "SELECT capacity_bytes, peak_allocated_bytes, peak_reserved_bytes, "
                     "headroom_share, fragmentation_share, "
                     "recompute_share, recompute_estimated, offload_exposed_share, "
                     "offload_idle_share, offload_bytes, alloc_share, "
                     "h2d_bytes, d2h_bytes, h2d_exposed_share, d2h_exposed_share, "
                     "pageable_copies_per_step, pageable_bytes, "
                     "pageable_exposed_share, pageable_gbps, pinned_gbps, host_link_gbps, "
                     "pinned_link_share, (SELECT latent_memory_wall FROM "
                     "fact_run) FROM fact_memory LIMIT 1",
                     [&](const Statement& s) {
                       ReportMemory m;
                       m.capacity_bytes = s.maybe_int64(0);
                       m.peak_allocated_bytes = s.maybe_int64(1);
                       m.peak_reserved_bytes = s.maybe_int64(2);
                       m.headroom_share = maybe_real(s, 3);
                       m.fragmentation_share = maybe_real(s, 4);
                       m.recompute_share = s.real(5);
                       m.recompute_estimated = s.int64(6) != 0;
                       m.offload_exposed_share = s.real(7);
                       m.offload_idle_share = s.real(8);
                       m.offload_bytes = s.int64(9);
                       m.alloc_share = s.real(10);
                       m.h2d_bytes = s.int64(11);
                       m.d2h_bytes = s.int64(12);
                       m.h2d_exposed_share = s.real(13);
                       m.d2h_exposed_share = s.real(14);
                       m.pageable_copies_per_step = s.real(15);
                       m.pageable_bytes = s.int64(16);
                       m.pageable_exposed_share = s.real(17);
                       m.pageable_gbps = maybe_real(s, 18);
                       m.pinned_gbps = maybe_real(s, 19);
                       m.host_link_gbps = maybe_real(s, 20);
                       m.pinned_link_share = maybe_real(s, 21);
                       m.latent_wall = s.maybe_int64(22);
                       report.memory = m;
                     });
  if (!ok || !report.memory) return ok;
  return each_row(db, "SELECT direction, host_memory, bytes, busy_ns, gbps FROM fact_copy",
                  [&](const Statement& s) {
                    report.memory->copies.push_back(
                        {text_of(s, 0), text_of(s, 1), s.int64(2), s.int64(3), maybe_real(s, 4)});
                  });
}

Result<void> read_across(const Database& db, Report& report) {
  auto ok = each_row(
      db,
      "SELECT ranks, instances, split, inconsistent, incomplete, clock_method, clock_error_ns, "
      "clock_samples, straggler, straggler_rank, straggler_step, steps, late_steps, late_ranks, "
      "slower_kernels_share, expert_max_over_mean, expert_max_over_min, expert_hot_ranks, stages, "
      "stage_max_over_mean, bubble_micro_batches, stage_idle_share, load_balance, "
      "communication_efficiency, parallel_efficiency, host_efficiency FROM fact_across LIMIT 1",
      [&](const Statement& s) {
        ReportAcross a;
        a.ranks = s.int64(0);
        a.instances = s.int64(1);
        a.split = s.int64(2);
        a.inconsistent = s.int64(3);
        a.incomplete = s.int64(4);
        a.clock_method = text_of(s, 5);
        a.clock_error_ns = s.int64(6);
        a.clock_samples = s.int64(7);
        a.straggler = text_of(s, 8);
        a.straggler_rank = s.maybe_int64(9);
        a.straggler_step = maybe_text(s, 10);
        a.steps = s.int64(11);
        a.late_steps = s.int64(12);
        a.late_ranks = maybe_text(s, 13);
        a.slower_kernels_share = maybe_real(s, 14);
        a.expert_max_over_mean = maybe_real(s, 15);
        a.expert_max_over_min = maybe_real(s, 16);
        a.expert_hot_ranks = s.maybe_int64(17);
        a.stages = s.maybe_int64(18);
        a.stage_max_over_mean = maybe_real(s, 19);
        a.bubble_micro_batches = s.maybe_int64(20);
        a.stage_idle_share = maybe_real(s, 21);
        a.load_balance = maybe_real(s, 22);
        a.communication_efficiency = maybe_real(s, 23);
        a.parallel_efficiency = maybe_real(s, 24);
        a.host_efficiency = maybe_real(s, 25);
        report.across = std::move(a);
      });
  if (!ok || !report.across) return ok;
  return each_row(db,
                  "SELECT rank, category, cause, ns, share, collectives, steps FROM "
                  "fact_late_cause ORDER BY rowid",
                  [&](const Statement& s) {
                    report.across->causes.push_back({s.int64(0), s.int64(3), s.int64(5), s.int64(6),
                                                     text_of(s, 1), text_of(s, 2), s.real(4)});
                  });
}

Result<void> read_what_if(const Database& db, Report& report) {
  return each_row(
      db,
      "SELECT id, step_lo_ns, step_hi_ns, saved_lo_share, saved_hi_share, next_loss, next_cause, "
      "asked "
      "FROM fact_what_if ORDER BY saved_lo_share + saved_hi_share DESC, id",
      [&](const Statement& s) {
        report.what_if.push_back({text_of(s, 0), s.int64(1), s.int64(2), s.real(3), s.real(4),
                                  maybe_text(s, 5), maybe_text(s, 6), s.int64(7) != 0});
      });
}

Result<void> read_replay(const Database& db, Report& report) {
  auto ok = each_row(
      db,
      "SELECT steps, unexplained_share, recorded_edges, inferred_edges, dropped_edges, "
      "prices_used, why_no_gains, why_no_prices FROM fact_replay LIMIT 1",
      [&](const Statement& s) {
        report.replay = {s.int64(0),       maybe_real(s, 1), s.maybe_int64(2), s.maybe_int64(3),
                         s.maybe_int64(4), s.int64(5) != 0,  maybe_text(s, 6), maybe_text(s, 7)};
      });
  if (!ok) return ok;
  return each_row(db, "SELECT rank, leaf, ns, share FROM fact_path ORDER BY rowid",
                  [&](const Statement& s) {
                    report.path.push_back({s.int64(0), text_of(s, 1), s.int64(2), s.real(3)});
                  });
}

}  // namespace

Result<void> read_tables(const Database& db, Report& report) {
  for (const auto part : {read_partition, read_kernels, read_collectives, read_idle, read_memory,
                          read_across, read_what_if, read_replay}) {
    if (auto ok = part(db, report); !ok) return ok;
  }
  return {};
}

}  // namespace ws
