#pragma once
// Notes: what was dropped, repaired, assumed or could not be seen, counted per code. A bad record
// costs one record and one count; the report shows every note under "what I could not see".
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ws {

enum class Severity : uint8_t { info, warning, data_loss };
std::string_view name_of(Severity v);

// One row of the catalogue in notes.cpp per code: severity, sentence, advice.
enum class NoteCode : uint8_t {
  // records dropped or repaired
  negative_duration,
  zero_timestamp,
  time_out_of_range,
  unfinished_range,
  clipped_kernel,
  duplicate_record,
  junk_event,
  bad_number,
  repaired_string,
  missing_thread,
  bad_event,
  crossing_ranges,
  unknown_string,
  missing_process,
  ambiguous_correlation,
  kernel_before_launch,
  correlation_missing,
  trailing_comma,
  duplicate_key,
  // the file as a whole
  truncated_file,
  damaged_file,
  recording_unfinished,
  recording_rotated,
  schema_newer,
  missing_gpu_records,
  missing_api_records,
  no_host_ranges,
  no_gpu_events,
  other_accelerator,
  graph_level_trace,
  records_lost,
  recorder_message,
  microsecond_clock,
  missing_payload_json,
  // the run
  rank_unknown,
  rank_left_out,
  rank_from_file_name,
  rank_from_environment,
  two_files_one_rank,
  peers_missing,
  file_skipped,
  file_unreadable,
  repeated_input,
  folders_not_read,
  selection,
  rank_not_found,
  selection_not_found,
  range_not_found,
  mixed_formats,
  // analysis
  steps_unknown,
  step_marks_empty,
  step_incomplete,
  steps_disagree,
  unclassified_kernels,
  kinds_guessed,
  kinds_unknown,
  constants_default,
  first_step_left_out,
  outlier_step,
  profiler_overhead,
  unsplit_collectives,
  unmatched_collectives,
  deselected_collectives,
  inconsistent_collectives,
  incomplete_collectives,
  clock_drift,
  clocks_unknown,
  clock_violations,
  recompute_estimated,
  recompute_inferred,
  processes_share_device,
  what_if_not_available,
  // the run configuration
  config_recorded,
  config_contradicted,
  rate_withheld,
  config_unclear,
  config_keys_unused,
  count_  // keep last
};

struct NoteInfo {
  std::string_view id;  // stable, snake_case
  Severity severity;
  std::string_view text;    // one sentence, no full stop
  std::string_view advice;  // what the user can do, may be empty
};
const NoteInfo& info_of(NoteCode code);

struct Note {
  NoteCode code{};
  int64_t count = 0;
  std::string first_place;  // "event 12, byte 3456", "CUPTI_ACTIVITY_KIND_KERNEL row 7", ...
  std::string detail;       // extra words for this run, may be empty
};

class Notes {
 public:
  void add(NoteCode code, std::string_view place = {}, int64_t count = 1,
           std::string_view detail = {});
  void merge(const Notes& other);
  int64_t count(NoteCode code) const;
  const std::vector<Note>& all() const { return notes_; }  // in order of first appearance
  bool wants_place(NoteCode code) const {
    return count(code) == 0;
  }  // format places only when needed

 private:
  std::vector<Note> notes_;
};

// The file ends early or is damaged: records of any step may be missing.
bool is_incomplete(const Notes& notes);

}  // namespace ws
