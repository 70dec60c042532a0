// The sentences carry the numbers that prove the verdict. The test states what must be in them, not
// their wording.
#include "analysis/explain.h"

#include <functional>

#include "analysis/phrases.h"
#include "support/catch.h"
#include "unit/analysis/made_rank.h"

namespace ws {
namespace {

std::string all(const std::vector<std::string>& sentences) {
  std::string out;
  for (const std::string& s : sentences) out += s + "\n";
  return out;
}

struct Row {
  const char* name;
  made::Leaves leaves;
  std::function<void(DeviceAnalysis&)> change;
  std::vector<std::string> says;
};

IdleRow idle(Leaf leaf, TimeNs ns, int64_t count, Interval largest) {
  IdleRow row;
  row.leaf = leaf;
  row.ns = ns;
  row.count = count;
  row.largest = largest;
  return row;
}

const std::vector<Row>& rows() {
  static const std::vector<Row> kRows = {
      {"launch bound",
       {{Leaf::gemm, 1'800'000}, {Leaf::idle_launch, 2'400'000}, {Leaf::idle_kernel_gap, 600'000}},
       [](DeviceAnalysis& d) {
         d.counts.launches = 600;
         d.counts.launch_spacing_ns = 8'000;
         d.counts.mean_kernel_ns = 3'000;
       },
       {"600 launches per step", "one every 8.0 us", "kernels of 3.0 us", "idle 62.5 %",
        "in the launch calls"}},
      {"launch bound, some launches follow each other at once",
       {{Leaf::gemm, 1'800'000}, {Leaf::idle_launch, 2'400'000}},
       [](DeviceAnalysis& d) {
         d.counts.launches = 600;
         d.counts.launch_spacing_ns = 8'000;  // 600 of these would be longer than the step
         d.counts.mean_kernel_ns = 3'000;
       },
       {"600 launches per step", "one every 7.0 us", "median distance 8.0 us"}},
      {"copies both ways and nothing else",
       {{Leaf::copy_h2d, 4'000'000}, {Leaf::copy_d2h, 6'000'000}},
       [](DeviceAnalysis& d) {
         d.counts.kernels = 0;
         d.counts.copies = 2;
         d.memory.h2d_ns = 10'000'000;
         d.memory.d2h_ns = 6'000'000;
       },
       {"no kernel runs", "to the device 10.0 ms, to the host 6.0 ms", "both at once"}},
      {"framework code between launches",
       {{Leaf::gemm, 1'800'000}, {Leaf::idle_launch, 600'000}, {Leaf::idle_host, 2'400'000}},
       [](DeviceAnalysis& d) {
         d.counts.launches = 600;
         d.counts.launch_spacing_ns = 8'000;
         d.counts.mean_kernel_ns = 3'000;
       },
       {"idle 62.5 % of the step, 50.0 % in framework code between launches and 12.5 % in the"}},
      {"host sync",
       {{Leaf::gemm, 15'000'000}, {Leaf::idle_sync, 6'000'000}},
       [](DeviceAnalysis& d) {
         d.counts.syncs = 33;
         d.counts.small_d2h = 32;
         d.counts.sync_host_ns = 15'200'000;
       },
       {"33 calls per step block the host", "32 reads of at most 64 bytes", "6.0 ms a step",
        "181.8 us after each", "15.2 ms", "not the loss"}},
      {"data loading",
       {{Leaf::gemm, 40'000'000}, {Leaf::idle_dataload, 40'000'000}},
       [](DeviceAnalysis& d) {
         const TimeNs begin = d.steps[2].window.begin_ns;
         d.idle.push_back(idle(Leaf::idle_dataload, 240'000'000, 6, {begin, begin + 40'000'000}));
       },
       {"40.0 ms of each step (50.0 %)", "one block of 40.0 ms at the start of each step"}},
      {"data loading in half of the steps",
       {{Leaf::gemm, 40'000'000}, {Leaf::idle_dataload, 40'000'000}},
       [](DeviceAnalysis& d) {
         for (size_t i = 0; i < d.breakdowns.size(); i += 2)
           d.breakdowns[i][Leaf::idle_dataload] = 0;
         const TimeNs begin = d.steps[3].window.begin_ns;
         d.idle.push_back(idle(Leaf::idle_dataload, 240'000'000, 3, {begin, begin + 80'000'000}));
       },
       {"in 3 of 6 steps, the longest block of 80.0 ms"}},
      {"pause",
       {{Leaf::gemm, 10'000'000}, {Leaf::idle_gc, 5'000'000}},
       [](DeviceAnalysis& d) {
         for (Breakdown& p : d.breakdowns) p[Leaf::idle_gc] = 0;
         d.breakdowns[4][Leaf::idle_gc] = 30'000'000;
       },
       {"stands still for 30.0 ms in step 4", "garbage collection", "1 of the 6 steps"}},
      {"pageable copies",
       {{Leaf::gemm, 18'000'000}, {Leaf::copy_h2d, 25'600'000}},
       [](DeviceAnalysis& d) {
         d.counts.pageable_copies = d.counts.copies = 2;
         d.memory.h2d_ns = d.memory.pageable_ns = 25'600'000;
         d.memory.h2d_bytes = d.memory.pageable_bytes = 134'217'728;
       },
       {"2 copies per step", "Pageable -> Device", "5.24 GB/s", "host blocked inside the copy call",
        "25.6 ms"}},
      {"allocator",
       {{Leaf::gemm, 27'000'000}, {Leaf::idle_alloc, 30'000'000}},
       [](DeviceAnalysis& d) { d.counts.alloc_calls = 24; },
       {"24 cudaMalloc/cudaFree calls", "every steady step", "each free waits for the GPU",
        "30.0 ms"}},
      {"recompute",
       {{Leaf::gemm, 30'000'000}, {Leaf::recompute, 10'000'000}},
       [](DeviceAnalysis&) {},
       {"25.0 % of the step (10.0 ms)", "CheckpointFunctionBackward"}},
      {"offload chain",
       {{Leaf::gemm, 30'000'000}, {Leaf::copy_offload, 18'000'000}, {Leaf::idle_sync, 45'000'000}},
       [](DeviceAnalysis& d) {
         for (TimeNs& ns : d.offload_idle_ns) ns = 45'000'000;
         d.memory.offload_idle_ns = 45'000'000;
         d.memory.offload_bytes = 800'000'000;
       },
       {"copy down, CPU work and copy up are one chain of 63.0 ms", "762.9 MiB", "GPU idle"}},
      {"offload copies with next to no CPU work between them",
       {{Leaf::gemm, 30'000'000}, {Leaf::copy_offload, 18'000'000}, {Leaf::idle_sync, 100'000}},
       [](DeviceAnalysis& d) {
         d.memory.offload_idle_ns = 100'000;
         d.memory.offload_bytes = 800'000'000;
       },
       {"copies of offloaded state are exposed for 18.0 ms", "762.9 MiB"}},
      {"exposed all-to-all",
       {{Leaf::gemm, 10'000'000}, {Leaf::comm_ep_transfer, 8'000'000}},
       [](DeviceAnalysis& d) {
         CollectiveRow row =
             made::collective(CommKind::ep, CollectiveOp::all_to_all, 48'000'000, 120);
         row.transfer_ns = row.unsplit_ns;
         row.unsplit_ns = 0;
         row.hidden_ns = 12'000'000;
         d.collectives.push_back(row);
       },
       {"EP all-to-all, mostly all-to-all, 20 per step", "8.0 ms (44.4 %)",
        "25.0 % of their time is hidden"}},
      {"busy",
       {{Leaf::gemm, 9'000'000}, {Leaf::attention, 1'000'000}},
       [](DeviceAnalysis& d) {
         d.comm.total_ns = 3'000'000;
         d.counts.host_marker_ns = 400'000;
       },
       {"computes for 100.0 % of the step", "gemm 90.0 %", "communication runs for 3.0 ms",
        "hidden", "step markers last 400.0 us", "period of 10.0 ms"}},
      {"host in unknown code",
       {{Leaf::gemm, 6'000'000}, {Leaf::idle_host, 4'000'000}},
       [](DeviceAnalysis& d) {
         IdleRow row = idle(Leaf::idle_host, 24'000'000, 60, {1'000, 901'000});
         row.after = "big_gemm";
         d.idle.push_back(row);
       },
       {"step: other host work 40.0 %", "waits 4.0 ms a step (40.0 %) for the host",
        "longest 900.0 us, before big_gemm"}},
  };
  return kRows;
}

TEST_CASE("why: the numbers an engineer needs") {
  for (const Row& row : rows()) {
    DeviceAnalysis device = made::device(made::leaves(row.leaves));
    row.change(device);
    const std::string text = all(made::verdict(made::rank(std::move(device))).why);
    INFO(row.name << ": " << text);
    for (const std::string& part : row.says) CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("why: what one rank can not tell, with an estimate that says it is one") {
  DeviceAnalysis device =
      made::device(made::leaves({{Leaf::gemm, 6'000'000}, {Leaf::comm_ep_unsplit, 4'000'000}}));
  CollectiveRow row = made::collective(CommKind::ep, CollectiveOp::all_to_all, 24'000'000, 12);
  row.min_ns = 500'000;  // a quarter of the mean of 2 ms
  device.collectives.push_back(row);
  const std::string text = all(made::verdict(made::rank(device, 0, 4)).why);
  INFO(text);
  CHECK(text.find("one rank of the job was recorded") != std::string::npos);
  CHECK(text.find("4.0 ms of exposed collectives") != std::string::npos);
  CHECK(text.find("1.0 ms would be transfer; that is an estimate") != std::string::npos);
  const std::string all_there =
      all(made::verdict({made::rank(device, 0, 2), made::rank(device, 1, 2)}).why);
  CHECK(all_there.find("were not matched") != std::string::npos);
}

TEST_CASE("why: a pause of a chosen rank is named though its peers can not be told to wait") {
  const auto of = [](Leaf leaf) {
    return made::leaves({{Leaf::gemm, 3'000'000}, {leaf, 7'000'000}});
  };
  DeviceAnalysis waits = made::device(of(Leaf::comm_dp_unsplit));
  waits.collectives.push_back(
      made::collective(CommKind::dp, CollectiveOp::all_reduce, 42'000'000, 6));
  const std::string text =
      all(made::verdict({made::rank(waits, 0, 4), made::rank(made::device(of(Leaf::idle_gc)), 2, 4),
                         made::rank(waits, 3, 4)})
              .why);
  INFO(text);
  CHECK(text.find("the host of rank 2 stands still for 7.0 ms") != std::string::npos);
  CHECK(text.find("Host takes") == std::string::npos);  // sentences begin in the report
}

TEST_CASE("why: steps with a pause are counted once, whatever the number of ranks") {
  const Breakdown usual = made::leaves({{Leaf::gemm, 3'000'000}});
  const auto with_pause = [&](Leaf leaf, int32_t rank) {
    DeviceAnalysis device = made::device(usual, 5);
    made::add_step(device, made::leaves({{Leaf::gemm, 3'000'000}, {leaf, 9'000'000}}));
    return made::rank(std::move(device), rank, 2);
  };
  const std::string one = all(made::verdict(with_pause(Leaf::idle_gc, 0)).why);
  INFO(one);
  CHECK(one.find("1 of the 6 steps in the means is hit: a pause") != std::string::npos);
  const std::string two =
      all(made::verdict({with_pause(Leaf::idle_gc, 0), with_pause(Leaf::idle_gc, 1)}).why);
  CHECK(two.find("1 of the 6 steps in the means is hit, on 2 of 2 ranks") != std::string::npos);
  const std::string other =
      all(made::verdict({with_pause(Leaf::gemm, 0), with_pause(Leaf::idle_gc, 1)}).why);
  CHECK(other.find("on 1 of 2 ranks") != std::string::npos);
}

TEST_CASE("why: communication of unknown groups is called that in every sentence") {
  DeviceAnalysis device =
      made::device(made::leaves({{Leaf::gemm, 6'000'000}, {Leaf::comm_other_unsplit, 4'000'000}}));
  device.collectives.push_back(
      made::collective(CommKind::other, CollectiveOp::all_to_all, 24'000'000, 12));
  const std::string text = all(made::verdict(made::rank(device, 0, 4)).why);
  INFO(text);
  CHECK(text.find("step: collectives of unknown groups 40.0 %") != std::string::npos);
  CHECK(text.find("no single cause") == std::string::npos);
}

TEST_CASE("why: a group with one cause of its own name does not name it twice") {
  const std::string text =
      all(made::verdict({{Leaf::gemm, 7'000'000}, {Leaf::comm_pp_wait, 3'000'000}}).why);
  INFO(text);
  CHECK(text.find("pipeline bubble takes 30.0 % (3.0 ms) of the 10.0 ms step\n") !=
        std::string::npos);
}

TEST_CASE("why: exposed communication that blocks nothing names what the host does") {
  DeviceAnalysis device = made::device(made::leaves({{Leaf::gemm, 4'000'000},
                                                     {Leaf::comm_dp_unsplit, 4'000'000},
                                                     {Leaf::idle_dataload, 2'000'000}}));
  for (TimeNs& ns : device.evidence.not_blocking_ns) ns = 4'000'000;
  const std::string text = all(made::verdict(made::rank(device)).why);
  INFO(text);
  CHECK(text.find("4.0 ms of communication a step is exposed but blocks nothing") !=
        std::string::npos);
  CHECK(text.find("input pipeline") != std::string::npos);
}

TEST_CASE("numbers are printed with the unit that fits") {
  CHECK(duration(999) == "999 ns");
  CHECK(duration(8'000) == "8.0 us");
  CHECK(duration(-44'084'000) == "-44.1 ms");
  CHECK(duration(1'558'181'000) == "1.56 s");
  CHECK(percent(0.62523) == "62.5 %");
  CHECK(byte_count(134'217'728) == "128.0 MiB");
  CHECK(number(600.0) == "600");
  CHECK(number(2.5) == "2.5");
}

}  // namespace
}  // namespace ws
