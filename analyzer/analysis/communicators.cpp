// Tested by: communicators_test.cpp
#include "analysis/communicators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "analysis/open_ranges.h"
#include "analysis/range_names.h"
#include "base/text.h"

namespace ws {
namespace {

struct OpWord {
  std::string_view word;
  CollectiveOp op;
};
// First match wins; names are small letters without '_' and '-'.
constexpr std::array<OpWord, 15> kOpWords = {{{"allgather", CollectiveOp::all_gather},
                                              {"reducescatter", CollectiveOp::reduce_scatter},
                                              {"allreduce", CollectiveOp::all_reduce},
                                              {"alltoall", CollectiveOp::all_to_all},
                                              {"broadcast", CollectiveOp::broadcast},
                                              {"bcast", CollectiveOp::broadcast},
                                              {"sendrecv", CollectiveOp::send_recv},
                                              {"batchp2p", CollectiveOp::send_recv},
                                              {"coalesced", CollectiveOp::send_recv},
                                              {"send", CollectiveOp::send},
                                              {"recv", CollectiveOp::recv},
                                              {"barrier", CollectiveOp::barrier},
                                              {"reduce", CollectiveOp::reduce},
                                              {"gather", CollectiveOp::gather},
                                              {"scatter", CollectiveOp::scatter}}};

struct DtypeBytes {
  std::string_view word;
  int64_t bytes;
};
constexpr std::array<DtypeBytes, 22> kDtypes = {
    {{"float8", 1},  {"f8e", 1},   {"fp8", 1},     {"bfloat16", 2}, {"bf16", 2}, {"half", 2},
     {"float16", 2}, {"fp16", 2},  {"float64", 8}, {"double", 8},   {"fp64", 8}, {"int64", 8},
     {"long", 8},    {"short", 2}, {"int16", 2},   {"int8", 1},     {"byte", 1}, {"char", 1},
     {"bool", 1},    {"float", 4}, {"int", 4},     {"complex", 8}}};

// No collective: bookkeeping of the framework ("wait", "init": no name of one), or nothing moved.
bool says_collective(const Trace& trace, const CollectiveInfo& info) {
  const CollectiveOp op = collective_op(trace.strings[info.name]);
  if (op == CollectiveOp::barrier) return true;
  return op != CollectiveOp::unknown && !(info.in_elements == 0 && info.out_elements == 0);
}

// What a range says of the ops launched inside it.
struct Said {
  uint32_t collective = kNoRow;
  CollectiveOp op = CollectiveOp::unknown;
};

class EnclosingRanges {
 public:
  EnclosingRanges(const Trace& trace, const std::vector<uint32_t>& asked) : trace_(trace) {
    std::vector<std::vector<uint32_t>> by_thread(trace.threads.size());
    for (uint32_t op : asked) {
      const uint32_t call = trace.ops.launch[op];
      if (call != kNoRow) by_thread[row(trace.calls.thread[call])].push_back(op);
    }
    for (auto& ops : by_thread) {  // rows of calls are in order of time
      std::sort(ops.begin(), ops.end(), [&](uint32_t a, uint32_t b) {
        return std::pair(trace.ops.launch[a], a) < std::pair(trace.ops.launch[b], b);
      });
    }
    sweep(by_thread);
  }
  const Said* of(uint32_t op) const {
    const auto it = said_.find(op);
    return it == said_.end() ? nullptr : &it->second;
  }

