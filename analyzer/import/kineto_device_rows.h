#pragma once
// Kernels, copies, fills, synchronisation records and memory events of one file. They wait until
// the end: the calls that say which process and which graph launch they belong to may come later.
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "import/kineto_event.h"
#include "import/kineto_header.h"
#include "import/kineto_names.h"
#include "import/kineto_text.h"
#include "model/trace_builder.h"

namespace ws::kineto {

uint32_t correlation_of(const Event& event);
// Collective metadata of a kernel or of record_param_comms; kNoRow when there is none. "wait" is
// no collective.
uint32_t add_collective(const Event& event, TraceBuilder& builder);

class DeviceRows {
 public:
  void add_op(const Event& event, Category category, const Interval& span, StringId name,
              const Ids& ids, TraceBuilder& builder);
  void add_sync(const Event& event);
  void add_memory(const Event& event, TimeNs time_ns);
  void add_call(uint32_t correlation, ProcessId process, bool graph_launch);
  size_t op_count() const { return ops_.size(); }

  // Adds everything to the builder. `host` is the process to which rows go that no call claims.
  void finish(TraceBuilder& builder, ProcessId host, const Header& header);
  // Processes that made calls, in order of appearance.
  const std::vector<ProcessId>& callers() const { return callers_; }

 private:
  struct Where {  // a handful per file
    int32_t device = 0;
    int64_t context = 0, stream = 0;
    friend bool operator==(const Where& a, const Where& b) {
      return a.device == b.device && a.context == b.context && a.stream == b.stream;
    }
    friend bool operator<(const Where& a, const Where& b) {
      if (a.device != b.device) return a.device < b.device;
      return a.context != b.context ? a.context < b.context : a.stream < b.stream;
    }
  };
  struct CallKey {
    uint32_t correlation = kNoCorrelation;
    ProcessId process{};
  };
  struct Sync {
    SyncRecord row;
    uint32_t correlation = kNoCorrelation;
    int64_t record_stream = -1, record_correlation = -1;
  };
  struct Memory {
    MemoryEvent row;
    int32_t device = 0;
  };

  uint32_t row_of(const Where& where);
  void prepare_processes(ProcessId host);
  ProcessId process_of(uint32_t correlation) const;
  uint32_t graph_of(const OpRow& op, ProcessId process) const;
  void finish_ops(TraceBuilder& builder);
  void finish_syncs(TraceBuilder& builder);
  void finish_memory(TraceBuilder& builder);

  std::vector<OpRow> ops_;  // `stream` holds the row of wheres_
  std::vector<Where> wheres_;
  std::map<Where, uint32_t> where_rows_;
  uint32_t last_where_ = 0;
  std::vector<Sync> syncs_;
  std::vector<Memory> memory_;
  std::vector<CallKey> calls_, graph_launches_;
  std::vector<ProcessId> callers_;
  ProcessId host_{};
  std::unordered_map<uint32_t, ProcessId> process_of_correlation_;  // with several callers only
  std::unordered_map<uint64_t, uint32_t> graph_of_launch_;          // (process, correlation)
};

}  // namespace ws::kineto
