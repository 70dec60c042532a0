// Looking for the next event tries every opening brace. A try runs on only while it reads well, and
// brackets nest at most kMaxDepth deep, so all tries together stay linear in the file.
// Tested by: kineto_damage_test.cpp
#include "import/kineto_reader.h"

#include <fmt/format.h>

#include "import/kineto_text.h"

namespace ws::kineto {
namespace {

constexpr size_t kMaxRecordBytes = size_t{4} << 20;
constexpr std::string_view kEventsKey = "\"traceEvents\"";

const char* brace_or_closing_bracket(const char* p, const char* end) {
  return find_first(p, end,
                    [](const Bytes16& b) { return Bytes16::either(b.equal('{'), b.equal(']')); });
}

std::string_view words_of(SourceEnd end, bool whole) {
  switch (end) {
    case SourceEnd::complete:
      return "";
    case SourceEnd::cut:
      return "the gzip stream ends early";
    case SourceEnd::damaged:
      return whole ? "it could be read to its end, but the checksum or length there is wrong"
                   : "the gzip data are damaged from there on";
    case SourceEnd::unreadable:
      break;
  }
  return "the file could not be read further";
}

}  // namespace

// Scans a record at pos_, fetching bytes until it is whole; on ok pos_ stands behind it. `more`
// means that the file ends inside it.
template <class ScanRecord>
inline Scan Reader::scan_with_refill(ScanRecord scan_record) {
  while (true) {
    Cursor c{pos_, window_.end(), {}};
    const Scan s = scan_record(c);
    if (s == Scan::ok) {
      note_repairs(c.repairs, pos_);
      pos_ = c.p;
    }
    if (s != Scan::more) return s;
    if (static_cast<size_t>(window_.end() - pos_) > kMaxRecordBytes) return Scan::bad;
    const bool grown = window_.refill(pos_);
    pos_ = window_.begin();
    if (!grown) return Scan::more;
  }
}

void Reader::note_repairs(const Repairs& repairs, const char* at) {
  const auto add = [&](NoteCode code, int64_t count) {
    if (count > 0) rows_.note(code, place_of(at), count);
  };
  add(NoteCode::trailing_comma, repairs.trailing_commas);
  add(NoteCode::duplicate_key, repairs.duplicate_keys);
  add(NoteCode::bad_number, repairs.not_finite);
}

bool Reader::at_sign() {
  while (true) {
    pos_ = skip_blanks(pos_, window_.end());
    if (pos_ < window_.end()) return true;
    const bool grown = window_.refill(pos_);
    pos_ = window_.begin();
    if (!grown) return false;
  }
}

bool Reader::next_is(char sign) {
  if (!at_sign() || *pos_ != sign) return false;
  ++pos_;
  return true;
}

Result<void> Reader::read() {
  window_.refill(nullptr);
  pos_ = window_.begin();
  while (window_.size() < 3 && window_.refill(pos_)) pos_ = window_.begin();
  if (std::string_view(pos_, window_.size()).substr(0, 3) == "\xef\xbb\xbf") pos_ += 3;
  if (!at_sign()) {
    return Error{
        fmt::format("{}: expected a PyTorch trace, found an empty file; record again", path_)};
  }
  array_form_ = *pos_ == '[';
  if (!array_form_ && *pos_ != '{') {
    return Error{
        fmt::format("{}: expected JSON of the PyTorch profiler, found other data; give "
                    "the file that torch.profiler exported",
                    path_)};
  }
  ++pos_;
  if (array_form_) {
    read_events();
    if (next_is(']')) close();
  } else {
    read_members();
  }
  while (window_.refill(window_.end())) continue;  // how the stream ends is worth knowing
  note_end();
  return verdict();
}

// Behind the last bracket.
void Reader::close() {
  whole_ = true;
  if (at_sign()) rows_.note(NoteCode::bad_event, place_of(pos_));
}

// The members of the top level, up to and with its closing brace.
void Reader::read_members() {
  while (at_sign()) {
    if (*pos_ == '}') {
      ++pos_;
      return close();
    }
    const Scan s = read_member();
    if (s == Scan::more) return;
    if (s == Scan::ok && at_sign() && *pos_ == ',') {
      ++pos_;
      if (at_sign() && *pos_ == '}') rows_.note(NoteCode::trailing_comma, place_of(pos_));
    } else if (s == Scan::bad || (at_sign() && *pos_ != '}')) {
      rows_.note(NoteCode::bad_event, place_of(pos_));
      whole_ = saw_events_;  // what stands behind the events is no more than their header
      if (saw_events_ || !find_events()) return;
      read_events();
      if (next_is(']') && at_sign() && *pos_ == ',') ++pos_;
    }
  }
}

// One "key": value, the events included.
Scan Reader::read_member() {
  std::string key;
  const Scan s = scan_with_refill([&](Cursor& c) {
    if (*c.p != '"') return Scan::bad;
    Token token;
    if (const Scan k = scan_string(c, token); k != Scan::ok) return k;
    key = token.text();
    if (const Scan k = next_sign(c); k != Scan::ok) return k;
    if (*c.p++ != ':') return Scan::bad;
    return next_sign(c);
  });
  if (s != Scan::ok) return s;
  if (key == kEventsKey.substr(1, kEventsKey.size() - 2) && *pos_ == '[') {
    if (saw_events_) rows_.note(NoteCode::duplicate_key, place_of(pos_));
    ++pos_;
    read_events();
    return next_is(']') ? Scan::ok : Scan::more;
  }
  Repairs repairs;
  const Scan v = scan_with_refill([&](Cursor& c) {
    Token token;
    const Scan scanned = scan_value(c, token);
    if (scanned == Scan::ok && is_header_key(key)) read_header_value(key, token, header_, repairs);
    return scanned;
  });
  note_repairs(repairs, pos_);
  return v;
}

// The header is damaged: goes on behind "traceEvents": [, wherever that is.
bool Reader::find_events() {
  while (true) {
    const std::string_view text(pos_, static_cast<size_t>(window_.end() - pos_));
    const size_t at = text.find(kEventsKey);
    if (at != std::string_view::npos) {
      pos_ += at + kEventsKey.size();
      if (next_is(':') && next_is('[')) return true;
      continue;
    }
    const size_t rest = std::min(text.size(), kEventsKey.size() - 1);
    const bool grown = window_.refill(window_.end() - rest);
    pos_ = window_.begin();
    if (!grown) return false;
  }
}

// Behind the opening bracket; stops at the closing one or at the end of the file.
void Reader::read_events() {
  saw_events_ = true;
  bool comma = false;
  while (at_sign()) {
    if (*pos_ == ']') {
      if (is_end_of_events(false)) break;
      rows_.note(NoteCode::bad_event, place_of(pos_));  // a stray one
      ++pos_;
      continue;
    }
    if (*pos_ == ',') {  // one too many
      rows_.note(NoteCode::trailing_comma, place_of(pos_));
      ++pos_;
      continue;
    }
    if (!read_element()) return;
    comma = at_sign() && *pos_ == ',';
    if (comma) ++pos_;
  }
  if (comma && pos_ < window_.end()) rows_.note(NoteCode::trailing_comma, place_of(pos_));
}

// One entry of the event list, or what is left of it. False at the end of the file.
bool Reader::read_element() {
  ++events_;
  const Place place = place_of(pos_);
  const bool object = *pos_ == '{';
  const Scan s = scan_with_refill([&](Cursor& c) {
    if (object) return event_.scan(c);
    const bool list = *c.p == '[';
    if (list) {  // a list of events is no entry but a stray bracket
      Cursor inside{c.p + 1, c.end, {}};
      if (const Scan k = next_sign(inside); k != Scan::ok) return k;
      if (*inside.p == '{') return Scan::bad;
    }
    Token ignored;
    return scan_value(c, ignored);
  });
  if (s == Scan::more) return false;
  if (s == Scan::bad) {
    rows_.note(NoteCode::bad_event, place);
    ++pos_;
    return resync();
  }
  if (object) {
    rows_.add(event_, place);  // its tokens point into the window, which has not moved since
  } else {
    rows_.note(NoteCode::junk_event, place);
  }
  return true;
}

// Moves to the next whole event or to the end of the list. False at the end of the file.
bool Reader::resync() {
  while (true) {
    pos_ = brace_or_closing_bracket(pos_, window_.end());
    if (pos_ == window_.end()) {
      const bool grown = window_.refill(pos_);
      pos_ = window_.begin();
      if (!grown) return false;
      continue;
    }
    if (*pos_ == '{' ? is_whole_event() : is_end_of_events(true)) return true;
    ++pos_;
  }
}

bool Reader::is_whole_event() {
  const Scan s = scan_with_refill([&](Cursor& c) {
    Cursor probe = c;
    const Scan scanned = event_.scan(probe);
    if (scanned != Scan::ok) return scanned;
    return event_.phase() != '\0' ? Scan::ok : Scan::bad;  // c stays: pos_ does not move
  });
  return s == Scan::ok;
}

// A closing bracket ends the list when a key of the top level follows it, or the last brace, or
// nothing. In `doubt`, amid damage, it has to be a known key.
bool Reader::is_end_of_events(bool doubt) {
  const Scan s = scan_with_refill([&](Cursor& c) {
    Cursor probe = c;  // c stays: pos_ does not move
    ++probe.p;
    if (const Scan k = next_sign(probe); k != Scan::ok) return k;
    if (array_form_) return Scan::bad;
    const char sign = *probe.p++;
    if (sign == '}' && !doubt) return Scan::ok;
    if (const Scan k = next_sign(probe); k != Scan::ok) return k;
    if (sign != ',' || *probe.p != '"') return Scan::bad;
    Token key;
    if (const Scan k = scan_string(probe, key); k != Scan::ok) return k;
    return !doubt || is_known_key(key.text()) ? Scan::ok : Scan::bad;
  });
  return s != Scan::bad;  // `more`: nothing but brackets follows
}

void Reader::note_end() {
  const SourceEnd end = source_.end();
  if (whole_ && end == SourceEnd::complete) return;
  rows_.notes().add(end == SourceEnd::damaged ? NoteCode::damaged_file : NoteCode::truncated_file,
                    fmt::format("byte {}", window_.offset_of(window_.end())), 1,
                    words_of(end, whole_));
}

Result<void> Reader::verdict() const {
  if (!saw_events_) {
    return Error{fmt::format(
        "{}: expected a PyTorch trace, found JSON without a list traceEvents; give the file that "
        "torch.profiler exported",
        path_)};
  }
  if (rows_.any()) return {};
  const std::string_view cut = whole_                                ? ""
                               : source_.end() == SourceEnd::damaged ? "the file is damaged; "
                                                                     : "the file is cut off; ";
  if (events_ == 0) {
    return Error{fmt::format("{}: expected events in traceEvents, found no events; {}record again",
                             path_, cut)};
  }
  return Error{fmt::format(
      "{}: expected events of the PyTorch profiler, found none among {} entries; {}record with "
      "torch.profiler of a PyTorch that was built with Kineto",
      path_, events_, cut)};
}

}  // namespace ws::kineto
