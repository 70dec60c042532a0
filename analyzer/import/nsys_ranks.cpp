// Tested by: nsys_rows_test.cpp, nsys_ranges_test.cpp
#include "import/nsys_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace ws::nsys {
namespace {

constexpr size_t kTables = 64;  // ranks of one machine

bool all_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string_view shortened_for(NameUse use, std::string_view bytes) {
  switch (use) {
    case NameUse::call:
      return without_abi_suffix(bytes);
    case NameUse::range:
      return split_range_text(bytes).name;
    case NameUse::device_record:
      break;
  }
  return bytes;
}

bool plain_ascii(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return c > 0; });
}

}  // namespace

StringId Rank::text(NameUse use, std::string_view bytes) {
  const std::string_view kept = shortened_for(use, bytes);
  if (plain_ascii(kept)) return builder.intern(kept);
  int64_t repaired = 0;
  const std::string utf8 = to_utf8(kept, &repaired);
  if (repaired > 0) builder.trace.notes.add(NoteCode::repaired_string);
  return builder.intern(utf8);
}

StringId Rank::name(NameUse use, Name name) {
  if (name.position == kNoRow) {
    const std::string shown = fmt::format("unknown #{}", name.id);
    builder.trace.notes.add(NoteCode::unknown_string, shown);
    return builder.intern(shown);
  }
  if (!has_table) return text(use, strings->bytes(name.position));
  std::vector<uint32_t>& rows = known[static_cast<size_t>(use)];
  if (rows.empty()) rows.resize(strings->size(), kNoRow);
  uint32_t& known_row = rows[name.position];
  if (known_row == kNoRow)
    known_row = static_cast<uint32_t>(text(use, strings->bytes(name.position)));
  return static_cast<StringId>(known_row);
}

bool Rank::accepts(TimeNs begin_ns, TimeNs end_ns, const Place& place) {
  if (plausible(begin_ns, end_ns)) return true;
  Notes& notes = builder.trace.notes;
  notes.add(NoteCode::time_out_of_range,
            notes.wants_place(NoteCode::time_out_of_range) ? place.text() : std::string());
  return false;
}

Rank& Ranks::of(ProcessKey key) {
  if (const auto it = by_process_.find(key); it != by_process_.end()) return *it->second;
  const auto joined = layout_.joined.find(key);
  const ProcessKey leader = joined != layout_.joined.end() ? joined->second : key;
  if (ranks_.count(leader) == 0 && ranks_.size() >= kMostRanks) {
    too_many_ = true;
    return *ranks_.rbegin()->second;
  }
  std::unique_ptr<Rank>& rank = ranks_[leader];
  if (rank == nullptr) rank = std::make_unique<Rank>(*strings_, ranks_.size() <= kTables);
  by_process_[key] = rank.get();
  return *rank;
}

std::string_view without_abi_suffix(std::string_view call) {
  while (true) {
    const size_t at = call.rfind('_');
    if (at == std::string_view::npos || at == 0) return call;
    const std::string_view tail = call.substr(at + 1);
    const bool version = tail.size() > 1 && tail[0] == 'v' && all_digits(tail.substr(1));
    if (!version && tail != "ptsz" && tail != "ptds") return call;
    call = call.substr(0, at);
  }
}

RangeText split_range_text(std::string_view text) {
  constexpr std::string_view kTails[] = {", op_id", ", seq", ", sizes"};
  size_t cut = std::string_view::npos;
  for (std::string_view tail : kTails) cut = std::min(cut, text.find(tail));
  if (cut == std::string_view::npos) return {text, -1};
  RangeText out{text.substr(0, cut), -1};
  constexpr std::string_view kSequence = ", seq = ";
  if (const size_t at = text.find(kSequence); at != std::string_view::npos) {
    const char* first = text.data() + at + kSequence.size();
    int64_t value = -1;
    if (std::from_chars(first, text.data() + text.size(), value).ec == std::errc())
      out.sequence = value;
  }
  return out;
}

}  // namespace ws::nsys
