// Tested by: report_test (phrases_test.cpp: every name of model/names.h has its words).
#include "report/phrases.h"

#include <utility>

namespace ws {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr Pair kCauses[] = {
    {"launch_bound", "launching kernels one by one"},
    {"host_sync", "host synchronisation"},
    {"input_pipeline", "input pipeline"},
    {"gc_pause", "host pauses (garbage collection)"},
    {"allocator", "allocator stalls"},
    {"recompute", "activation recompute"},
    {"offload", "offloading to host memory"},
    {"pageable_copy", "copies of pageable memory"},
    {"ep_all_to_all", "EP all-to-all"},
    {"tp_collective", "TP collectives"},
    {"dp_gradient", "DP gradient reduction"},
    {"dp_parameter", "DP parameter gathering"},
    {"cp_exchange", "CP exchange"},
    {"pp_transfer", "PP transfers"},
    {"comm_contention", "kernels slowed by communication beside them"},
    {"straggler_gpu", "a slow GPU"},
    {"straggler_host", "a slow host"},
    {"expert_imbalance", "uneven expert load"},
    {"pipeline_bubble", "pipeline bubble"},
    {"membound_kernels", "memory-bound kernels"},
    {"gemm_bound", "matrix multiplication"},
    {"attention_bound", "attention"},
    {"compute_bound", "kernels of several classes"},
    {"only_warmup", "only warm-up was recorded"},
    {"too_few_steps", "too few steps"},
    {"records_lost", "records were lost"},
    {"graph_level_trace", "CUDA graphs were recorded as a whole"},
    {"peers_missing", "the other ranks were not recorded"},
    {"no_gpu_events", "no GPU activity was recorded"},
    {"unknown", "no single cause"},
};
constexpr Pair kWalls[] = {{"memory", "memory wall"},
                           {"communication", "communication wall"},
                           {"compute_host", "compute and host wall"}};
constexpr Pair kLosses[] = {
    {"useful", "compute"},      {"memory", "memory"},          {"communication", "communication"},
    {"imbalance", "imbalance"}, {"bubble", "pipeline bubble"}, {"host", "host"}};
constexpr Pair kFrameworks[] = {{"any", "any framework"},
                                {"megatron_lm", "Megatron-LM"},
                                {"megatron_bridge", "Megatron Bridge"},
                                {"pytorch", "PyTorch"},
                                {"env", "environment"},
                                {"nsys", "nsys"}};
constexpr Pair kFormats[] = {{"nsys-sqlite", "Nsight Systems export"},
                             {"kineto-json", "PyTorch trace"},
                             {"wallsight-recording", "recording"}};
constexpr Pair kOrigins[] = {{"user_range", "the named range"},
                             {"profiler_step", "ProfilerStep"},
                             {"named_range", "named host ranges"},
                             {"megatron_ranges", "optimizer ranges"},
                             {"optimizer_burst", "bursts of optimizer kernels"},
                             {"kernel_period", "the repeating sequence of kernels"},
                             {"whole", "none: the whole recording is one window"}};
constexpr Pair kIdle[] = {{"launch", "launch calls"},
                          {"graph_launch", "graph launches"},
                          {"host", "framework and Python code"},
                          {"sync", "synchronisation"},
                          {"alloc", "allocator"},
                          {"dataload", "data loading"},
                          {"gc", "garbage collection"},
                          {"jit", "code loading, compilation"},
                          {"profiler", "the profiler itself"},
                          {"kernel_gap", "gaps between kernels"},
                          {"dependency", "launched, not started"},
                          {"unknown", "not explained"}};
// As the changes of WHAT IF, and as "half of what ... save" asks for them.
constexpr Pair kChanges[] = {{"ep_zero", "costless expert exchanges"},
                             {"ep_removed", "no expert exchanges"},
                             {"tp_zero", "costless TP transfers"},
                             {"tp_removed", "no TP collectives"},
                             {"dp_zero", "costless DP transfers"},
                             {"dp_removed", "no DP collectives"},
                             {"pp_zero", "costless pipeline transfers"},
                             {"pp_removed", "no pipeline transfers"},
                             {"cp_zero", "costless CP transfers"},
                             {"cp_removed", "no CP exchanges"},
                             {"other_zero", "costless other transfers"},
                             {"network_x2", "network twice as fast"},
                             {"launch_zero", "costless launches"},
                             {"sync_zero", "avoided host waits"},
                             {"dataload_zero", "batches in time"},
                             {"alloc_zero", "costless allocator calls"},
                             {"gc_zero", "avoided collections"},
                             {"recompute_zero", "kept activations"},
                             {"offload_zero", "costless offload copies"},
                             {"copy_zero", "costless host copies"},
                             {"straggler_fixed", "equally fast ranks"},
                             {"experts_balanced", "balanced experts"},
                             {"dp_overlapped", "hidden DP collectives"},
                             {"bubble_halved", "half the bubble"},
                             {"gemm_x2", "GEMM twice as fast"},
                             {"attention_x2", "attention twice as fast"},
                             {"membound_x2", "memory-bound twice as fast"},
                             {"communication_zero", "costless transfers"},
                             {"memory_zero", "no memory losses"},
                             {"host_zero", "no host losses"},
                             {"imbalance_fixed", "no imbalance"}};
constexpr Pair kClasses[] = {
    {"gemm", "gemm"},           {"attention", "attention"}, {"membound", "memory-bound"},
    {"compute_other", "other"}, {"comm", "communication"},  {"p2p", "device to device"},
    {"h2d", "copy to device"},  {"d2h", "copy to host"}};
constexpr Pair kSeverities[] = {
    {"data_loss", "data loss"}, {"warning", "warning"}, {"info", "info"}};

template <size_t N>
std::string_view lookup(const Pair (&table)[N], std::string_view key) {
  for (const Pair& row : table) {
    if (row.first == key) return row.second;
  }
  return key;
}

}  // namespace

