// floor kineto FILE.json.gz | floor nsys FILE.sqlite
// The least work that still answers anything: read everything once with the fastest libraries there
// are, keep the device records, join them with their launches and print busy, compute, exposed
// communication and idle of the whole file. No notes, no steps, no causes, one thread. The time of
// `wallsight analyze` is compared with this program's in the same run (bench.py).
#include <isa-l/igzip_lib.h>
#include <simdjson.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace {

struct Span {
  int64_t begin_ns, end_ns;
};
struct Launched {
  int64_t begin_ns, correlation;
};
struct Records {
  std::vector<Span> compute, comm, copies;
  std::vector<Launched> ops, calls;
};

bool is_comm(std::string_view name) { return name.find("nccl") != std::string_view::npos; }

// Sorts and joins; returns the covered time.
int64_t unite(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin_ns < b.begin_ns; });
  size_t kept = 0;
  for (const Span& s : spans) {
    if (kept > 0 && s.begin_ns <= spans[kept - 1].end_ns) {
      spans[kept - 1].end_ns = std::max(spans[kept - 1].end_ns, s.end_ns);
    } else {
      spans[kept++] = s;
    }
  }
  spans.resize(kept);
  int64_t total = 0;
  for (const Span& s : spans) total += s.end_ns - s.begin_ns;
  return total;
}

// Mean time from launch call to start, by a table over correlation ids.
double mean_launch_to_start_ns(const Records& r) {
  int64_t top = 0;
  for (const Launched& op : r.ops) top = std::max(top, op.correlation);
  std::vector<int64_t> called(static_cast<size_t>(top) + 1, -1);
  for (const Launched& c : r.calls) {
    if (c.correlation >= 0 && c.correlation <= top)
      called[static_cast<size_t>(c.correlation)] = c.begin_ns;
  }
  double sum = 0;
  size_t count = 0;
  for (const Launched& op : r.ops) {
    const int64_t at = op.correlation >= 0 ? called[static_cast<size_t>(op.correlation)] : -1;
    if (at < 0) continue;
    sum += static_cast<double>(op.begin_ns - at);
    ++count;
  }
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

void print(Records& r) {
  std::vector<Span> busy = r.compute;
  busy.insert(busy.end(), r.comm.begin(), r.comm.end());
  std::vector<Span> kernels = busy;
  busy.insert(busy.end(), r.copies.begin(), r.copies.end());
  if (busy.empty()) return;
  const int64_t compute = unite(r.compute), busy_ns = unite(busy), kernel_ns = unite(kernels);
  const int64_t span = busy.back().end_ns - busy.front().begin_ns;
  std::printf(
      "ops %zu calls %zu span %.3f ms compute %.3f exposed comm %.3f idle %.3f launch %.1f us\n",
      r.ops.size(), r.calls.size(), static_cast<double>(span) / 1e6,
      static_cast<double>(compute) / 1e6, static_cast<double>(kernel_ns - compute) / 1e6,
      static_cast<double>(span - busy_ns) / 1e6, mean_launch_to_start_ns(r) / 1e3);
}

std::string read_file(const char* path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::string bytes(static_cast<size_t>(in.tellg()), '\0');
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// One gzip member, into a buffer with simdjson's padding.
std::vector<char> inflate(std::string& packed) {
  uint32_t size = 0;  // of the last member, modulo 4 GiB: enough for files of make_big
  std::memcpy(&size, packed.data() + packed.size() - 4, 4);
  std::vector<char> out(size + simdjson::SIMDJSON_PADDING);
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = reinterpret_cast<uint8_t*>(packed.data());
  state.avail_in = static_cast<uint32_t>(packed.size());
  state.next_out = reinterpret_cast<uint8_t*>(out.data());
  state.avail_out = size;
  if (isal_inflate(&state) != ISAL_DECOMP_OK) out.clear();
  return out;
}

int64_t to_ns(std::string_view micro) {
  int64_t ns = 0;
  size_t i = 0;
  for (; i < micro.size() && micro[i] >= '0' && micro[i] <= '9'; ++i)
    ns = ns * 10 + (micro[i] - '0');
  ns *= 1000;
  int64_t unit = 100;
  for (++i; i < micro.size() && micro[i] >= '0' && micro[i] <= '9'; ++i, unit /= 10)
    ns += (micro[i] - '0') * unit;
  return ns;
}

struct Event {
  std::string_view category, name;
  int64_t begin_ns = 0, length_ns = 0, correlation = -1;
};

void keep(const Event& e, Records& out) {
  const Span span{e.begin_ns, e.begin_ns + e.length_ns};
  if (e.category == "kernel") {
    (is_comm(e.name) ? out.comm : out.compute).push_back(span);
  } else if (e.category == "gpu_memcpy" || e.category == "gpu_memset") {
    out.copies.push_back(span);
  } else {
    if (e.category == "cuda_runtime" || e.category == "cuda_driver")
      out.calls.push_back({e.begin_ns, e.correlation});
    return;
  }
  out.ops.push_back({e.begin_ns, e.correlation});
}

Event read_event(simdjson::ondemand::object object) {
  Event e;
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    if (key == "cat") {
      e.category = field.value().get_string();
    } else if (key == "name") {
      e.name = field.value().get_string();
    } else if (key == "ts") {
      e.begin_ns = to_ns(field.value().raw_json_token());
    } else if (key == "dur") {
      e.length_ns = to_ns(field.value().raw_json_token());
    } else if (key == "args") {
      for (auto arg : field.value().get_object()) {
        if (std::string_view(arg.unescaped_key()) == "correlation")
          e.correlation = arg.value().get_int64();
      }
    }
  }
  return e;
}

Records scan_kineto(const char* path) {
  std::string packed = read_file(path);
  std::vector<char> text = inflate(packed);
  simdjson::ondemand::parser parser;
  auto document =
      parser.iterate(text.data(), text.size() - simdjson::SIMDJSON_PADDING, text.size());
  Records out;
  for (auto event : document["traceEvents"].get_array()) keep(read_event(event.get_object()), out);
  return out;
}

// Calls row(statement) for every row of a query; a missing table has no rows.
template <class Row>
void for_rows(sqlite3* db, const char* sql, Row row) {
  sqlite3_stmt* s = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &s, nullptr) != SQLITE_OK) return;
  while (sqlite3_step(s) == SQLITE_ROW) row(s);
  sqlite3_finalize(s);
}

