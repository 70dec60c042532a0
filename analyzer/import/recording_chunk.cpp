// protozero throws at bytes that are no message; decode_chunk is where that ends.
// Tested by: recording_test.cpp, recording_damage_test.cpp
#include "import/recording_chunk.h"

#include <protozero/exception.hpp>
// A field of another wire type is bad input, not a mistake of the caller.
#define protozero_assert(holds) \
  ((holds) ? static_cast<void>(0) : throw protozero::unknown_pbf_wire_type_exception{})
#include <protozero/pbf_reader.hpp>
#include <tuple>

namespace ws::recording {
namespace {

using Reader = protozero::pbf_reader;

// How the columns of each table are written, by field number from 1: s signed (zigzag), u unsigned.
constexpr std::string_view kColumns[] = {
    "ssuuuusuu",     // kernels
    "ssuuuuuuusuu",  // copies
    "ssuuuusuu",     // fills
    "ssuuuus",       // graph_runs
    "ssuus",         // calls
    "ssuuuuus",      // syncs
    "uuus",          // event_records
    "ssuu",          // overheads
    "ssuuuuu",       // ranges
    "ssu",           // memory_changes
    "ssu",           // steps
};
static_assert(std::size(kColumns) == kTablesEnd - kKernels);

bool read_column(Reader& r, char how, std::vector<int64_t>& out) {
  if (how == 's') {
    for (const int64_t v : r.get_packed_sint64()) {
      if (out.size() == kMostRows) return false;
      out.push_back(v);
    }
  } else {
    for (const uint64_t v : r.get_packed_uint64()) {
      if (out.size() == kMostRows) return false;
      out.push_back(static_cast<int64_t>(v));
    }
  }
  return true;
}

Collective read_collective(Reader r) {
  Collective c;
  int64_t* const numbers[] = {&c.bytes, &c.root, &c.peer, &c.rank_count, &c.rank, &c.sequence};
  while (r.next()) {
    const uint32_t tag = r.tag();
    if (tag == 1) {
      c.communicator = r.get_uint64();
    } else if (tag == 2) {
      c.has_communicator = r.get_bool();
    } else if (tag >= 3 && tag <= 8) {
      *numbers[tag - 3] = r.get_sint64();
    } else {
      r.skip();
    }
  }
  return c;
}

// An empty text when all is well.
std::string_view read_table(Reader r, std::string_view how, Table& t,
                            std::vector<Collective>& collectives) {
  t.columns.resize(how.size() + 1);
  while (r.next()) {
    const uint32_t tag = r.tag();
    if (tag >= 1 && tag <= how.size()) {
      if (!read_column(r, how[tag - 1], t.columns[tag])) return "too many rows";
    } else if (tag == 8 && how == kColumns[kRanges - kKernels]) {
      if (collectives.size() == kMostRows) return "too many rows";
      collectives.push_back(read_collective(r.get_message()));
    } else {
      r.skip();
    }
  }
  t.rows = t.columns[1].size();
  for (std::vector<int64_t>& c : t.columns) {
    if (c.empty()) c.resize(t.rows);
    if (c.size() != t.rows) return "columns of different lengths";
  }
  return {};
}

Process read_process(Reader r) {
  Process p;
  bool has_rank = false;
  while (r.next()) {
    switch (r.tag()) {
      case 1:
        p.recorder_version = r.get_string();
        break;
      case 2:
        p.host = r.get_bytes();
        break;
      case 3:
        p.pid = r.get_int64();
        break;
      case 4:
        p.start_realtime_ns = r.get_int64();
        break;
      case 5:
        p.rank = r.get_int32();
        break;
      case 6:
        has_rank = r.get_bool();
        break;
      case 7:
        p.world_size = r.get_int32();
        break;
      case 8: {
        Reader s = r.get_message();
        std::pair<std::string, std::string> setting;
        while (s.next()) {
          if (s.tag() == 1) {
            setting.first = s.get_string();
          } else if (s.tag() == 2) {
            setting.second = s.get_bytes();
          } else {
            s.skip();
          }
        }
        p.settings.push_back(std::move(setting));
        break;
      }
      case 9:
        p.arguments.push_back(r.get_bytes());
        break;
      case 10:
        p.cupti_version = r.get_uint32();
        break;
      case 11:
        p.segment = r.get_uint32();
        break;
      case 12:
        p.rotated_rows = r.get_uint64();
        break;
      default:
        r.skip();
    }
  }
  if (!has_rank) p.rank = -1;
  return p;
}

DeviceInfo read_device(Reader r) {
  DeviceInfo d;
  uint64_t* const numbers[] = {&d.memory_bytes, &d.sm_count, &d.compute_major, &d.compute_minor};
  while (r.next()) {
    const uint32_t tag = r.tag();
    if (tag == 1) {
      d.ordinal = r.get_uint32();
    } else if (tag == 2) {
      d.name = r.get_bytes();
    } else if (tag == 3) {
      d.uuid = r.get_string();
    } else if (tag >= 4 && tag <= 7) {
      *numbers[tag - 4] = r.get_uint64();
    } else {
      r.skip();
    }
  }
  return d;
}

// The fields 1 and 2 of a message of numbers.
std::pair<uint64_t, uint64_t> first_two(Reader r) {
  std::pair<uint64_t, uint64_t> out;
  while (r.next()) {
    if (r.tag() == 1) {
      out.first = r.get_uint64();
    } else if (r.tag() == 2) {
      out.second = r.get_uint64();
    } else {
      r.skip();
    }
  }
  return out;
}

Message read_message(Reader r) {
  Message m;
  while (r.next()) {
    if (r.tag() == 1) {
      m.topic = r.get_uint64();
    } else if (r.tag() == 2) {
      m.text = r.get_bytes();
    } else {
      r.skip();
    }
  }
  return m;
}

void read_names(Reader r, Chunk& c) {
  while (r.next()) {
    if (r.tag() == 1) {
      c.first_name = r.get_uint32();
    } else if (r.tag() == 2) {
      c.names.push_back(r.get_bytes());
    } else {
      r.skip();
    }
  }
}

void read_footer(Reader r, Chunk& c) {
  c.has_footer = true;
  while (r.next()) {
    if (r.tag() == 2) {
      c.writer_cpu_ns = r.get_uint64();
    } else if (r.tag() == 3) {
      c.open_ranges = r.get_uint64();
    } else {
      r.skip();
    }
  }
}

// What is not a table; false when the field is unknown.
bool read_other(Reader& r, Chunk& c) {
  switch (r.tag()) {
    case 1:
      c.has_process = true;
      c.process = read_process(r.get_message());
      return true;
    case 2:
      std::tie(c.monotonic_ns, c.realtime_ns) = first_two(r.get_message());
      return true;
    case 3:
      c.base_ns = r.get_sint64();
      return true;
    case 4:
      read_names(r.get_message(), c);
      return true;
    case 5: {
      const auto [id, name] = first_two(r.get_message());
      c.shapes.push_back({id, name});
      return true;
    }
    case 6:
      c.devices.push_back(read_device(r.get_message()));
      return true;
    case 8: {
      const auto [armed, disarmed] = first_two(r.get_message());
      c.windows.push_back({static_cast<int64_t>(armed), static_cast<int64_t>(disarmed)});
      return true;
    }
    case 9: {
      const auto [source, count] = first_two(r.get_message());
      c.losses.push_back({source, count});
      return true;
    }
    case 10:
      c.messages.push_back(read_message(r.get_message()));
      return true;
    case 31:
      read_footer(r.get_message(), c);
      return true;
    default:
      return false;
  }
}

Result<Chunk> decode(std::string_view body) {
  Chunk c;
  for (size_t i = 0; i < std::size(kColumns); ++i) c.tables[i].columns.resize(1);
  size_t rows = 0;
  Reader r(body.data(), body.size());
  while (r.next()) {
    const uint32_t tag = r.tag();
    if (tag < kKernels || tag >= kTablesEnd) {
      if (!read_other(r, c)) r.skip();
      continue;
    }
    Table& t = c.tables[tag - kKernels];
    if (t.rows > 0) return Error{"a table stands twice"};
    const std::string_view wrong =
        read_table(r.get_message(), kColumns[tag - kKernels], t, c.collectives);
    if (!wrong.empty()) return Error{std::string(wrong)};
    rows += t.rows;
    if (rows > kMostRows) return Error{"too many rows"};
  }
  return c;
}

}  // namespace

Result<Chunk> decode_chunk(std::string_view body) {
  try {
    return decode(body);
  } catch (const protozero::exception& e) {
    return Error{e.what()};
  }
}

}  // namespace ws::recording