const std::vector<LeafPhrase>& leaf_phrases() {
  using G = WhereGroup;
  static const std::vector<LeafPhrase> kLeaves = {
      {"gemm", G::compute, "gemm"},
      {"attention", G::compute, "attention"},
      {"membound", G::compute, "memory-bound"},
      {"compute_other", G::compute, "other kernels"},
      {"recompute", G::memory, "recompute"},
      {"comm.tp.wait", G::imbalance, "tp wait"},
      {"comm.tp.transfer", G::communication, "tp"},
      {"comm.tp.unsplit", G::communication, "tp (wait + transfer)"},
      {"comm.ep.wait", G::imbalance, "ep wait"},
      {"comm.ep.transfer", G::communication, "ep"},
      {"comm.ep.unsplit", G::communication, "ep (wait + transfer)"},
      {"comm.dp.wait", G::imbalance, "dp wait"},
      {"comm.dp.transfer", G::communication, "dp"},
      {"comm.dp.unsplit", G::communication, "dp (wait + transfer)"},
      {"comm.pp.wait", G::bubble, "pp wait"},
      {"comm.pp.transfer", G::communication, "pp"},
      {"comm.pp.unsplit", G::communication, "pp (wait + transfer)"},
      {"comm.cp.wait", G::imbalance, "cp wait"},
      {"comm.cp.transfer", G::communication, "cp"},
      {"comm.cp.unsplit", G::communication, "cp (wait + transfer)"},
      {"comm.p2p.wait", G::imbalance, "p2p wait"},
      {"comm.p2p.transfer", G::communication, "p2p"},
      {"comm.p2p.unsplit", G::communication, "peer copies"},
      {"comm.other.wait", G::imbalance, "other wait"},
      {"comm.other.transfer", G::communication, "other"},
      {"comm.other.unsplit", G::communication, "other (wait + transfer)"},
      {"copy.h2d", G::host, "copies to device"},
      {"copy.d2h", G::host, "copies to host"},
      {"copy.offload", G::memory, "offload copies"},
      {"idle.launch", G::host, "launch calls"},
      {"idle.graph_launch", G::host, "graph launches"},
      {"idle.host", G::host, "framework code"},
      {"idle.sync", G::host, "sync"},
      {"idle.alloc", G::memory, "allocator"},
      {"idle.dataload", G::host, "data loading"},
      {"idle.gc", G::host, "garbage collection"},
      {"idle.jit", G::host, "code loading"},
      {"idle.profiler", G::unexplained, "profiler"},
      {"idle.kernel_gap", G::host, "kernel gaps"},
      {"idle.dependency", G::unexplained, "launched, not started"},
      {"idle.unknown", G::unexplained, "idle, cause unknown"},
  };
  return kLeaves;
}

const LeafPhrase* phrase_of_leaf(std::string_view leaf) {
  for (const LeafPhrase& p : leaf_phrases()) {
    if (p.leaf == leaf) return &p;
  }
  return nullptr;
}

std::string_view name_of(WhereGroup g) {
  static constexpr std::string_view kNames[] = {
      "compute", "communication", "imbalance", "bubble", "memory", "host", "not explained"};
  return kNames[static_cast<size_t>(g)];
}

std::string_view phrase_of_cause(std::string_view s) { return lookup(kCauses, s); }
std::string_view phrase_of_wall(std::string_view s) { return lookup(kWalls, s); }
std::string_view phrase_of_loss(std::string_view s) { return lookup(kLosses, s); }
std::string_view phrase_of_framework(std::string_view s) { return lookup(kFrameworks, s); }
std::string_view phrase_of_format(std::string_view s) { return lookup(kFormats, s); }
std::string_view phrase_of_origin(std::string_view s) { return lookup(kOrigins, s); }
std::string_view phrase_of_idle(std::string_view s) { return lookup(kIdle, s); }
std::string_view phrase_of_class(std::string_view s) { return lookup(kClasses, s); }
std::string_view phrase_of_change(std::string_view s) { return lookup(kChanges, s); }
std::string_view phrase_of_severity(std::string_view s) { return lookup(kSeverities, s); }

}  // namespace ws
