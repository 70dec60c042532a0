// Keys are told apart by length first, then by one comparison. Of the same key twice the last one
// counts. Values nobody asks for are only passed over.
// Tested by: kineto_scan_test.cpp
#include "import/kineto_event.h"

namespace ws::kineto {
namespace {

constexpr auto kNoField = Field::count_;
constexpr auto kNoArg = Arg::count_;

Field field_of(std::string_view key) {
  switch (key.size()) {
    case 2:
      return key == "ph" ? Field::ph : key == "ts" ? Field::ts : kNoField;
    case 3:
      if (key == "cat") return Field::cat;
      if (key == "pid") return Field::pid;
      if (key == "tid") return Field::tid;
      return key == "dur" ? Field::dur : kNoField;
    case 4:
      return key == "name" ? Field::name : kNoField;
    default:
      return kNoField;
  }
}

struct ArgKey {
  std::string_view key;
  Arg arg;
};

template <size_t N>
Arg one_of(const ArgKey (&keys)[N], std::string_view key) {
  for (const ArgKey& k : keys) {
    if (k.key == key) return k.arg;
  }
  return kNoArg;
}

Arg long_arg_of(std::string_view key) {
  static constexpr ArgKey kKeys[] = {
      {"Sequence number", Arg::sequence_number},
      {"Collective name", Arg::collective_name},
      {"Total Allocated", Arg::total_allocated},
      {"Total Reserved", Arg::total_reserved},
      {"Out msg nelems", Arg::out_elements},
      {"wait_on_stream", Arg::wait_on_stream},
      {"cuda_sync_kind", Arg::sync_kind},
      {"In msg nelems", Arg::in_elements},
      {"graph node id", Arg::graph_node_id},
      {"Process Group Name", Arg::group_name},
      {"Process Group Ranks", Arg::group_ranks},
      {"Process Group Description", Arg::group_description},
      {"wait_on_cuda_event_id", Arg::wait_on_event},
      {"wait_on_cuda_event_record_corr_id", Arg::wait_on_record},
  };
  return one_of(kKeys, key);
}

Arg arg_of(std::string_view key) {
  static constexpr ArgKey kThree[] = {{"Seq", Arg::seq}};
  static constexpr ArgKey kFour[] = {{"kind", Arg::kind}};
  static constexpr ArgKey kFive[] = {
      {"bytes", Arg::bytes}, {"dtype", Arg::dtype}, {"Bytes", Arg::memory_bytes}};
  static constexpr ArgKey kSix[] = {{"device", Arg::device}, {"stream", Arg::stream}};
  static constexpr ArgKey kSeven[] = {{"context", Arg::context}};
  static constexpr ArgKey kEight[] = {
      {"graph id", Arg::graph_id}, {"Src Rank", Arg::src_rank}, {"Dst Rank", Arg::dst_rank}};
  static constexpr ArgKey kNine[] = {{"Device Id", Arg::memory_device},
                                     {"Root Rank", Arg::root_rank}};
  static constexpr ArgKey kTen[] = {{"Group size", Arg::group_size}};
  static constexpr ArgKey kEleven[] = {{"correlation", Arg::correlation},
                                       {"Device Type", Arg::memory_device_type}};
  switch (key.size()) {
    case 3:
      return one_of(kThree, key);
    case 4:
      return one_of(kFour, key);
    case 5:
      return one_of(kFive, key);
    case 6:
      return one_of(kSix, key);
    case 7:
      return one_of(kSeven, key);
    case 8:
      return one_of(kEight, key);
    case 9:
      return one_of(kNine, key);
    case 10:
      return one_of(kTen, key);
    case 11:
      return one_of(kEleven, key);
    default:
      return key.size() < 13 ? kNoArg : long_arg_of(key);
  }
}

}  // namespace

Scan Event::scan_args(Cursor& c) {
  return walk_object(c, [&](std::string_view key, Cursor& at) {
    const Arg arg = arg_of(key);
    if (arg == kNoArg) {
      Token ignored;
      return scan_value(at, ignored);
    }
    const uint64_t bit = uint64_t{1} << static_cast<unsigned>(arg);
    at.repairs.duplicate_keys += (seen_args_ & bit) != 0 ? 1 : 0;
    seen_args_ |= bit;
    return scan_value(at, args_[static_cast<size_t>(arg)]);
  });
}

Scan Event::scan(Cursor& c) {
  fields_ = {};
  seen_args_ = 0;
  bool args = false;
  return walk_object(c, [&](std::string_view key, Cursor& at) {
    if (key == "args" && *at.p == '{') {
      at.repairs.duplicate_keys += args ? 1 : 0;
      args = true;
      return scan_args(at);
    }
    const Field field = field_of(key);
    if (field == kNoField) {
      Token ignored;
      return scan_value(at, ignored);
    }
    Token& token = fields_[static_cast<size_t>(field)];
    at.repairs.duplicate_keys += token.kind != Token::Kind::none ? 1 : 0;
    return scan_value(at, token);
  });
}

}  // namespace ws::kineto
