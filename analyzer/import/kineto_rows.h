#pragma once
// Events become rows of a TraceBuilder: which category is what, which thread, which times.
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "import/kineto_device_rows.h"
#include "import/kineto_event.h"
#include "import/kineto_header.h"
#include "import/kineto_names.h"
#include "import/kineto_skipped.h"
#include "import/kineto_strings.h"
#include "model/trace_builder.h"

namespace ws::kineto {

class Rows {
 public:
  void add(const Event& event, const Place& place);
  void note(NoteCode code, const Place& place, int64_t count = 1);
  Notes& notes() { return builder_.trace.notes; }
  // False while nothing in the file was a record we know.
  bool any() const { return any_; }
  // Spends the rows. Sets all of the trace but path, format and rank.
  Trace finish(const Header& header);

 private:
  struct HostRow {
    Category category{};
    Interval span;
    StringId name{};
    Ids ids;
    uint32_t correlation = kNoCorrelation, collective = kNoRow;
    int64_t sequence = -1;
    bool graph_launch = false;
    Place place;
  };

  std::optional<TimeNs> time_of(const Token& token, bool device_record, const Place& place);
  StringId name_of(const Event& event, Category category, const Place& place, bool* wanted);
  HostRow host_row(const Event& event, Category category, StringId name, const Place& place);
  ThreadId thread_of(int64_t pid, int64_t tid);
  bool rejected(const Interval& span, const Place& place);

  void add_complete(const Event& event, Category category, const Place& place);
  void add_host(const HostRow& row);
  void place_host(const HostRow& row, ThreadId thread);
  void add_memory(const Event& event, const Place& place);
  void begin_slice(const Event& event, const Place& place);
  void end_slice(const Event& event, const Place& place);

  ProcessId host_process();
  void finish_host(ProcessId host);
  void finish_open_slices();
  void finish_notes();

  TraceBuilder builder_;
  DeviceRows device_;
  NameCache names_, calls_, python_;
  SkippedSpans skipped_;
  std::vector<HostRow> waiting_;  // rows that do not say their process
  std::map<std::pair<int64_t, int64_t>, std::vector<HostRow>> open_;  // B events by (pid, tid)
  struct KnownThread {
    int64_t pid = 0, tid = 0;
    ThreadId id = kNoThread;
  };
  KnownThread known_threads_[4];
  size_t next_known_ = 0;
  int64_t accelerator_rows_ = 0;
  bool any_ = false, finer_device_ = false, finer_host_ = false, pytorch_ = false;
};

}  // namespace ws::kineto