Records scan_nsys(const char* path) {
  sqlite3* db = nullptr;
  sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, nullptr);
  sqlite3_exec(db, "PRAGMA mmap_size = 8589934592", nullptr, nullptr, nullptr);
  const auto at = [](sqlite3_stmt* s, int i) { return int64_t{sqlite3_column_int64(s, i)}; };
  std::unordered_map<int64_t, bool> comm;
  for_rows(db, "SELECT id, value FROM StringIds", [&](sqlite3_stmt* s) {
    comm[at(s, 0)] = is_comm(reinterpret_cast<const char*>(sqlite3_column_text(s, 1)));
  });
  Records out;
  for_rows(db,
           "SELECT start, end, correlationId, demangledName, deviceId, streamId "
           "FROM CUPTI_ACTIVITY_KIND_KERNEL",
           [&](sqlite3_stmt* s) {
             (comm[at(s, 3)] ? out.comm : out.compute).push_back({at(s, 0), at(s, 1)});
             out.ops.push_back({at(s, 0), at(s, 2)});
           });
  for_rows(db, "SELECT start, end, correlationId FROM CUPTI_ACTIVITY_KIND_MEMCPY",
           [&](sqlite3_stmt* s) {
             out.copies.push_back({at(s, 0), at(s, 1)});
             out.ops.push_back({at(s, 0), at(s, 2)});
           });
  for_rows(db, "SELECT start, end, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME",
           [&](sqlite3_stmt* s) {
             out.calls.push_back({at(s, 0), at(s, 2)});
           });
  sqlite3_close(db);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: floor kineto FILE.json.gz | floor nsys FILE.sqlite\n");
    return 3;
  }
  Records records = std::strcmp(argv[1], "kineto") == 0 ? scan_kineto(argv[2]) : scan_nsys(argv[2]);
  print(records);
  return records.ops.empty() ? 2 : 0;
}
