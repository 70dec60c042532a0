// The files of one process are one Trace. Everything that they can not give is said: damage and
// losses as notes, what was removed to stay below the size cap, and the end of a process that died
// before its recording ended.
// Tested by: recording_test.cpp, recording_damage_test.cpp, recording_segments_test.cpp
#include "import/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "import/framework.h"
#include "import/recording_frames.h"
#include "import/recording_rows.h"
#include "import/recording_segments.h"
#include "import/settings.h"

namespace ws {
namespace recording {
namespace {

constexpr TimeNs kLongest = TimeNs{1} << 52;  // 52 days

struct File {  // what is known beside the rows
  Process process;
  bool has_process = false, has_footer = false;
  TimeNs clock_base_ns = 0;
  uint64_t open_ranges = 0, frames_before = 0;
  RecorderCost cost;
  std::vector<TimeNs> bare_steps, recorded_steps;
  std::vector<Loss> losses;
  std::vector<Message> messages;
};

// All files of a process while they are read.
struct Reading {
  File file;
  std::unique_ptr<Rows> rows;
  Damage damage;
  std::optional<uint64_t> first_sequence;
  uint64_t bad_chunks = 0;
  std::string first_bad;
};

int64_t count_of(uint64_t n) { return static_cast<int64_t>(std::min<uint64_t>(n, INT64_MAX)); }

std::string shown(std::string_view bytes) { return one_line(to_utf8(bytes)); }

void take_facts(const Chunk& c, File& file) {
  if (c.has_process) {  // the last one knows most
    file.process = c.process;
    file.has_process = true;
  }
  constexpr TimeNs kLatest = TimeNs{1} << 61;
  const bool clock = c.monotonic_ns >= 0 && c.monotonic_ns < kLatest && c.realtime_ns >= 0 &&
                     c.realtime_ns < kLatest;
  if (clock && file.clock_base_ns == 0) file.clock_base_ns = c.realtime_ns - c.monotonic_ns;
  if (c.has_footer) {
    file.has_footer = true;
    file.open_ranges = c.open_ranges;
    file.cost.writer_cpu_ns = std::min(count_of(c.writer_cpu_ns), kLongest);
  }
  for (const Window& w : c.windows) {
    const bool whole = w.armed_ns > 0 && w.armed_ns <= w.disarmed_ns && w.disarmed_ns < kLatest;
    const TimeNs before = std::max<TimeNs>(0, file.cost.window_ns);
    if (whole) file.cost.window_ns = std::min(kLongest, before + w.disarmed_ns - w.armed_ns);
  }
  constexpr size_t kMost = 200, kMostSteps = 10'000;
  const Table& steps = c.table(kSteps);
  for (size_t i = 0; i < steps.rows; ++i) {
    auto& list = steps.at(3, i) != 0 ? file.recorded_steps : file.bare_steps;
    const TimeNs took = steps.at(2, i);
    if (took > 0 && took < kLongest && list.size() < kMostSteps) list.push_back(took);
  }
  for (const Loss& l : c.losses) {
    const auto same = std::find_if(file.losses.begin(), file.losses.end(),
                                   [&](const Loss& known) { return known.source == l.source; });
    if (same != file.losses.end()) {
      same->count += std::min(l.count, UINT64_MAX - same->count);
    } else if (file.losses.size() < kMost) {
      file.losses.push_back(l);
    }
  }
  for (const Message& m : c.messages) {  // later segments say them again
    const bool known =
        std::any_of(file.messages.begin(), file.messages.end(),
                    [&](const Message& k) { return k.topic == m.topic && k.text == m.text; });
    if (!known && file.messages.size() < kMost) file.messages.push_back(m);
  }
}

void note_losses(const std::vector<Loss>& losses, Notes& notes) {
  for (const Loss& l : losses) {
    const int64_t count = std::max<int64_t>(1, count_of(l.count));
    switch (l.source) {  // LossSource of recording.proto
      case 3:
        notes.add(NoteCode::zero_timestamp, {}, count);
        break;
      case 5:
        notes.add(NoteCode::unknown_string, {}, count, "too many names for the recorder");
        break;
      case 7:
        notes.add(NoteCode::recorder_message, {}, count,
                  "the recorder stopped taking API calls to spare the job");
        break;
      default: {
        constexpr std::string_view kWhy[] = {"",
                                             "CUPTI dropped records",
                                             "the recorder's buffers were full",
                                             "",
                                             "a thread's ring of ranges was full",
                                             "",
                                             "the file had reached its cap or the disk was full"};
        notes.add(NoteCode::records_lost, {}, count,
                  l.source < std::size(kWhy) ? kWhy[l.source] : std::string_view());
      }
    }
  }
}

void note_damage(const Damage& damage, bool ended, uint64_t bad_chunks, Notes& notes) {
  const uint64_t frames =
      std::max<uint64_t>(damage.missing_frames + bad_chunks, damage.skipped_bytes > 0 ? 1 : 0);
  if (frames > 0) {
    notes.add(NoteCode::records_lost,
              damage.first_byte < 0 ? std::string() : fmt::format("byte {}", damage.first_byte),
              count_of(frames), "frames of the file are damaged or missing");
  }
  if (ended) return;
  notes.add(NoteCode::recording_unfinished, {}, 1,
            damage.tail_bytes > 0 ? "the last frame is torn" : "");
}

// -1: too few to say anything.
TimeNs median_of(std::vector<TimeNs> values) {
  constexpr size_t kFewest = 3;
  if (values.size() < kFewest) return -1;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void set_identity(const File& file, TimeNs tool_ns, const std::string& path, Trace& trace) {
  const Process& p = file.process;
  trace.path = path;
  trace.format = kRecordingImporter.name;
  trace.os = "linux";  // the recorder exists for nothing else
  trace.tool_version = shorten(shown(p.recorder_version), 20);
  if (p.cupti_version > 0) trace.tool_version += fmt::format(", CUPTI {}", p.cupti_version);
  trace.host_name = shown(p.host);
  trace.clock_base_ns = file.clock_base_ns;
  if (p.rank >= 0 && p.rank <= INT32_MAX) {
    trace.rank = static_cast<int32_t>(p.rank);
    trace.rank_source = RankSource::environment;
    if (p.world_size > 0 && p.world_size <= INT32_MAX)
      trace.world_size = static_cast<int32_t>(p.world_size);
  }
  for (const auto& [name, value] : p.settings) {
    if (is_setting(name, value)) trace.settings.emplace_back(shown(name), shown(value));
  }
  std::sort(trace.settings.begin(), trace.settings.end());
  for (const std::string& a : p.arguments) trace.arguments.push_back(to_utf8(a));
  trace.recorder = file.cost;
  trace.recorder.tool_ns = std::min(tool_ns, kLongest);
  trace.recorder.bare_step_ns = median_of(file.bare_steps);
  trace.recorder.recorded_step_ns = median_of(file.recorded_steps);
  trace.framework = framework_of(trace);
}

Trace finish(const File& file, Rows& rows, const std::string& path) {
  rows.finish();
  const TimeNs tool_ns = file.process.cupti_version > 0 ? rows.overhead_ns() : -1;
  Trace& open = rows.builder.trace;
  std::stable_sort(
      open.memory.begin(), open.memory.end(),
      [](const MemoryEvent& a, const MemoryEvent& b) { return a.time_ns < b.time_ns; });
  Trace trace = rows.builder.seal();
  set_identity(file, tool_ns, path, trace);
  Notes& notes = trace.notes;
  if (trace.ops.size() == 0 && notes.count(NoteCode::time_out_of_range) == 0)
    notes.add(NoteCode::no_gpu_events);
  if (trace.graphs_as_a_whole) notes.add(NoteCode::graph_level_trace);
  if (file.open_ranges > 0) notes.add(NoteCode::unfinished_range, {}, count_of(file.open_ranges));
  const uint64_t removed = std::max(file.process.rotated_rows, file.frames_before);
  if (removed > 0) notes.add(NoteCode::recording_rotated, {}, count_of(removed));
  note_losses(file.losses, notes);
  constexpr uint64_t kNoSteps = 4;  // Topic of recording.proto
  for (const Message& m : file.messages)
    trace.lies_inside_a_step = trace.lies_inside_a_step || m.topic == kNoSteps;
  for (const Message& m : file.messages)
    notes.add(NoteCode::recorder_message, {}, 1, shorten(shown(m.text), 160));
  return trace;
}

Error foreign_version(const std::string& path, int version) {
  return Error{fmt::format(
      "{}: expected a recording of format version {}, found version {}; analyze it with the "
      "wallsight that recorded it",
      path, kVersion, version)};
}

void add_damage(const Damage& d, Damage& sum) {
  if (sum.first_byte < 0) sum.first_byte = d.first_byte;
  sum.skipped_bytes += d.skipped_bytes;
  sum.missing_frames += d.missing_frames;
  sum.tail_bytes += d.tail_bytes;
  if (sum.foreign_version == 0) sum.version = d.version;
  sum.foreign_version += d.foreign_version;
}

bool same_process(const Process& a, const Process& b) {
  return a.pid == b.pid && a.start_realtime_ns == b.start_realtime_ns && a.host == b.host;
}

// False: the file belongs to another process, and nothing of it was used.
bool read_frames(FrameReader& frames, Reading& r) {
  std::string body;
  Header header;
  bool first = true;
  while (frames.next(body, header)) {
    if (!r.first_sequence) r.first_sequence = header.sequence;
    const Result<Chunk> chunk = decode_chunk(body);
    if (!chunk) {
      if (r.bad_chunks++ == 0) r.first_bad = chunk.error().message;
      continue;
    }
    const bool stranger = first && chunk->has_process && r.file.has_process &&
                          !same_process(chunk->process, r.file.process);
    if (stranger) return false;
    first = false;
    take_facts(*chunk, r.file);
    // The process row stands in the first frame: rows need its pid before they are added.
    if (r.rows == nullptr) {
      r.rows = std::make_unique<Rows>(r.file.has_process ? r.file.process.pid : -1);
      (r.file.process.segment > 0 ? r.file.frames_before : r.damage.missing_frames) +=
          *r.first_sequence;
    }
    r.rows->add(*chunk, count_of(header.sequence));
  }
  add_damage(frames.damage(), r.damage);
  return true;
}

Result<std::vector<Trace>> read(const std::string& path) {
  Result<FrameReader> frames = FrameReader::open(path);
  if (!frames) return frames.error();
  Reading r;
  frames->expect(std::nullopt);
  read_frames(*frames, r);
  if (r.rows == nullptr) {
    if (r.damage.foreign_version > 0) return foreign_version(path, r.damage.version);
    return Error{fmt::format(
        "{}: expected a recording, found no whole frame{}{}; record again, and let the process run "
        "for some seconds",
        path, r.bad_chunks > 0 ? ": " : "", shorten(shown(r.first_bad), 80))};
  }
  std::optional<uint64_t> expected = frames->expected();
  for (const std::string& next : later_segments(path)) {
    Result<FrameReader> more = FrameReader::open(next);
    if (!more) {
      note_unreadable(next, more.error(), r.rows->builder.trace.notes);
      continue;
    }
    more->expect(expected);
    if (read_frames(*more, r)) {
      expected = more->expected();
    } else {
      r.rows->builder.trace.notes.add(NoteCode::file_skipped,
                                      std::filesystem::path(next).filename().string());
    }
  }
  std::vector<Trace> out;
  out.push_back(finish(r.file, *r.rows, path));
  note_damage(r.damage, r.file.has_footer, r.bad_chunks, out.back().notes);
  return out;
}

// A damaged first frame does not hide the others.
int sniff(std::string_view head, const std::string&) {
  constexpr int kRecording = 100;
  Header header;
  for (size_t at = 0; (at = head.find(kMagic, at)) != std::string_view::npos; ++at) {
    if (parse_header(head.substr(at), header)) return kRecording;
  }
  return 0;
}

}  // namespace
}  // namespace recording

const Importer kRecordingImporter = {"wallsight-recording", recording::sniff, recording::read};

}  // namespace ws
