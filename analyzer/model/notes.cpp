#include "model/notes.h"

#include <array>

#include "base/check.h"

namespace ws {
namespace {

constexpr auto kInfo = Severity::info;
constexpr auto kWarn = Severity::warning;
constexpr auto kLoss = Severity::data_loss;

// In the order of NoteCode; notes_test checks that ids are unique and the table is complete.
constexpr std::array<NoteInfo, static_cast<size_t>(NoteCode::count_)> kNotes = {{
    {"negative_duration", kWarn, "records ended before they began (unfinished) and were left out",
     ""},
    {"zero_timestamp", kLoss,
     "records had time 0 and length 0: the recorder could not collect their times; left out",
     "record a shorter window, or lower the profiler's buffer pressure"},
    {"time_out_of_range", kLoss,
     "records had times out of range (more than 146 years from the clock's zero) and were left out",
     "give the file as the profiler wrote it, or record again"},
    {"unfinished_range", kInfo, "ranges were still open when the recording ended and were left out",
     ""},
    {"clipped_kernel", kWarn,
     "kernels claimed to outlast their successor on the same stream and were clipped at its start",
     ""},
    {"duplicate_record", kInfo, "device records appeared twice and were counted once", ""},
    {"junk_event", kWarn, "entries of the event list were not usable events and were skipped", ""},
    {"bad_number", kWarn, "values were not finite or not numbers and were taken as missing", ""},
    {"repaired_string", kWarn,
     "names held invalid escapes, control bytes or invalid UTF-8 and were repaired", ""},
    {"missing_thread", kInfo, "host events lacked a process or thread id; they keep their time",
     ""},
    {"bad_event", kWarn, "events could not be read and were skipped", ""},
    {"crossing_ranges", kInfo, "host ranges of one thread cross instead of nesting", ""},
    {"unknown_string", kWarn,
     "names refer to strings that are not in the file; shown as 'unknown #id'", ""},
    {"missing_process", kInfo,
     "device records without a process were given to the only process there is", ""},
    {"ambiguous_correlation", kWarn,
     "correlation ids were shared by unrelated calls: launches were not linked", ""},
    {"kernel_before_launch", kInfo,
     "device records start before their own launch call; the launch delay is taken as 0", ""},
    {"correlation_missing", kInfo, "device records have no launch call in this file",
     "record CUDA API calls together with the kernels, from before the first step"},
    {"trailing_comma", kInfo, "trailing commas were tolerated", ""},
    {"duplicate_key", kInfo, "objects held the same key twice; the last one counts", ""},
    {"truncated_file", kLoss, "the file is cut off; what stands before the cut was read",
     "record again, and let the profiler finish writing"},
    {"damaged_file", kLoss, "the file is damaged; what could be read was read",
     "copy it again and compare checksums (gzip -t), or record again"},
    {"recording_unfinished", kWarn,
     "the process ended before its recording did: what it did in its last second may be missing",
     ""},
    {"recording_rotated", kInfo,
     "earlier records were removed to keep the recording below its size cap",
     "give `wallsight record` a larger --max-file-mb or a shorter window"},
    {"schema_newer", kWarn,
     "the export's schema is newer than any tested here; columns were read by name", ""},
    {"missing_gpu_records", kWarn, "launch calls have no device record",
     "capture kernels of the whole window; check the profiler's capture range and buffers"},
    {"missing_api_records", kWarn,
     "no CUDA API calls were recorded: idle time can not be explained",
     "nsys: --trace=cuda,nvtx; torch.profiler: ProfilerActivity.CPU and ProfilerActivity.CUDA"},
    {"no_host_ranges", kInfo, "no host ranges were recorded: steps and host causes are guessed",
     "nsys: --trace=cuda,nvtx with NVTX ranges per step; torch.profiler: call prof.step()"},
    {"no_gpu_events", kLoss, "no GPU activity was recorded",
     "torch.profiler: ProfilerActivity.CUDA; nsys: --trace=cuda, --trace-fork-before-exec=true for "
     "child processes, check the capture range; check that CUPTI is not in use by another tool"},
    {"other_accelerator", kLoss,
     "the file holds work of an accelerator that is no GPU: it is not read",
     "analyze a recording of the same training on a CUDA or ROCm GPU"},
    {"graph_level_trace", kWarn,
     "CUDA graphs were recorded as a whole: what runs inside them is unknown",
     "nsys profile --cuda-graph-trace=node"},
    {"records_lost", kLoss, "the recorder says that it lost records",
     "record a shorter window or fewer activities"},
    {"recorder_message", kInfo, "the recorder left messages", ""},
    {"microsecond_clock", kInfo, "times have a resolution of 1 microsecond: short gaps are blurred",
     "a newer PyTorch writes nanoseconds"},
    {"missing_payload_json", kInfo,
     "NCCL ranges carry no payload: sizes and communicators are unknown",
     "nsys export --type=sqlite --include-json=true"},
    {"rank_unknown", kInfo, "no file says which rank it is; shown as rank 0, 1, ... in order", ""},
    {"rank_left_out", kLoss,
     "the records of a rank are incomplete: the run was analyzed without it",
     "record or copy this rank again"},
    {"rank_from_file_name", kInfo, "the rank was taken from the file name", ""},
    {"rank_from_environment", kInfo, "the rank was taken from the recorded environment", ""},
    {"two_files_one_rank", kWarn,
     "two files claim one rank; both are kept apart, the later one under a free number",
     "analyze one file per rank"},
    {"peers_missing", kWarn,
     "only some ranks of the job were recorded: waiting and transfer can not be told apart",
     "record all ranks of one communicator in the same steps and analyze the files together"},
    {"file_skipped", kInfo, "files in the folder are not traces and were skipped", ""},
    {"file_unreadable", kWarn, "a file looks like a trace and can not be read",
     "copy or record it again: its rank is missing here"},
    {"repeated_input", kInfo, "files were given more than once and read once", ""},
    {"folders_not_read", kInfo, "folders in the folder hold traces that were not read",
     "give them as inputs as well if they hold ranks of the same run"},
    {"selection", kInfo, "only a selected part was analyzed", ""},
    {"rank_not_found", kWarn, "ranks that --rank names are not in the input", ""},
    {"selection_not_found", kWarn, "--step or --time chose nothing of this recording", ""},
    {"range_not_found", kWarn,
     "no host range has the name that --step-range gives: steps were found another way",
     "the name as it stands in the recording, without its number"},
    {"mixed_formats", kInfo, "the ranks come from different recorders", ""},
    {"steps_unknown", kWarn, "no steps were found: the whole recording is one window",
     "name the range that is one step with --step-range, if there is one; else, with "
     "torch.profiler: call prof.step() every iteration; nsys: an NVTX range per iteration, for "
     "example torch.cuda.nvtx.range_push(\"iteration\")"},
    {"step_marks_empty", kWarn,
     "step marks are there and have no length, so they mark no time: the whole recording is one "
     "window",
     "open the range that is one step before its work and close it behind it; a tool that has "
     "changed the file may have lost the lengths"},
    {"step_incomplete", kInfo, "steps were cut by the recording or its faults and were left out",
     ""},
    {"steps_disagree", kWarn, "two ways to find steps disagree by more than 2 %", ""},
    {"unclassified_kernels", kInfo, "kernels above 1 % of the time are of no known class",
     "add a row to rules/kernel_classes.json"},
    {"kinds_guessed", kInfo,
     "communicators have no telling name: their parallel dimension was guessed from patterns",
     "name the process groups (PyTorch: group_desc of new_group)"},
    {"kinds_unknown", kInfo, "the parallel dimension of some communicators is unknown",
     "name the process groups (PyTorch: group_desc of new_group)"},
    {"constants_default", kInfo,
     "too few launches to measure a constant of the device, its default was used", ""},
    {"first_step_left_out", kInfo, "the first step was left out of the mean as warm-up", ""},
    {"outlier_step", kInfo, "steps stand out from the others", ""},
    {"profiler_overhead", kWarn, "the profiler itself took time that was recorded",
     "record fewer activities or a shorter window"},
    {"unsplit_collectives", kInfo,
     "collectives are not split into waiting and transfer: their other members are not in the "
     "recordings or could not be matched",
     "record the same steps on all ranks of the communicator"},
    {"unmatched_collectives", kInfo,
     "collectives are not split into waiting and transfer: all ranks are recorded, but no record "
     "of "
     "theirs is the other side of these",
     ""},
    {"deselected_collectives", kInfo,
     "collectives are not split into waiting and transfer: --rank left out the ranks that the "
     "other side of these is on",
     "analyze without --rank, or name all ranks of the communicator"},
    {"inconsistent_collectives", kWarn,
     "collectives that should be one name different operations on different ranks and were not "
     "split",
     "record sequence numbers: torch 2.4 or later, or nsys with NCCL's NVTX ranges"},
    {"incomplete_collectives", kInfo,
     "collectives lack members: records of some ranks are missing, they were not split", ""},
    {"clock_drift", kInfo,
     "clocks of ranks run faster or slower than the first rank's: their times were put right", ""},
    {"clocks_unknown", kWarn,
     "no collective tells whether the clocks of the ranks agree, and they can not be right as "
     "recorded: waiting and transfer were not told apart",
     "record a step with an all-reduce or barrier, or synchronise the hosts' clocks"},
    {"clock_violations", kInfo,
     "on the common clock some ranks leave a collective before the last one arrives: waits of "
     "these collectives are rough",
     ""},
    {"recompute_estimated", kInfo, "recompute is estimated from counts of kernels, not from ranges",
     "record with host ranges of the backward pass"},
    {"recompute_inferred", kInfo,
     "recompute is inferred: forward operators or kernels run inside the backward pass, and no "
     "range names it",
     ""},
    {"processes_share_device", kInfo, "several processes share one GPU and are shown as one rank",
     ""},
    {"what_if_not_available", kInfo, "changes were not re-simulated", ""},
    {"config_recorded", kInfo, "the run configuration was read from the recorded command",
     "--config FILE counts instead of it"},
    {"config_contradicted", kWarn,
     "the run configuration is not what was recorded: the recording counts",
     "give the configuration of this run, or look in the log why the setting did not take effect"},
    {"rate_withheld", kWarn, "tokens per second, TFLOPS and MFU are left out", ""},
    {"config_unclear", kInfo, "a setting of the run configuration was not used", ""},
    {"config_keys_unused", kInfo, "settings of the run configuration that no rule reads", ""},
}};

}  // namespace

std::string_view name_of(Severity v) {
  switch (v) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::data_loss:
      break;
  }
  return "data_loss";
}

const NoteInfo& info_of(NoteCode code) {
  WS_CHECK(code < NoteCode::count_);
  return kNotes[static_cast<size_t>(code)];
}

void Notes::add(NoteCode code, std::string_view place, int64_t count, std::string_view detail) {
  for (Note& n : notes_) {
    if (n.code == code && n.detail == detail) {
      n.count += count;
      return;
    }
  }
  notes_.push_back({code, count, std::string(place), std::string(detail)});
}

void Notes::merge(const Notes& other) {
  for (const Note& n : other.notes_) add(n.code, n.first_place, n.count, n.detail);
}

bool is_incomplete(const Notes& notes) {
  return notes.count(NoteCode::truncated_file) + notes.count(NoteCode::damaged_file) > 0;
}

int64_t Notes::count(NoteCode code) const {
  int64_t total = 0;
  for (const Note& n : notes_) {
    if (n.code == code) total += n.count;
  }
  return total;
}

}  // namespace ws