 private:
  void sweep(const std::vector<std::vector<uint32_t>>& by_thread) {
    const auto ignore = [](const Said&, TimeNs, TimeNs) {};
    std::vector<OpenRanges<Said>> open(trace_.threads.size());
    std::vector<size_t> next(trace_.threads.size(), 0);
    std::vector<int8_t> op_of_name(trace_.strings.size(), -1);
    const auto answer = [&](size_t thread, TimeNs before) {
      for (size_t& n = next[thread]; n < by_thread[thread].size(); ++n) {
        const uint32_t op = by_thread[thread][n];
        const TimeNs at = trace_.calls.begin_ns[trace_.ops.launch[op]];
        if (at >= before) break;
        open[thread].advance(at, ignore);
        if (const auto* inner = open[thread].innermost()) said_[op] = inner->tag;
      }
    };
    const HostRanges& r = trace_.ranges;
    for (size_t i = 0; i < r.size(); ++i) {
      if (r.thread[i] == kNoThread || r.source[i] == RangeSource::gpu_annotation) continue;
      const size_t thread = row(r.thread[i]);
      if (by_thread[thread].empty()) continue;
      const Said said = what(i, op_of_name);
      if (said.collective == kNoRow && said.op == CollectiveOp::unknown) continue;
      answer(thread, r.begin_ns[i]);
      open[thread].advance(r.begin_ns[i], ignore);
      // A bare name inside a range with a record adds nothing.
      const auto* outer = open[thread].innermost();
      if (said.collective == kNoRow && outer != nullptr && outer->tag.collective != kNoRow)
        continue;
      open[thread].push(r.begin_ns[i], r.end_ns[i], said, ignore);
    }
    for (size_t thread = 0; thread < by_thread.size(); ++thread) answer(thread, INT64_MAX);
  }

  Said what(size_t i, std::vector<int8_t>& op_of_name) const {
    const HostRanges& r = trace_.ranges;
    Said said;
    if (r.collective[i] != kNoRow && says_collective(trace_, trace_.collectives[r.collective[i]])) {
      said.collective = r.collective[i];
      said.op = collective_op(trace_.strings[trace_.collectives[said.collective].name]);
      return said;
    }
    int8_t& op = op_of_name[row(r.name[i])];
    if (op < 0) {
      const std::string_view name = trace_.strings[r.name[i]];
      const bool collective = small_letters(name.substr(0, 4)) == "nccl";
      op = static_cast<int8_t>(collective ? collective_op(name) : CollectiveOp::unknown);
    }
    said.op = static_cast<CollectiveOp>(op);
    return said;
  }

  const Trace& trace_;
  std::unordered_map<uint32_t, Said> said_;  // only looked up, never walked
};

std::vector<int64_t> parse_members(std::string_view text) {
  std::vector<int64_t> out;
  int64_t value = -1;
  for (char c : text) {
    if (c >= '0' && c <= '9') {
      value = value > 1'000'000'000 ? value : std::max<int64_t>(value, 0) * 10 + (c - '0');
    } else if (value >= 0) {
      out.push_back(value);
      value = -1;
    }
  }
  if (value >= 0) out.push_back(value);
  return out;
}

class Table {
 public:
  Table(const Trace& trace, Labels& labels) : trace_(trace), labels_(labels) {}

  uint32_t of_collective(uint32_t collective) {
    const auto cached = by_collective_.find(collective);
    if (cached != by_collective_.end()) return cached->second;
    const CollectiveInfo& info = trace_.collectives[collective];
    const std::string_view group = trace_.strings[info.group_name];
    const std::string_view members = trace_.strings[info.members];
    uint32_t id = kNoRow;
    if (!members.empty() || (!group.empty() && group != "undefined")) {
      const std::string_view desc = trace_.strings[info.group_desc];
      const std::string key = fmt::format("{}|{}", group, members.empty() ? desc : members);
      const auto [it, fresh] =
          by_key_.try_emplace(key, static_cast<uint32_t>(labels_.communicators.size()));
      if (fresh) {
        labels_.communicators.push_back(described(info, group, desc, members));
        Communicator& c = labels_.communicators.back();
        c.key = key_of(group, c);
      }
      id = it->second;
      Communicator& c = labels_.communicators[id];
      if (c.size == 0 && info.group_size > 0) c.size = info.group_size;
    }
    by_collective_.emplace(collective, id);
    return id;
  }

  uint32_t of_stream(StreamId stream, CommKind kind) {
    const auto [it, fresh] = by_stream_.try_emplace(
        {row(stream), kind}, static_cast<uint32_t>(labels_.communicators.size()));
    if (fresh) {
      Communicator c;
      c.name = fmt::format("stream {}", trace_.streams[row(stream)].number);
      c.key = kind == CommKind::other ? c.name : fmt::format("{} {}", c.name, name_of(kind));
      c.kind = kind;
      labels_.communicators.push_back(std::move(c));
    }
    return it->second;
  }

