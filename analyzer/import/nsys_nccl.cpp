// The payload is flat JSON written by nsys: {"NCCL communicator ID":1342...,"Message size
// [bytes]":4,"Root":0}. A search for the quoted key and the digits behind it is all it takes; the
// communicator id is an unsigned 64-bit number and stays text.
// Tested by: nsys_ranges_test.cpp
#include "import/nsys_nccl.h"

#include <algorithm>
#include <charconv>

namespace ws::nsys {
namespace {

// Digits (and sign) behind "key":, empty when the key is not there.
std::string_view number_text(std::string_view json, std::string_view quoted_key) {
  size_t at = json.find(quoted_key);
  if (at == std::string_view::npos) return {};
  at = json.find_first_not_of(" :", at + quoted_key.size());
  if (at == std::string_view::npos) return {};
  const size_t end = json.find_first_not_of("-0123456789", at);
  return json.substr(at, end == std::string_view::npos ? end : end - at);
}

int64_t number(std::string_view json, std::string_view quoted_key, int64_t missing = -1) {
  const std::string_view digits = number_text(json, quoted_key);
  int64_t value = missing;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return parsed.ec == std::errc() ? value : missing;
}

bool starts_with(std::string_view s, std::string_view prefix) {
  return s.substr(0, prefix.size()) == prefix;
}

}  // namespace

bool is_nccl_range(std::string_view name, int64_t domain) {
  constexpr size_t kPrefix = 4;
  return domain != 0 && name.size() > kPrefix && starts_with(name, "nccl") &&
         name[kPrefix] >= 'A' && name[kPrefix] <= 'Z';
}

bool is_nccl_transfer(std::string_view name) {
  constexpr std::string_view kTransfers[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
                                             "ncclBroadcast", "ncclBcast",     "ncclReduce",
                                             "ncclSend",      "ncclRecv",      "ncclAlltoAll",
                                             "ncclAllToAll",  "ncclGather",    "ncclScatter"};
  return std::find(std::begin(kTransfers), std::end(kTransfers), name) != std::end(kTransfers);
}

uint32_t add_nccl_collective(TraceBuilder& builder, std::string_view name, std::string_view json,
                             Communicators& created) {
  CollectiveInfo info;
  info.name = builder.intern(name);
  const std::string_view id = number_text(json, "\"NCCL communicator ID\"");
  info.group_name = builder.intern(id);
  info.bytes = number(json, "\"Message size [bytes]\"");
  info.root = number(json, "\"Root\"");
  info.peer = number(json, "\"Peer\"");
  if (const int64_t ranks = number(json, "\"No. of ranks\""); ranks > 0 && !id.empty()) {
    created[std::string(id)] = {ranks, number(json, "\"Rank\"")};
    info.group_size = ranks;
  }
  return builder.add_collective(info);
}

void add_group_sizes(Trace& trace, const Communicators& created) {
  if (created.empty()) return;
  for (CollectiveInfo& c : trace.collectives) {
    const auto it = created.find(trace.strings[c.group_name]);
    if (it != created.end()) c.group_size = it->second.rank_count;
  }
}

}  // namespace ws::nsys
