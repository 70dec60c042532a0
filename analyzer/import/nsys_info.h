#pragma once
// What an export says of itself: version, clock, host, GPUs, the recorder's messages, and the few
// environment variables that matter. Command lines, users, paths and all other variables stay out.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "import/nsys_file.h"
#include "import/nsys_ranks.h"

namespace ws::nsys {

struct Gpu {             // a row of TARGET_INFO_GPU (or of the older TARGET_INFO_CUDA_GPU)
  int64_t id = -1;       // the table's own numbering; not the CUDA ordinal
  int64_t ordinal = -1;  // CUDA ordinal where the process sees all GPUs, -1: not said
  Device details;        // name, uuid, memory, ...
};
struct VisibleGpu {  // a row of TARGET_INFO_CUDA_DEVICE: what a CUDA ordinal means to a process
  int64_t gpu_id = -1;
  std::string uuid;
  int32_t sm_count = 0;
};
struct Message {  // of the recorder
  ProcessKey process{};
  bool is_loss = false;
  std::string text;  // one line, without paths
};

struct Info {
  std::string tool_version;
  std::string os;  // as Trace.os
  bool schema_newer = false;
  TimeNs clock_base_ns = 0;
  std::map<int64_t, std::string> host_names;  // by host bits
  std::vector<Gpu> gpus;
  std::map<std::pair<int64_t, int64_t>, VisibleGpu> visible;  // by pid and ordinal
  std::vector<Message> messages;
  int32_t environment_rank = -1, environment_world = 0;
  std::vector<std::pair<std::string, std::string>> settings;  // sorted, allowed names only
};
Result<Info> read_info(const File& file);

// Name, uuid and sizes of the device that `pid` knows as `ordinal`; what is not said stays empty.
Device find_device(const Info& info, int64_t pid, int32_t ordinal);
// Which GPU that is, to compare between processes; empty when the export does not say.
std::string physical_gpu(const Info& info, int64_t pid, int32_t ordinal);

// Words of a message that look like paths are replaced; one line, shortened.
std::string without_paths(std::string_view text);

}  // namespace ws::nsys
