// Complete events (X) and pairs of begin and end (B, E) become ranges and calls; instant events
// matter only for memory. Rows without a process wait for the end of the file, when it is known
// whether there is only one.
// Tested by: kineto_test.cpp
#include "import/kineto_rows.h"

#include "base/memory.h"
#include "import/framework.h"
#include "import/kineto_text.h"

namespace ws::kineto {
namespace {

constexpr int64_t kPseudoThread = -1;   // the profiler's own rows
constexpr int64_t kUnknownThread = -2;  // of calls that name none

bool is_device_record(Category c) {
  return c == Category::kernel || c == Category::copy || c == Category::memset;
}

RangeSource source_of(Category c) {
  switch (c) {
    case Category::cpu_op:
      return RangeSource::cpu_op;
    case Category::python:
      return RangeSource::python;
    case Category::overhead:
      return RangeSource::overhead;
    case Category::gpu_annotation:
      return RangeSource::gpu_annotation;
    default:
      return RangeSource::user_annotation;
  }
}

bool is_host(Category c) {
  return c == Category::call || c == Category::cpu_op || c == Category::user_annotation ||
         c == Category::python || c == Category::overhead;
}

bool is_absent(const Token& token) {
  return token.kind == Token::Kind::none || token.text() == "null";
}

Ids ids_of(const Event& event) {
  return {whole_number(event[Field::pid]), whole_number(event[Field::tid])};
}

}  // namespace

void Rows::note(NoteCode code, const Place& place, int64_t count) {
  const bool first = notes().wants_place(code);
  notes().add(code, first ? place.text() : std::string(), count);
}

void Rows::add(const Event& event, const Place& place) {
  switch (event.phase()) {
    case 'X':
      break;
    case 'i':
    case 'I':
      if (event[Field::name].text() == "[memory]") add_memory(event, place);
      return;
    case 'B':
      return begin_slice(event, place);
    case 'E':
      return end_slice(event, place);
    case '\0':
      return note(NoteCode::junk_event, place);
    default:
      return;  // flows, counters, names of threads, objects
  }
  if (is_absent(event[Field::ts]) || is_absent(event[Field::dur])) {
    return note(NoteCode::junk_event, place);
  }
  add_complete(event, category_of(event[Field::cat].text()), place);
}

std::optional<TimeNs> Rows::time_of(const Token& token, bool device_record, const Place& place) {
  if (token.kind != Token::Kind::word && token.kind != Token::Kind::string) return std::nullopt;
  const auto t = ns_from_us(token.text(), device_record ? &finer_device_ : &finer_host_);
  const bool counted =
      token.kind == Token::Kind::word && (is_word(token.text()) || is_not_finite(token.text()));
  if (!t && is_too_large(token.text()))
    note(NoteCode::time_out_of_range, place);
  else if (!t && !counted)
    note(NoteCode::bad_number, place);
  return t;
}

StringId Rows::name_of(const Event& event, Category category, const Place& place, bool* wanted) {
  const Token& token = event[Field::name];
  if (token.kind != Token::Kind::string) return StringId{};
  NameCache& cache = category == Category::call     ? calls_
                     : category == Category::python ? python_
                                                    : names_;
  const NameCache::Name name = cache.get(token, [&](const Token& t) {
    NameCache::Name made;
    const std::string text = unescaped(t, &made.repaired);
    made.wanted = category != Category::python || is_wanted_python(text);
    if (!made.wanted && tells_framework(text)) builder_.intern(text);  // the name alone
    if (made.wanted) made.id = builder_.intern(category == Category::call ? api_name(text) : text);
    return made;
  });
  if (name.repaired) note(NoteCode::repaired_string, place);
  if (wanted != nullptr) *wanted = name.wanted;
  return name.id;
}

void Rows::add_complete(const Event& event, Category category, const Place& place) {
  if (category == Category::other) return;
  any_ = true;
  if (category == Category::accelerator) {
    ++accelerator_rows_;
    return;
  }
  bool wanted = true;
  const StringId name = name_of(event, category, place, &wanted);
  const bool device_record = is_device_record(category);
  const auto begin = time_of(event[Field::ts], device_record, place);
  const auto duration = time_of(event[Field::dur], device_record, place);
  if (!begin || !duration) {
    if (!is_too_large(event[Field::ts].text()) && !is_too_large(event[Field::dur].text()))
      note(NoteCode::junk_event, place);
    return;
  }
  const Interval span{*begin, *begin + *duration};  // both within 2^62
  if (!wanted) {
    skipped_.add(ids_of(event), span);
  } else if (device_record) {
    if (!rejected(span, place)) {
      device_.add_op(event, category, span, name, ids_of(event), builder_);
    }
  } else if (category == Category::sync) {
    if (!rejected(span, place)) device_.add_sync(event);
  } else {
    HostRow row = host_row(event, category, name, place);
    row.span = span;
    add_host(row);
  }
}

// The builder turns away the same times; asking it counts them.
bool Rows::rejected(const Interval& span, const Place& place) {
  const bool bad = span.end_ns < span.begin_ns || (span.begin_ns == 0 && span.end_ns == 0) ||
                   span.begin_ns < -kMaxTime || span.end_ns > kMaxTime;
  if (!bad) return false;
  OpRow op;
  op.begin_ns = span.begin_ns, op.end_ns = span.end_ns;
  builder_.add(op, place);
  return true;
}

Rows::HostRow Rows::host_row(const Event& event, Category category, StringId name,
                             const Place& place) {
  HostRow row;
  row.category = category, row.name = name, row.place = place;
  row.ids = ids_of(event);
  row.correlation = correlation_of(event);
  pytorch_ = pytorch_ || category == Category::cpu_op;
  if (category == Category::call) {
    row.graph_launch = is_graph_launch(event[Field::name].text());
  } else if (category == Category::cpu_op) {
    row.sequence = whole_number(event[Arg::sequence_number]).value_or(-1);
    if (event.has(Arg::collective_name)) row.collective = add_collective(event, builder_);
  }
  return row;
}

void Rows::add_host(const HostRow& row) {
  if (row.category == Category::gpu_annotation) return place_host(row, kNoThread);
  if (row.category == Category::overhead && row.ids.pid.value_or(-1) < 0) {
    waiting_.push_back(row);
    return;
  }
  // Threads that Python alone knows are written as 0.
  if (row.category == Category::python && row.ids.tid.value_or(0) == 0) {
    return place_host(row, kNoThread);
  }
  if (!row.ids.pid || !row.ids.tid) {
    note(NoteCode::missing_thread, row.place);
    if (row.category != Category::call && !row.ids.tid) return place_host(row, kNoThread);
    waiting_.push_back(row);
    return;
  }
  place_host(row, thread_of(*row.ids.pid, *row.ids.tid));
}

void Rows::place_host(const HostRow& row, ThreadId thread) {
  if (row.category == Category::call) {
    CallRow call;
    call.begin_ns = row.span.begin_ns, call.end_ns = row.span.end_ns, call.name = row.name;
    call.thread = thread, call.correlation = row.correlation;
    if (builder_.add(call, row.place)) {
      device_.add_call(row.correlation, builder_.trace.threads[ws::row(thread)].process,
                       row.graph_launch);
    }
    return;
  }
  RangeRow range;
  range.begin_ns = row.span.begin_ns, range.end_ns = row.span.end_ns, range.name = row.name;
  range.thread = thread, range.source = source_of(row.category);
  range.collective = row.collective, range.sequence = row.sequence;
  builder_.add(range, row.place);
}

ThreadId Rows::thread_of(int64_t pid, int64_t tid) {
  for (const KnownThread& k : known_threads_) {
    if (k.id != kNoThread && k.pid == pid && k.tid == tid) return k.id;
  }
  KnownThread& slot = known_threads_[next_known_++ % std::size(known_threads_)];
  slot = {pid, tid, builder_.thread(builder_.process(pid), tid)};
  return slot.id;
}

void Rows::add_memory(const Event& event, const Place& place) {
  const auto time = time_of(event[Field::ts], false, place);
  if (!time) return note(NoteCode::junk_event, place);
  if (!rejected({*time, *time}, place)) device_.add_memory(event, *time);
}

void Rows::begin_slice(const Event& event, const Place& place) {
  const Category category = category_of(event[Field::cat].text());
  const Ids ids = ids_of(event);
  const auto begin = time_of(event[Field::ts], false, place);
  if (!is_host(category)) return;
  if (!begin || !ids.pid || !ids.tid) return note(NoteCode::junk_event, place);
  any_ = true;
  HostRow row = host_row(event, category, name_of(event, category, place, nullptr), place);
  row.span.begin_ns = *begin;
  open_[{*ids.pid, *ids.tid}].push_back(row);
}

void Rows::end_slice(const Event& event, const Place& place) {
  const Ids ids = ids_of(event);
  const auto end = time_of(event[Field::ts], false, place);
  const auto it = ids.pid && ids.tid ? open_.find({*ids.pid, *ids.tid}) : open_.end();
  if (!end || it == open_.end() || it->second.empty()) return note(NoteCode::junk_event, place);
  HostRow row = it->second.back();
  it->second.pop_back();
  row.span.end_ns = *end;
  const bool unwanted = row.category == Category::python && row.name == StringId{};
  if (!unwanted) add_host(row);
}

// The process of rows that name none: the first that made calls, else the first of all.
ProcessId Rows::host_process() {
  if (!device_.callers().empty()) return device_.callers().front();
  if (!builder_.trace.processes.empty()) return ProcessId{};
  return builder_.process(-1);
}

void Rows::finish_host(ProcessId host) {
  std::map<int64_t, ThreadId> by_tid;
  for (size_t i = 0; i < builder_.trace.threads.size(); ++i) {
    by_tid.try_emplace(builder_.trace.threads[i].tid, static_cast<ThreadId>(i));
  }
  for (const HostRow& row : waiting_) {
    const auto known = row.ids.tid ? by_tid.find(*row.ids.tid) : by_tid.end();
    if (known != by_tid.end() && *row.ids.tid > 0) {
      place_host(row, known->second);
    } else if (row.category == Category::overhead) {
      place_host(row, builder_.thread(host, kPseudoThread));
    } else {
      place_host(row, builder_.thread(host, row.ids.tid.value_or(kUnknownThread)));
    }
  }
  drop(waiting_);
}

void Rows::finish_open_slices() {
  for (const auto& [thread, slices] : open_) {
    for (const HostRow& row : slices) note(NoteCode::unfinished_range, row.place);
  }
  open_.clear();
}

Trace Rows::finish(const Header& header) {
  finish_open_slices();
  if (const int64_t n = skipped_.crossings(); n > 0) notes().add(NoteCode::crossing_ranges, {}, n);
  const bool device_work = device_.op_count() > 0;
  const ProcessId host = host_process();
  finish_host(host);
  device_.finish(builder_, host, header);
  Trace& t = builder_.trace;
  t.groups = header.groups;
  t.host_name = header.host_name;
  t.tick_ns = (device_work ? finer_device_ : finer_host_) ? 1 : 1000;
  if (t.tick_ns > 1) notes().add(NoteCode::microsecond_clock);
  if (accelerator_rows_ > 0) {
    notes().add(NoteCode::other_accelerator, {}, accelerator_rows_);
  } else if (!device_work && !is_incomplete(notes()) &&
             notes().count(NoteCode::time_out_of_range) == 0) {
    notes().add(NoteCode::no_gpu_events);
  }
  const TimeNs base = header.base_ns.value_or(0);
  Trace out = builder_.seal();
  out.framework = framework_of(out);
  if (out.framework.empty() && header.schema) out.framework = "pytorch_kernels";
  if (pytorch_ && (out.framework.empty() || out.framework == "pytorch_kernels"))
    out.framework = "pytorch";
  // Times since 1970 need no base, whatever the file says.
  constexpr TimeNs kYear2001Ns = 1'000'000'000'000'000'000;
  out.clock_base_ns = out.capture.begin_ns >= kYear2001Ns || base < 0 ? 0 : base;
  return out;
}

}  // namespace ws::kineto
