#pragma once
// The ranks of one export while it is read: one TraceBuilder per process, or per group of processes
// that share a GPU. Names of the file are repaired and interned at most once per rank and use.
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "import/nsys_strings.h"
#include "model/trace_builder.h"

namespace ws::nsys {

// globalPid and globalTid are host (16 bits) | pid (24) | tid (24). A key is the first two.
enum class ProcessKey : int64_t {};
inline constexpr ProcessKey kUnknownProcess{-1};
constexpr ProcessKey process_key(int64_t global_id) {
  return static_cast<ProcessKey>(static_cast<uint64_t>(global_id) >> 24);
}
constexpr int64_t pid_of(ProcessKey key) {
  return key == kUnknownProcess ? -1 : static_cast<int64_t>(key) & 0xffffff;
}
constexpr int64_t host_of(ProcessKey key) { return static_cast<int64_t>(key) >> 24; }
constexpr int64_t tid_of(int64_t global_tid) { return global_tid & 0xffffff; }

// Times and durations beyond these are damage; inside them no sum of two overflows.
inline constexpr TimeNs kLatestNs = TimeNs{1} << 61;
inline constexpr TimeNs kLongestNs = TimeNs{1} << 50;  // 13 days
constexpr bool plausible(TimeNs begin_ns, TimeNs end_ns) {
  return begin_ns >= -kLatestNs && begin_ns <= kLatestNs && end_ns >= -kLatestNs &&
         end_ns <= kLatestNs && end_ns - begin_ns <= kLongestNs;
}

enum class NameUse : uint8_t { device_record, call, range };
inline constexpr size_t kNameUseCount = 3;

// A name of the file as a row gives it.
struct Name {
  int64_t id = 0;
  uint32_t position = kNoRow;  // in Strings, kNoRow: dangling
};

// A communicator as its creation in this process tells it.
struct Communicator {
  int64_t rank_count = -1, rank = -1;
};
using Communicators = std::map<std::string, Communicator, std::less<>>;  // by id

struct Rank {
  Rank(const Strings& file_strings, bool keeps_table)
      : strings(&file_strings), has_table(keeps_table) {}
  StringId name(NameUse use, Name name);
  StringId text(NameUse use, std::string_view bytes);  // not interned by the file
  ProcessId process(ProcessKey key) { return builder.process(pid_of(key)); }
  // Counts a record whose times can not be true; true when they can.
  bool accepts(TimeNs begin_ns, TimeNs end_ns, const Place& place);

  const Strings* strings;
  TraceBuilder builder;
  bool has_table = true;  // of interned names; hostile files have too many processes for tables
  bool has_device_records = false;
  int32_t mpi_rank = -1;  // from the name that MPI gives its threads
  Communicators communicators;
  std::array<std::vector<uint32_t>, kNameUseCount> known;  // row of the interned name, kNoRow
};

// What only a first reading can tell.
struct Layout {
  std::map<ProcessKey, ProcessKey> joined;    // process -> the one whose rank it shares
  ProcessKey only_process = kUnknownProcess;  // owner of records that name no process
  friend bool operator==(const Layout&, const Layout&) = default;
};

class Ranks {
 public:
  static constexpr size_t kMostRanks = 4096;  // of one export; the rest goes to the last one
  Ranks(const Strings& strings, Layout layout) : strings_(&strings), layout_(std::move(layout)) {}
  ProcessKey owner(ProcessKey key) const {
    return key == kUnknownProcess ? layout_.only_process : key;
  }
  Rank& of(ProcessKey key);  // key: an owner
  bool too_many() const { return too_many_; }
  const std::map<ProcessKey, std::unique_ptr<Rank>>& all() const { return ranks_; }

 private:
  const Strings* strings_;
  Layout layout_;
  std::map<ProcessKey, std::unique_ptr<Rank>> ranks_;
  std::map<ProcessKey, Rank*> by_process_;
  bool too_many_ = false;
};

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel", "cuMemcpyAsync_ptsz" likewise.
std::string_view without_abi_suffix(std::string_view call);

// PyTorch's emit_nvtx appends arguments: "aten::mm, op_id = 7", "mm, seq = 3, sizes = [...]".
struct RangeText {
  std::string_view name;
  int64_t sequence = -1;
};
RangeText split_range_text(std::string_view text);

}  // namespace ws::nsys
