#include "recorder/workload_script.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "recorder/workload_driver.h"

namespace ws::test {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
thread_local int64_t scripted_ns = -1;  // what the clock says in this thread; -1: the truth

struct Range {
  int64_t begin, end;
  std::string name, domain;
  uint64_t communicator;
  int64_t bytes;
};

// Nested ranges of one thread, in order of their begins (of equal ones the longest first).
class ThreadPlayer {
 public:
  explicit ThreadPlayer(const std::vector<Range>& ranges) : ranges_(ranges) {}
  void play() {
    std::vector<const Range*> open;
    for (const Range& r : ranges_) {
      while (!open.empty() && open.back()->end <= r.begin) {
        end(*open.back());
        open.pop_back();
      }
      begin(r);
      open.push_back(&r);
    }
    for (; !open.empty(); open.pop_back()) end(*open.back());
    scripted_ns = -1;
  }

 private:
  void* domain(const std::string& name) {
    if (name.empty()) return nullptr;
    auto [it, fresh] = domains_.try_emplace(name, nullptr);
    if (fresh) it->second = nvtx().domain(name.c_str());
    return it->second;
  }
  void begin(const Range& r) {
    using namespace collector::nvtx;
    scripted_ns = r.begin;
    if (r.domain.empty()) {
      nvtx().push(r.name.c_str());
      return;
    }
    EventAttributes a = NvtxClient::text(nullptr);
    a.message_type = kRegistered;
    a.message.registered = nvtx().string(domain(r.domain), r.name.c_str());
    struct {
      uint64_t communicator;
      size_t bytes;
    } values{r.communicator, static_cast<size_t>(r.bytes)};
    PayloadData data{(1 << 24) + 4, sizeof values, &values};
    if (r.bytes >= 0) {
      register_schema(domain(r.domain), data.schema);
      a.payload_type = kPayloadExtended;
      a.payload_count = 1;
      a.payload = reinterpret_cast<uint64_t>(&data);
    }
    nvtx().push(domain(r.domain), a);
  }
  void end(const Range& r) {
    scripted_ns = r.end;
    if (r.domain.empty()) {
      nvtx().pop();
    } else {
      nvtx().pop(domain(r.domain));
    }
  }
  const std::vector<Range>& ranges_;
  std::map<std::string, void*> domains_;
};

struct Script {
  std::map<uint32_t, std::vector<Range>> ranges;  // by the script's thread
  std::vector<std::string> records;               // the other lines
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> out;
  std::stringstream in(line);
  for (std::string f; std::getline(in, f, '\t');) out.push_back(f);
  return out;
}

// R begin end thread name domain communicator bytes; the rest is for play_record.
Script read_script(const char* path) {
  Script out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] != 'R') {
      if (!line.empty()) out.records.push_back(line);
      continue;
    }
    const auto f = fields_of(line);
    out.ranges[static_cast<uint32_t>(std::stoul(f.at(3)))].push_back(
        {std::stoll(f.at(1)), std::stoll(f.at(2)), f.at(4), f.size() > 5 ? f[5] : "",
         f.size() > 6 ? std::stoull(f[6]) : 0, f.size() > 7 ? std::stoll(f[7]) : -1});
  }
  return out;
}

void play_record(const Gpu& gpu, const std::string& line,
                 const std::map<uint32_t, uint32_t>& threads) {
  const auto f = fields_of(line);
  const auto n = [&](size_t i) { return std::stoull(f.at(i)); };
  const auto u = [&](size_t i) { return static_cast<uint32_t>(n(i)); };
  const auto thread = [&](size_t i) {
    const auto known = threads.find(u(i));
    return known == threads.end() ? u(i) : known->second;
  };
  static std::vector<std::string*> names;  // CUPTI's names live as long as the module
  switch (line[0]) {
    case 'K': {  // begin end device context stream correlation graph node name
      names.push_back(new std::string(f.at(9)));
      const SimKernel k{names.back()->c_str(), n(1), n(2), u(3), u(4), u(5), u(6), u(7), n(8)};
      return gpu.kernel(&k);
    }
    case 'C': {  // begin end bytes kind source target device context stream correlation
      const SimCopy c{n(1), n(2), n(3), u(4), u(5), u(6), u(7), u(8), u(9), u(10), 0, 0};
      return gpu.copy(&c);
    }
    case 'F': {  // begin end bytes device context stream correlation
      const SimFill c{n(1), n(2), n(3), u(4), u(5), u(6), u(7)};
      return gpu.fill(&c);
    }
    case 'A': {  // begin end thread correlation name
      const SimCall c{f.at(5).c_str(), n(1), n(2), thread(3), u(4)};
      if (gpu.call(&c) == 0) fail("the simulator knows no " + f.at(5));
      return;
    }
    case 'S': {  // begin end type stream event correlation
      const SimSync c{n(1), n(2), u(3), u(4), u(5), u(6)};
      return gpu.sync(&c);
    }
    case 'O': {  // begin end kind thread
      const SimOverhead c{n(1), n(2), u(3), u(4)};
      return gpu.overhead(&c);
    }
    case 'G': {  // begin end graph device context stream correlation
      const SimGraph c{n(1), n(2), u(3), u(4), u(5), u(6), u(7)};
      return gpu.graph(&c);
    }
    case 'M': {  // time bytes device allocation
      const SimMemory c{n(1), n(2), u(3), u(4)};
      return gpu.memory(&c);
    }
    default:
      fail("unknown line: " + line);
  }
}

}  // namespace

int play(const char* path) {
  const Script script = read_script(path);
  const Gpu gpu = initialise_cuda();
  std::map<uint32_t, uint32_t> threads;
  for (const auto& [id, ranges] : script.ranges) {
    uint32_t tid = 0;
    std::thread([&, &list = ranges] {
      tid = this_tid();
      ThreadPlayer(list).play();
    }).join();
    threads[id] = tid;
  }
  for (const std::string& line : script.records) play_record(gpu, line, threads);
  std::printf("played %zu records\n", script.records.size());
  return 0;
}

}  // namespace ws::test

// The recorder's clock is ours: dynamic linking finds this one first.
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t id, timespec* out) {
  if (id == CLOCK_MONOTONIC && ws::test::scripted_ns >= 0) {
    out->tv_sec = ws::test::scripted_ns / 1'000'000'000;
    out->tv_nsec = ws::test::scripted_ns % 1'000'000'000;
    return 0;
  }
  return static_cast<int>(::syscall(SYS_clock_gettime, id, out));
}