 private:
  // The name of a group and its members; a description where the members are not known.
  static std::string key_of(std::string_view group, const Communicator& c) {
    std::string key(group == "undefined" ? std::string_view() : group);
    for (int64_t member : c.members) key += fmt::format("|{}", member);
    return c.members.empty() ? fmt::format("{}|{}", key, c.name) : key;
  }

  Communicator described(const CollectiveInfo& info, std::string_view group, std::string_view desc,
                         std::string_view members) const {
    Communicator c;
    c.named = true;
    c.members = parse_members(members);
    for (const GroupConfig& g : trace_.groups) {
      if (g.name != group || group.empty()) continue;
      if (desc.empty()) desc = g.description;
      if (c.members.empty()) c.members = g.ranks;
    }
    if (desc == "undefined") desc = {};
    c.name = one_line(!desc.empty() ? desc : !group.empty() ? group : members);
    c.size = info.group_size > 0 ? info.group_size : static_cast<int64_t>(c.members.size());
    return c;
  }

  const Trace& trace_;
  Labels& labels_;
  std::unordered_map<uint32_t, uint32_t> by_collective_;
  std::map<std::string, uint32_t> by_key_;
  std::map<std::pair<size_t, CommKind>, uint32_t> by_stream_;
};

}  // namespace

CollectiveOp collective_op(std::string_view name) {
  std::string s;
  for (char c : small_letters(name)) {
    if (c != '_' && c != '-') s.push_back(c);
  }
  for (const OpWord& w : kOpWords) {
    if (s.find(w.word) != std::string::npos) return w.op;
  }
  return CollectiveOp::unknown;
}

int64_t bytes_of_dtype(std::string_view dtype) {
  const std::string s = small_letters(dtype);
  for (const DtypeBytes& d : kDtypes) {
    if (s.find(d.word) != std::string::npos) return d.bytes;
  }
  return 4;
}

int64_t collective_bytes(const Trace& trace, const CollectiveInfo& info) {
  if (info.bytes >= 0) return info.bytes;
  const int64_t elements = std::max(info.in_elements, info.out_elements);
  if (elements < 0) return -1;
  const int64_t size = bytes_of_dtype(trace.strings[info.dtype]);
  return elements > INT64_MAX / size ? -1 : elements * size;
}

void find_communicators(const Trace& trace, const std::vector<NameClass>& classes,
                        const std::vector<uint32_t>& class_of_name, Labels& labels) {
  std::vector<uint32_t> asked;
  for (const CommOp& c : labels.comm_ops) {
    const uint32_t own = trace.ops.collective[c.op];
    if (own == kNoRow || !says_collective(trace, trace.collectives[own])) asked.push_back(c.op);
  }
  const EnclosingRanges ranges(trace, asked);
  Table table(trace, labels);
  for (CommOp& c : labels.comm_ops) {
    const NameClass& name = classes[class_of_name[row(trace.ops.name[c.op])]];
    CollectiveOp op = name.coll;
    const uint32_t own = trace.ops.collective[c.op];
    if (own != kNoRow && says_collective(trace, trace.collectives[own])) {
      c.collective = own;
      op = collective_op(trace.strings[trace.collectives[own].name]);
    } else if (const Said* said = ranges.of(c.op)) {
      c.collective = said->collective;
      op = said->op;
    }
    uint32_t communicator = kNoRow;
    if (c.collective != kNoRow) {
      c.bytes = collective_bytes(trace, trace.collectives[c.collective]);
      communicator = table.of_collective(c.collective);
    }
    if (communicator == kNoRow) communicator = table.of_stream(trace.ops.stream[c.op], name.kind);
    labels.ops.coll[c.op] = op;
    labels.ops.communicator[c.op] = communicator;
  }
}

}  // namespace ws
