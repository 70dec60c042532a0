#pragma once
// One event of traceEvents as tokens into the window: valid until the window moves.
#include <array>
#include <cstdint>

#include "import/kineto_scan.h"

namespace ws::kineto {

enum class Field : uint8_t { ph, cat, name, pid, tid, ts, dur, count_ };

// Arguments that some category of event is asked for.
enum class Arg : uint8_t {
  device,
  stream,
  context,
  correlation,
  bytes,
  kind,
  graph_id,
  graph_node_id,
  sequence_number,
  collective_name,
  in_elements,
  out_elements,
  group_size,
  dtype,
  group_name,
  group_description,
  group_ranks,
  seq,
  src_rank,
  dst_rank,
  root_rank,
  sync_kind,
  wait_on_stream,
  wait_on_record,
  wait_on_event,
  memory_bytes,
  memory_device,
  memory_device_type,
  total_allocated,
  total_reserved,
  count_
};

class Event {
 public:
  // At the opening brace; behind the closing one when ok.
  Scan scan(Cursor& c);

  const Token& operator[](Field f) const { return fields_[static_cast<size_t>(f)]; }
  const Token& operator[](Arg a) const { return has(a) ? args_[static_cast<size_t>(a)] : kNone; }
  bool has(Arg a) const { return (seen_args_ >> static_cast<unsigned>(a) & 1) != 0; }
  char phase() const {  // 0: none
    const Token& ph = (*this)[Field::ph];
    return ph.kind == Token::Kind::string && ph.size == 1 ? ph.data[0] : '\0';
  }

 private:
  static constexpr Token kNone{};
  Scan scan_args(Cursor& c);
  std::array<Token, static_cast<size_t>(Field::count_)> fields_;
  std::array<Token, static_cast<size_t>(Arg::count_)> args_;
  uint64_t seen_args_ = 0;
};

}  // namespace ws::kineto
