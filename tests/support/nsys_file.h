#pragma once
// Writes small Nsight Systems exports: tables appear with their first row, as nsys makes them.
//
//   NsysFile file;
//   file.add(NsysCall{.begin_ns = 10, .end_ns = 12, .name = "cudaLaunchKernel_v7000", .correlation
//   = 5}); file.add(NsysKernel{.begin_ns = 20, .end_ns = 30, .name = "gemm", .correlation = 5});
//   auto traces = read_file(file.finish());
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/sqlite.h"

namespace ws::test {

// old: 2020/21, 26 kernel columns, no metadata, no graph ids, no payloads. current: 2026.
enum class NsysLayout { old, current };

struct NsysKernel {
  int64_t begin_ns = 0, end_ns = 0;
  std::string name{};
  int64_t correlation = 0;  // 0: NULL
  int64_t pid = 1000, device = 0, context = 1, stream = 7;
  int64_t graph = 0, node = 0;
};
struct NsysCopy {
  int64_t begin_ns = 0, end_ns = 0, bytes = 0;
  int64_t kind = 1;  // 1 host to device, 2 device to host, 8 device to device, 10 peer
  int64_t correlation = 0;
  int64_t src_kind = 1, dst_kind = 2;  // 0 pageable, 1 pinned, 2 device
  int64_t pid = 1000, device = 0, context = 1, stream = 7;
  int64_t node = 0;
};
struct NsysFill {
  int64_t begin_ns = 0, end_ns = 0, bytes = 0;
  int64_t correlation = 0;
  int64_t pid = 1000, device = 0, context = 1, stream = 7;
  int64_t node = 0;
};
struct NsysGraphRun {  // recorded as a whole
  int64_t begin_ns = 0, end_ns = 0, graph = 1;
  int64_t correlation = 0;
  int64_t pid = 1000, device = 0, context = 1, stream = 7;
};
struct NsysCall {
  int64_t begin_ns = 0, end_ns = 0;
  std::string name{};
  int64_t correlation = 0;
  int64_t pid = 1000, tid = 1000;
};
struct NsysRange {
  int64_t begin_ns = 0;
  std::optional<int64_t> end_ns{};
  std::string name{};
  int64_t type = 59;  // 34 mark, 39 thread name, 59 push/pop, 60 start/end, 75 domain
  int64_t pid = 1000, tid = 1000;
  std::optional<int64_t> end_tid{};
  int64_t domain = 0;
  std::string json{};       // payload, current layout only
  bool registered = false;  // name through StringIds
};
struct NsysSync {
  int64_t begin_ns = 0, end_ns = 0;
  int64_t type = 3;  // 1 event, 2 stream wait, 3 stream, 4 context
  int64_t correlation = 0;
  int64_t pid = 1000, stream = 7, event = 0xffffffff;
};
struct NsysEventRecord {
  int64_t correlation = 0;
  int64_t pid = 1000, stream = 7, event = 1;
};
struct NsysWait {  // OS runtime call
  int64_t begin_ns = 0, end_ns = 0;
  std::string name{};
  int64_t pid = 1000, tid = 1000;
};
struct NsysOverhead {
  int64_t begin_ns = 0, end_ns = 0;
  std::string name{};
  int64_t type = 0;    // current layout only
  bool cupti = false;  // CUPTI_ACTIVITY_KIND_OVERHEAD rather than PROFILER_OVERHEAD
  int64_t pid = 1000, tid = 0;
};

class NsysFile {
 public:
  explicit NsysFile(NsysLayout layout = NsysLayout::current);
  NsysFile(const NsysFile&) = delete;
  NsysFile& operator=(const NsysFile&) = delete;
  ~NsysFile();  // removes the file

  void add(const NsysKernel& k);
  void add(const NsysCopy& c);
  void add(const NsysFill& f);
  void add(const NsysGraphRun& g);
  void add(const NsysCall& c);
  void add(const NsysRange& r);
  void add(const NsysSync& s);
  void add(const NsysEventRecord& e);
  void add(const NsysWait& w);
  void add(const NsysOverhead& o);
  void add_metadata(std::string_view name, std::string_view value);  // META_DATA_EXPORT
  void add_capture(std::string_view name, std::string_view value);   // META_DATA_CAPTURE
  void add_system(std::string_view name, std::string_view value);    // TARGET_INFO_SYSTEM_ENV
  void add_message(int64_t severity, std::string_view text, int64_t pid = 0);
  void add_gpu(int64_t id, int64_t ordinal, std::string_view name, std::string_view uuid);
  void add_visible_gpu(int64_t pid, int64_t ordinal, int64_t gpu_id, std::string_view uuid);
  void set_start(int64_t utc_epoch_ns);
  int64_t string(std::string_view text);  // its id in StringIds
  void sql(std::string_view statement);   // anything else

  // Commits and closes; rows can not be added any more. Returns the path.
  const std::string& finish();

 private:
  struct Value;
  const std::set<std::string>& need(const char* table);  // its columns
  void insert(const char* table, std::initializer_list<std::pair<const char*, Value>> values);

  NsysLayout layout_;
  std::string path_;
  std::optional<Database> db_;
  std::map<std::string, std::set<std::string>> tables_;  // and their columns
  std::map<std::string, int64_t, std::less<>> strings_;
};

inline constexpr int64_t kNsysHost = 1;
constexpr int64_t nsys_global(int64_t pid, int64_t tid = 0) {
  return kNsysHost << 48 | pid << 24 | tid;
}

// A file name in the folder for temporary files; nothing is made.
std::string temporary_path(std::string_view ending);

}  // namespace ws::test
