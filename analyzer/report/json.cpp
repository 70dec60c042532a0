// The report as JSON: schemas/report.schema.json, keys in the order of the contract. Integers for
// ns, numbers for shares, null where nothing is known.
// Tested by: report_test (json_test.cpp), tests/cli/report_schema.py.
#include "report/json_parts.h"
#include "report/render.h"

namespace ws {
namespace {

constexpr int kReportSchema = 1;

Json words(const std::vector<std::string>& list) {
  Json out = Json::array();
  for (const std::string& s : list) out.push_back(escape_text(s));
  return out;
}

Json leaves(const LeafTimes& times) {
  Json out = Json::object();
  for (const auto& [leaf, ns] : times) out[leaf] = ns;
  return out;
}

Json throughput_json(const ReportThroughput& t) {
  return {{"tokens_per_step", t.tokens_per_step},
          {"tokens_per_s_per_gpu", t.tokens_per_s_per_gpu},
          {"tflops_per_gpu", maybe(t.tflops_per_gpu)},
          {"peak_tflops", maybe(t.peak_tflops)},
          {"peak_precision", maybe_words(t.peak_precision)},
          {"mfu", maybe(t.mfu)}};
}

Json recorder_json(const ReportRecorder& r) {
  return {{"rank", r.rank},
          {"writer_share", maybe(r.writer_share)},
          {"tool_share", maybe(r.tool_share)},
          {"slowdown_share", maybe(r.slowdown_share)},
          {"bare_step_ns", maybe(r.bare_step_ns)},
          {"recorded_step_ns", maybe(r.recorded_step_ns)}};
}

Json run_json(const ReportRun& r) {
  Json sources = Json::array();
  for (const ReportSource& s : r.sources) {
    sources.push_back({{"path", escape_text(s.path)},
                       {"format", s.format},
                       {"tool_version", maybe_words(s.tool_version)},
                       {"rank", s.rank}});
  }
  Json config = Json::object();
  for (const auto& [name, value] : r.config) config[name] = escape_text(value);
  Json out = {{"id", r.id},
              {"sources", sources},
              {"ranks", r.rank_count},
              {"devices", r.device_count},
              {"world_size", maybe(r.world_size)},
              {"gpu", maybe_words(r.gpu)},
              {"gpu_memory_bytes", maybe(r.gpu_memory_bytes)},
              {"platform", maybe_words(r.platform)},
              {"framework", maybe_words(r.framework)},
              {"settings_for", words(r.frameworks.names)},
              {"selection", maybe_words(r.selection)},
              {"config", config},
              {"clock",
               {{"unit", "ns"},
                {"aligned", r.clocks_aligned},
                {"max_error_ns", maybe(r.clock_max_error_ns)}}}};
  if (r.throughput) out["throughput"] = throughput_json(*r.throughput);  // with --config only
  if (r.recorder) out["recorder"] = recorder_json(*r.recorder);          // own recordings only
  return out;
}

Json steps_json(const ReportSteps& s) {
  Json rows = Json::array();
  for (const ReportStep& r : s.rows) {
    rows.push_back({{"rank", r.rank},
                    {"device", r.device},
                    {"index", r.index},
                    {"name", escape_text(r.name)},
                    {"begin_ns", r.begin_ns},
                    {"end_ns", r.end_ns},
                    {"steady", r.steady},
                    {"complete", r.complete},
                    {"outlier", r.outlier},
                    {"note", maybe_words(r.note)},
                    {"partition", leaves(r.partition)}});
  }
  return {{"origin", s.origin},
          {"window", s.window},
          {"count", s.count},
          {"steady", s.steady},
          {"mean_ns", maybe(s.mean_ns)},
          {"median_ns", maybe(s.median_ns)},
          {"min_ns", maybe(s.min_ns)},
          {"max_ns", maybe(s.max_ns)},
          {"spread_share", maybe(s.spread_share)},
          {"critical_rank", maybe(s.critical_rank)},
          {"rows", rows}};
}

Json partition_json(const Report& report) {
  Json mean = Json::object(), share = Json::object();
  for (const ReportLeaf& l : report.partition) {
    mean[l.leaf] = l.ns;
    share[l.leaf] = l.share;
  }
  return {{"total_ns", report.partition_total_ns}, {"mean_per_step", mean}, {"share", share}};
}

Json losses_json(const Report& report) {
  Json out = Json::array();
  for (const ReportLoss& l : report.losses) {
    out.push_back({{"loss", l.loss},
                   {"cause", l.cause},
                   {"lo_ns", l.lo_ns},
                   {"hi_ns", l.hi_ns},
                   {"lo_share", l.lo_share},
                   {"hi_share", l.hi_share},
                   {"price_lo_share", maybe(l.price_lo_share)},
                   {"price_hi_share", maybe(l.price_hi_share)}});
  }
  return out;
}

Json interval(const std::optional<double>& lo, const std::optional<double>& hi) {
  if (!lo || !hi) return nullptr;
  return {{"lo", *lo}, {"hi", *hi}};
}

Json verdict_json(const ReportVerdict& v) {
  Json where = nullptr;
  if (!v.where_ranks.empty() || !v.where_steps.empty()) {
    where = {{"ranks", v.where_ranks.empty() ? Json(nullptr) : Json(v.where_ranks)},
             {"steps", v.where_steps.empty() ? Json(nullptr) : words(v.where_steps)}};
  }
  return {{"kind", v.kind},
          {"loss", maybe(v.loss)},
          {"wall", maybe(v.wall)},
          {"cause", v.cause},
          {"confidence", v.confidence},
          {"also", maybe(v.also)},
          {"also_cause", maybe(v.also_cause)},
          {"where", where},
          {"share", interval(v.share_lo, v.share_hi)},
          {"price", interval(v.price_lo, v.price_hi)},
          {"headline", escape_text(v.headline)},
          {"why", words(v.why)},
          {"missing", words(v.missing)}};
}

Json ranks_json(const Report& report) {
  Json out = Json::array();
  for (const ReportRank& r : report.ranks) {
    out.push_back({{"rank", r.rank},
                   {"device", r.device},
                   {"host", r.host.empty() ? "host0" : escape_text(r.host)},
                   {"rank_source", r.rank_source},
                   {"gpu", maybe_words(r.gpu)},
                   {"clock_offset_ns", maybe(r.clock_offset_ns)},
                   {"clock_error_ns", maybe(r.clock_error_ns)},
                   {"step_mean_ns", maybe(r.step_mean_ns)},
                   {"partition", leaves(r.partition)},
                   {"stage_idle_ns", maybe(r.stage_idle_ns)},
                   {"late_ns", maybe(r.late_ns)},
                   {"launch_latency_ns", r.launch_latency_ns},
                   {"kernel_gap_ns", r.kernel_gap_ns},
                   {"ops", r.ops},
                   {"ops_with_launch", r.ops_with_launch}});
  }
  return out;
}

Json kernels_json(const Report& report) {
  Json out = Json::array();
  for (const ReportKernel& k : report.kernels) {
    out.push_back({{"name", escape_text(k.name)},
                   {"class", k.cls},
                   {"count", k.count},
                   {"total_ns", k.total_ns},
                   {"mean_ns", k.mean_ns},
                   {"p50_ns", k.p50_ns},
                   {"p99_ns", k.p99_ns},
                   {"share", k.share},
                   {"unclassified", k.unclassified}});
  }
  return out;
}

Json collectives_json(const Report& report) {
  Json out = Json::array();
  for (const ReportCollective& c : report.collectives) {
    out.push_back({{"group", escape_text(c.group)},
                   {"kind", c.kind},
                   {"op", c.op},
                   {"bytes", maybe(c.bytes)},
                   {"count", c.count},
                   {"total_ns", c.total_ns},
                   {"wait_ns", c.wait_ns},
                   {"transfer_ns", c.transfer_ns},
                   {"unsplit_ns", c.unsplit_ns},
                   {"hidden_ns", c.hidden_ns},
                   {"min_ns", c.min_ns},
                   {"bus_gbps", maybe(c.bus_gbps)},
                   {"late_rank", maybe(c.late_rank)}});
  }
  return out;
}

Json idle_json(const Report& report) {
  Json out = Json::array();
  for (const ReportIdle& i : report.idle) {
    Json largest = nullptr;
    if (i.largest) {
      largest = {{"rank", i.largest->rank},
                 {"begin_ns", i.largest->begin_ns},
                 {"ns", i.largest->ns},
                 {"before", escape_text(i.largest->before)},
                 {"after", escape_text(i.largest->after)}};
    }
    out.push_back({{"cause", i.cause},
                   {"ns", i.ns},
                   {"count", i.count},
                   {"share", i.share},
                   {"largest", largest}});
  }
  return out;
}

Json copies_json(const std::vector<ReportCopies>& copies) {
  Json out = Json::array();
  for (const ReportCopies& c : copies) {
    out.push_back({{"direction", c.direction},
                   {"host_memory", c.host_memory.empty() ? Json(nullptr) : Json(c.host_memory)},
                   {"bytes", c.bytes},
                   {"busy_ns", c.busy_ns},
                   {"gbps", maybe(c.gbps)}});
  }
  return out;
}

Json memory_json(const std::optional<ReportMemory>& memory) {
  if (!memory) return nullptr;
  const ReportMemory& m = *memory;
  return {{"capacity_bytes", maybe(m.capacity_bytes)},
          {"peak_allocated_bytes", maybe(m.peak_allocated_bytes)},
          {"peak_reserved_bytes", maybe(m.peak_reserved_bytes)},
          {"headroom_share", maybe(m.headroom_share)},
          {"fragmentation_share", maybe(m.fragmentation_share)},
          {"recompute_share", m.recompute_share},
          {"recompute_estimated", m.recompute_estimated},
          {"offload_exposed_share", m.offload_exposed_share},
          {"offload_idle_share", m.offload_idle_share},
          {"offload_bytes", m.offload_bytes},
          {"alloc_share", m.alloc_share},
          {"h2d_bytes", m.h2d_bytes},
          {"d2h_bytes", m.d2h_bytes},
          {"h2d_exposed_share", m.h2d_exposed_share},
          {"d2h_exposed_share", m.d2h_exposed_share},
          {"pageable_copies_per_step", m.pageable_copies_per_step},
          {"pageable_bytes", m.pageable_bytes},
          {"pageable_exposed_share", m.pageable_exposed_share},
          {"pageable_gbps", maybe(m.pageable_gbps)},
          {"pinned_gbps", maybe(m.pinned_gbps)},
          {"host_link_gbps", maybe(m.host_link_gbps)},
          {"pinned_link_share", maybe(m.pinned_link_share)},
          {"copies", copies_json(m.copies)},
          {"latent_wall", m.latent_wall ? Json(*m.latent_wall != 0) : Json(nullptr)}};
}

Json finding_json(const ReportFinding& r) {
  const Finding& f = r.finding;
  Json evidence = Json::object();
  for (const EvidenceValue& e : f.evidence) {
    Json& value = evidence[e.expression];
    if (e.number) {
      value = *e.number;
    } else if (e.value != "unknown") {
      value = escape_text(e.value);
    }
  }
  Json gain = nullptr;
  if (f.gain_hi_share) {
    gain = {{"lo_share", maybe(f.gain_lo_share)},
            {"hi_share", *f.gain_hi_share},
            {"basis", f.gain_basis},
            {"of", words(f.gain_of)},
            {"same_time_as", f.same_time_as.empty() ? Json(nullptr) : Json(f.same_time_as)}};
  }
  Json actions = Json::array();
  for (const Action& a : f.actions)
    actions.push_back({{"framework", a.framework}, {"set", a.set}, {"to", a.to}, {"note", a.note}});
  Json with = Json::array();
  for (const Finding::With& w : f.with) with.push_back({{"set", w.set}, {"rule", w.rule}});
  return {{"rule", f.rule},
          {"title", f.title},
          {"wall", f.wall.empty() ? Json(nullptr) : Json(f.wall)},
          {"phase", f.phase},
          {"status", f.status == FindingStatus::fires ? "fires" : "unknown"},
          {"missing", words(r.missing_facts)},
          {"to_know", r.to_know},
          {"leads", f.leads},
          {"held_back_by", f.held_back_by.empty() ? Json(nullptr) : Json(f.held_back_by)},
          {"ahead_of_phase", f.ahead ? Json(f.ahead->of_phase) : Json(nullptr)},
          {"after", words(f.after)},
          {"evidence", evidence},
          {"gain", gain},
          {"actions", actions},
          {"with", with},
          {"only_for", words(r.only_for)},
          {"why", f.why},
          {"safety", f.safety},
          {"published", words(f.published)},
          {"pitfalls", words(f.pitfalls)},
          {"verify", words(f.verify)},
          {"conflicts", words(f.conflicts)},
          {"sources", words(f.sources)}};
}

Json notes_json(const Report& report) {
  Json out = Json::array();
  for (const ReportNote& n : report.notes) {
    out.push_back({{"code", n.code},
                   {"severity", n.severity},
                   {"count", n.count},
                   {"first_place", escape_text(n.first_place)},
                   {"text", escape_text(n.text)},
                   {"advice", escape_text(n.advice)}});
  }
  return out;
}

// There where the stated release lacks something alone.
Json later_json(const Report& report) {
  Json out = Json::array();
  for (const Report::LaterRelease& l : report.later_releases)
    out.push_back({{"rule", l.rule},
                   {"title", l.title},
                   {"set", l.set.empty() ? Json(nullptr) : Json(escape_text(l.set))},
                   {"needs", l.needs}});
  return out;
}

}  // namespace

void render_json(const Report& report, const RenderOptions&, std::ostream& out) {
  Json findings = Json::array();
  for (const ReportFinding& f : report.findings) findings.push_back(finding_json(f));
  Json json = {{"schema", kReportSchema},
               {"tool", {{"version", report.run.tool_version}}},
               {"run", run_json(report.run)},
               {"steps", steps_json(report.steps)},
               {"partition", partition_json(report)},
               {"losses", losses_json(report)},
               {"verdict", verdict_json(report.verdict)},
               {"ranks", ranks_json(report)},
               {"kernels", kernels_json(report)},
               {"collectives", collectives_json(report)},
               {"idle", idle_json(report)},
               {"memory", memory_json(report.memory)},
               {"across", across_json(report.across)},
               {"what_if", what_if_json(report)},
               {"replay", replay_json(report)},
               {"findings", findings},
               {"notes", notes_json(report)}};
  if (!report.later_releases.empty()) json["later_releases"] = later_json(report);
  out << json.dump(1, ' ', false, Json::error_handler_t::replace) << '\n';
}

}  // namespace ws
