// Numbers that stand for names (leaves, kinds, notes) are those of the program that wrote a file,
// so the file lists their spellings; a program with another list refuses it. Tested by:
// partial_test.cpp, partial_damage_test.cpp
#include "facts/partial.h"

#include <fmt/format.h>

#include "facts/partial_check.h"
#include "facts/partial_fields.h"
#include "facts/partial_file.h"

namespace ws {
namespace {

using namespace partial;

// Smallest allowance, then bytes of memory per byte of the message: small rows take few bytes.
constexpr uint64_t kLeastMemory = 1 << 16, kMemoryPerByte = 64;

template <class E>
std::vector<std::string> spellings_of() {
  std::vector<std::string> out;
  for (size_t i = 0; i <= static_cast<size_t>(kLast<E>); ++i)
    out.emplace_back(name_of(static_cast<E>(i)));
  return out;
}

Spellings spellings() {
  Spellings out{spellings_of<Leaf>(),       spellings_of<OpKind>(),       spellings_of<OpClass>(),
                spellings_of<CommKind>(),   spellings_of<CollectiveOp>(), {},
                spellings_of<StepOrigin>(), spellings_of<RankSource>(),   {}};
  for (std::string_view name : kLateCategoryNames) out.late_categories.emplace_back(name);
  for (size_t i = 0; i < static_cast<size_t>(NoteCode::count_); ++i)
    out.notes.emplace_back(info_of(static_cast<NoteCode>(i)).id);
  return out;
}

// False when a note can not be one.
bool read_notes(const std::vector<Note>& rows, Notes& out) {
  for (const Note& note : rows) {
    if (note.count < 0 || note.count > kLargest) return false;
    out.add(note.code, note.first_place, note.count, note.detail);
  }
  return true;
}

Error refused(const std::string& place, std::string_view why) {
  return Error{fmt::format(
      "{}: expected a partial as `wallsight analyze --partial` writes it, found {}; make it again",
      place, why)};
}

// What follows from the rest is put in place, and all of it is checked.
std::string_view finish(RankMessage& m) {
  RankAnalysis& rank = m.rank;
  if (!read_notes(m.notes, rank.notes)) return "an amount that is out of range";
  if (rank.replay) {
    rank.replay->rank = rank.rank;
    if (!complete_replay(*rank.replay)) return "calls out of order";
  }
  return wrong_with(rank);
}

}  // namespace

Result<std::string> encode_partial(Partial partial, const std::string& place) {
  PartialMessage m{WS_VERSION, spellings(), std::move(partial.options), partial.notes.all(), {}};
  for (RankAnalysis& rank : partial.ranks) {
    if (const std::string_view why = wrong_with(rank); !why.empty()) {
      return Error{fmt::format(
          "{}: expected ranks that fit into a partial, found {} in {}; analyze its traces at once",
          place, why, rank.path)};
    }
    std::vector<Note> notes = rank.notes.all();
    m.ranks.push_back({std::move(rank), std::move(notes)});
  }
  std::string bytes;
  {
    PartialWriter writer(bytes);
    fields(writer, m);
  }
  std::string file = framed(bytes);
  if (file.empty()) {
    return Error{fmt::format(
        "{}: expected at most 1 GiB of results in a partial, found {} MiB; write fewer ranks into "
        "one",
        place, bytes.size() >> 20)};
  }
  return file;
}

Result<Partial> decode_partial(std::string_view bytes, const std::string& place) {
  const Result<std::string> message = unframed(bytes, place);
  if (!message) return message.error();
  ReadState state{kLeastMemory + kMemoryPerByte * message->size(), {}};
  PartialMessage m;
  try {
    PartialReader reader(*message, state);
    fields(reader, m);
  } catch (const protozero::exception&) {
    state.fail("bytes that are no message");
  }
  const bool other_names = m.spellings != spellings();
  if (other_names && !m.version.empty()) {
    return Error{fmt::format(
        "{}: expected a partial of this wallsight, {}, found one of wallsight {}; merge it with "
        "that one, or make it again with this one",
        place, WS_VERSION, m.version)};
  }
  if (other_names) state.fail("numbers without their names");
  if (!state.why.empty()) return refused(place, state.why);
  Partial out;
  out.options = std::move(m.options);
  if (!read_notes(m.notes, out.notes)) return refused(place, "an amount that is out of range");
  for (RankMessage& rank : m.ranks) {
    if (const std::string_view why = finish(rank); !why.empty()) return refused(place, why);
    out.ranks.push_back(std::move(rank.rank));
  }
  return out;
}

}  // namespace ws
