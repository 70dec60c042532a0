#pragma once
// Trace: what was recorded of ONE rank (normally one process), as columns. Importers fill it only
// through TraceBuilder; after seal() it is read-only and every analysis is a function of it.
//
//   GpuOps    device records (kernels, copies, fills, whole graphs), sorted by (begin, row)
//   ApiCalls  CUDA/HIP runtime and driver calls, sorted by (begin, end descending)
//   HostRanges  NVTX, record_function, python, OS waits, profiler overhead, sorted likewise
//   ops.launch -> calls: the outermost call with the op's (process, correlation)
//
// Times are int64 ns on the source's clock; clock_base_ns + t is ns since the Unix epoch.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "base/time.h"
#include "model/names.h"
#include "model/notes.h"
#include "model/rare_column.h"

namespace ws {

struct Process {
  int64_t pid = -1;  // -1: not known
};

struct Thread {
  ProcessId process{};
  int64_t tid = -1;  // -1: pseudo thread (profiler overhead)
};

struct Device {
  int32_t ordinal = 0;       // CUDA ordinal, as the records say
  std::string name;          // "NVIDIA H100 80GB HBM3", may be empty
  std::string uuid;          // may be empty
  int64_t memory_bytes = 0;  // 0: not known
  int32_t sm_count = 0;      // 0: not known
  int32_t compute_major = 0, compute_minor = 0;
};

struct Stream {
  ProcessId process{};
  DeviceId device{};
  int64_t context = 0;
  int64_t number = 0;  // as the source numbers it; unique only inside (process, device, context)
};

struct GpuOps {
  std::vector<TimeNs> begin_ns, end_ns;  // end > begin after seal
  std::vector<StringId> name;            // full demangled name, "" for unnamed copies
  std::vector<StreamId> stream;
  std::vector<OpKind> kind;
  std::vector<uint32_t> launch;   // row of calls, kNoRow: no (unambiguous) launch recorded
  std::vector<uint32_t> copy;     // row of copies, kNoRow
  RareColumn<uint32_t, 0> graph;  // 0: not inside a graph; else id of the graph (never of a node)
  RareColumn<uint32_t, kNoRow> collective;  // row of collectives, kNoRow
  size_t size() const { return begin_ns.size(); }
};

struct ApiCalls {
  std::vector<TimeNs> begin_ns, end_ns;  // end >= begin
  std::vector<StringId> name;            // ABI suffix stripped: cudaLaunchKernel, cuLaunchKernelEx
  std::vector<ThreadId> thread;
  size_t size() const { return begin_ns.size(); }
};

enum class RangeSource : uint8_t {
  nvtx,             // push/pop: nests on its thread
  nvtx_start_end,   // no thread's state: thread is kNoThread unless both ends share one
  mark,             // begin == end
  user_annotation,  // record_function of the user, ProfilerStep
  cpu_op,           // framework operator
  python,           // only those that analyses ask for (garbage collection, data loading)
  os_runtime,       // blocking C library call
  overhead,         // the profiler's own work, code loading reported by the driver
  gpu_annotation    // range projected to the device: never used for host state
};

struct HostRanges {
  std::vector<TimeNs> begin_ns, end_ns;
  std::vector<StringId> name;
  std::vector<ThreadId> thread;  // kNoThread possible
  std::vector<RangeSource> source;
  std::vector<uint32_t> collective;  // row of collectives: NCCL range or record_param_comms
  std::vector<int64_t> sequence;     // autograd forward sequence number, -1: none
  size_t size() const { return begin_ns.size(); }
};

struct Copy {
  int64_t bytes = 0;
  bool pageable = false;  // one side is pageable host memory
  bool pinned = false;    // one side is pinned host memory, none pageable; neither: not told
};

// What the source says of a collective; empty / -1: not said. Meaning is given by analysis/.
struct CollectiveInfo {
  StringId name{};        // "allreduce", "ncclAllReduce", "_allgather_base"
  StringId group_name{};  // process group name or communicator id
  StringId group_desc{};  // "TENSOR_MODEL_PARALLEL_GROUP", ...
  StringId members{};     // world ranks "0,1,2,3", only when complete
  StringId dtype{};
  int64_t group_size = -1;
  int64_t in_elements = -1, out_elements = -1;
  int64_t bytes = -1;  // payload when the source gives bytes rather than elements
  int64_t sequence = -1;
  int64_t peer = -1, root = -1;  // rank inside the group
};

struct MemoryEvent {
  TimeNs time_ns = 0;
  DeviceId device{};
  int64_t delta_bytes = 0;       // > 0 allocation
  int64_t allocated_bytes = -1;  // total after it, -1: not said
  int64_t reserved_bytes = -1;
};

enum class SyncKind : uint8_t { unknown, event, stream_wait, stream, context };
struct SyncRecord {       // as many as calls that wait: kept small
  int64_t stream = -1;    // number, -1: all or not said
  int64_t event_id = -1;  // -1: none
  int64_t sync_id = -1;   // eventSyncId where recorded: joins a wait to its record
  uint32_t call = kNoRow;
  SyncKind kind = SyncKind::unknown;
};
struct EventRecord {  // cudaEventRecord
  int64_t stream = -1, event_id = -1, sync_id = -1;
  uint32_t call = kNoRow;
};

// A process group the file declares (torch distributedInfo.pg_config, NCCL init).
struct GroupConfig {
  std::string name, description;
  std::vector<int64_t> ranks;  // world ranks, may be empty
};

// What recording cost, as our recorder says it; -1: not said.
struct RecorderCost {
  TimeNs window_ns = -1;      // in which records were taken
  TimeNs tool_ns = -1;        // CUPTI's own work inside it
  TimeNs writer_cpu_ns = -1;  // of the recorder's thread, over the whole process
  // Median distance of step begins outside and inside the window.
  TimeNs bare_step_ns = -1, recorded_step_ns = -1;
};

struct Trace {
  // identity
  int32_t rank = 0;
  RankSource rank_source = RankSource::order;
  int32_t world_size = 0;    // 0: not known
  int32_t host = 0;          // hosts are numbered in order of appearance; names are kept apart
  std::string host_name;     // printed only with --show-names
  std::string path;          // of the source file as given; reports print the base name
  std::string format;        // "nsys-sqlite", "kineto-json", "wallsight-recording"
  std::string tool_version;  // "2025.3.1 (schema 3.20.2)", "torch profiler schema 1", ...
  std::string framework;     // as far as names tell: framework_of
  std::string os;            // of the recorded machine: "linux", "windows", empty: not told
  // Recorded environment variables that advice speaks of (NCCL_*, PYTORCH_CUDA_ALLOC_CONF, ...),
  // sorted by name; never paths, addresses or anything else of the environment.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::string> arguments;  // the recorded command; never printed
  RecorderCost recorder;
  TimeNs clock_base_ns = 0;
  TimeNs tick_ns = 1;  // resolution of the source's times: 1 or 1000
  bool has_api_records = false, has_host_ranges = false, graphs_as_a_whole = false;
  bool lies_inside_a_step = false;  // the recorder says so: what repeats here are no steps
  Interval capture{};               // first to last record of any kind

  StringPool strings;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<Device> devices;  // only devices with records or named by the file
  std::vector<Stream> streams;
  GpuOps ops;
  std::vector<std::vector<uint32_t>> ops_by_device;  // per row of devices: rows of ops, in order
  ApiCalls calls;
  HostRanges ranges;
  std::vector<Copy> copies;
  std::vector<CollectiveInfo> collectives;
  std::vector<MemoryEvent> memory;
  std::vector<SyncRecord> syncs;
  std::vector<EventRecord> event_records;
  std::vector<GroupConfig> groups;
  Notes notes;

  DeviceId device_of(size_t op) const { return streams[row(ops.stream[op])].device; }
  ProcessId process_of(size_t op) const { return streams[row(ops.stream[op])].process; }
};

}  // namespace ws
