// Settings that run though the file has them off.
#include "facts/config_denials.h"

#include "facts/config_merge.h"
#include "support/catch.h"
#include "unit/facts/denied_run.h"

namespace ws {

using made::Change;
using made::denied_keys;
using made::kMs;
using made::on;
using made::row;
using made::run_with;

TEST_CASE("denials: collectives that only a setting makes deny that it is off") {
  using Rows = std::vector<CollectiveRow>;
  const auto of = [](CommKind kind, int64_t reduces, int64_t scatters, int64_t gathers) {
    Rows out;
    if (reduces > 0) out.push_back(row(kind, CollectiveOp::all_reduce, reduces));
    if (scatters > 0) out.push_back(row(kind, CollectiveOp::reduce_scatter, scatters));
    if (gathers > 0) out.push_back(row(kind, CollectiveOp::all_gather, gathers));
    return out;
  };
  const auto off = [](const char* key, FactRowValues more = {}) {
    more[key] = int64_t{0};
    return more;
  };
  const auto keys = [&](CommKind kind, const Rows& rows, const FactRowValues& asked,
                        const Change& change = {}) {
    return denied_keys(run_with(kind, rows, change), asked);
  };
  const auto guessed = [](RankAnalysis& r) { r.communicators[0].guessed = true; };

  const FactRowValues no_sp = off("sequence_parallel");
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), no_sp) == "sequence_parallel");
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), on("sequence_parallel")).empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), {}).empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 4, 0, 6), no_sp).empty());  // tensors between stages
  CHECK(keys(CommKind::tp, of(CommKind::tp, 4, 2, 2), no_sp).empty());  // less than a layer
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), no_sp, guessed).empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6),  // experts that TP cuts
             off("sequence_parallel", {{"num_experts", int64_t{8}}}))
            .empty());
  CHECK(keys(CommKind::tp, of(CommKind::tp, 1, 4, 6), no_sp, [](RankAnalysis& r) {
          r.communicators.push_back({"E", "2|0|1", {0, 1}, 2, CommKind::ep, true, false});
        }).empty());

  const auto buffers = [](RankAnalysis& r) {
    r.config.settings.emplace_back("user_buffers_seen", "1");
  };
  CHECK(keys(CommKind::tp, {}, off("tp_comm_overlap"), buffers) == "tp_comm_overlap");
  CHECK(keys(CommKind::tp, {}, no_sp, buffers) == "sequence_parallel");
  CHECK(keys(CommKind::tp, {}, on("tp_comm_overlap"), buffers).empty());
  CHECK(keys(CommKind::tp, {}, off("tp_comm_overlap")).empty());

  const FactRowValues no_dist = off("use_distributed_optimizer");
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 1, 1), no_dist) == "use_distributed_optimizer");
  CHECK(keys(CommKind::dp, of(CommKind::dp, 1, 1, 1), no_dist).empty());
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 0, 2), no_dist).empty());
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 1, 1), no_dist, guessed).empty());
  CHECK(keys(CommKind::dp, of(CommKind::dp, 0, 1, 1),
             off("use_distributed_optimizer", on("megatron_fsdp")))
            .empty());

  struct Side {
    const char* key;
    CollectiveOp op;
  };
  for (const Side& s : {Side{"overlap_grad_reduce", CollectiveOp::reduce_scatter},
                        Side{"overlap_param_gather", CollectiveOp::all_gather}}) {
    INFO(s.key);
    const auto hidden = [&](int64_t count, TimeNs ns, const FactRowValues& asked,
                            const Change& change = {}) {
      return keys(CommKind::dp, {row(CommKind::dp, s.op, count, 96 << 20, ns)}, asked, change);
    };
    constexpr TimeNs kAll = 6 * 200'000;
    CHECK(hidden(8, kAll, off(s.key)) == s.key);
    CHECK(hidden(8, kAll / 2 + 1, off(s.key)) == s.key);
    CHECK(hidden(8, kAll / 2, off(s.key)).empty());
    CHECK(hidden(1, kAll, off(s.key)).empty());
    CHECK(hidden(8, kAll, {}).empty());
    CHECK(hidden(8, kAll, off(s.key), guessed).empty());
    CHECK(hidden(8, kAll, off(s.key, on("megatron_fsdp"))).empty());
    CollectiveRow little = row(CommKind::dp, s.op, 8, 96 << 20, 6 * 10'000);
    little.total_ns = little.unsplit_ns = 6 * 10'000;
    CHECK(keys(CommKind::dp, {little}, off(s.key)).empty());
  }
}

TEST_CASE("denials: recompute and graphs that run though the file has none") {
  const FactRowValues none = {{"recompute_granularity", std::string("none")}};
  const auto recompute = [&](TimeNs first_ns, TimeNs second_ns, const FactRowValues& asked) {
    int ranks = 0;
    return denied_keys(run_with(CommKind::dp, {},
                                [&](RankAnalysis& r) {
                                  r.devices[0].memory.recompute_ns =
                                      ranks++ == 0 ? first_ns : second_ns;
                                }),
                       asked);
  };
  CHECK(recompute(kMs / 20, kMs / 20, none) == "recompute_granularity");
  CHECK(recompute(kMs / 20, kMs / 20 - 1, none).empty());  // one rank has next to none
  CHECK(recompute(0, 0, none).empty());
  CHECK(recompute(kMs / 20, kMs / 20, {}).empty());
  CHECK(
      recompute(kMs / 20, kMs / 20, {{"recompute_granularity", std::string("selective")}}).empty());
  FactRowValues two_batches = none;  // one goes forward while another goes backward
  two_batches["overlap_moe_expert_parallel_comm"] = int64_t{1};
  CHECK(recompute(kMs / 20, kMs / 20, two_batches).empty());

  const RunAnalysis run = run_with(CommKind::dp, {});
  const auto graphs = [&](const FactRowValues& asked, const FactRowValues& seen) {
    return denied_keys(run, asked, seen);
  };
  const FactRowValues no_graphs = {{"cuda_graph_impl", std::string("none")}};
  CHECK(graphs(no_graphs, {{"cuda_graphs", int64_t{1}}}) == "cuda_graph_impl");
  CHECK(graphs(no_graphs, {{"cuda_graphs", int64_t{0}}}).empty());
  CHECK(graphs(no_graphs, {}).empty());
  CHECK(graphs({}, {{"cuda_graphs", int64_t{1}}}).empty());
  CHECK(graphs({{"cuda_graph_impl", std::string("local")}}, {{"cuda_graphs", int64_t{1}}}).empty());
}

TEST_CASE("denials: what is on in the recording is in use") {
  const RunAnalysis run = run_with(
      CommKind::dp, {row(CommKind::dp, CollectiveOp::reduce_scatter, 8, 1 << 20, 6 * 200'000)});
  const ConfigShown shown = config_shown(run, evidence_of(run.ranks, run.means));
  const ConfigMerge m = merge_config({{"overlap_grad_reduce", int64_t{0}}}, {},
                                     {"overlap_grad_reduce"}, std::nullopt, shown);
  CHECK(std::get<int64_t>(m.row.at("overlap_grad_reduce")) == 1);
  CHECK(std::get<std::string>(m.row.at("denied")) == " overlap_grad_reduce_on ");
  CHECK(std::get<std::string>(m.row.at("contradicted")) ==
        "overlap_grad_reduce no (its default) against reductions under compute");
  CHECK(m.not_in_use.count("overlap_grad_reduce") == 1);  // as the file writes it
}

}  // namespace ws
