#pragma once
// Small Kineto files for tests: events by name and nanoseconds, raw text where a test needs it.
//
//   KinetoFile f;
//   f.annotation("ProfilerStep#1", 0, 100'000).call("cudaLaunchKernel", 10'000, 15'000, 1)
//       .kernel("gemm", 20'000, 60'000, 1);
//   const ScratchFile file("rank0.json", f.text());
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace ws::test {

// "12.345" for 12345 ns, as the profiler writes microseconds.
inline std::string us(int64_t ns) {
  const std::string digits = std::to_string(1000 + (ns < 0 ? -ns : ns) % 1000).substr(1);
  return (ns < 0 ? "-" : "") + std::to_string((ns < 0 ? -ns : ns) / 1000) + "." + digits;
}

inline std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

struct KinetoThread {
  int64_t pid = 4100, tid = 4100;
};

class KinetoFile {
 public:
  // "\"key\": value" in front of the events, or behind them.
  KinetoFile& before(std::string member) { return push(before_, std::move(member)); }
  KinetoFile& after(std::string member) { return push(after_, std::move(member)); }
  KinetoFile& event(std::string json) { return push(events_, std::move(json)); }

  KinetoFile& complete(std::string_view cat, std::string_view name, int64_t begin_ns,
                       int64_t end_ns, KinetoThread at, const std::string& args = "") {
    return event(R"({"ph": "X", "cat": )" + quoted(cat) + ", \"name\": " + quoted(name) +
                 ", \"pid\": " + std::to_string(at.pid) + ", \"tid\": " + std::to_string(at.tid) +
                 ", \"ts\": " + us(begin_ns) + ", \"dur\": " + us(end_ns - begin_ns) +
                 ", \"args\": {" + args + "}}");
  }
  KinetoFile& annotation(std::string_view name, int64_t begin_ns, int64_t end_ns,
                         KinetoThread at = {}) {
    return complete("user_annotation", name, begin_ns, end_ns, at);
  }
  KinetoFile& cpu_op(std::string_view name, int64_t begin_ns, int64_t end_ns, KinetoThread at = {},
                     const std::string& args = "") {
    return complete("cpu_op", name, begin_ns, end_ns, at, args);
  }
  KinetoFile& python(std::string_view name, int64_t begin_ns, int64_t end_ns,
                     KinetoThread at = {}) {
    return complete("python_function", name, begin_ns, end_ns, at);
  }
  KinetoFile& overhead(std::string_view name, int64_t begin_ns, int64_t end_ns,
                       KinetoThread at = {-1, 0}) {
    return complete("overhead", name, begin_ns, end_ns, at);
  }
  KinetoFile& call(std::string_view name, int64_t begin_ns, int64_t end_ns, int64_t correlation,
                   KinetoThread at = {}) {
    return complete("cuda_runtime", name, begin_ns, end_ns, at,
                    "\"correlation\": " + std::to_string(correlation));
  }
  KinetoFile& kernel(std::string_view name, int64_t begin_ns, int64_t end_ns, int64_t correlation,
                     int stream = 7, int device = 0, const std::string& more_args = "") {
    return device_op("kernel", name, begin_ns, end_ns, correlation, stream, device, more_args);
  }
  KinetoFile& copy(std::string_view name, int64_t begin_ns, int64_t end_ns, int64_t correlation,
                   int64_t bytes, int stream = 7, int device = 0) {
    return device_op("gpu_memcpy", name, begin_ns, end_ns, correlation, stream, device,
                     "\"bytes\": " + std::to_string(bytes));
  }
  KinetoFile& memset(int64_t begin_ns, int64_t end_ns, int64_t correlation, int stream = 7,
                     int device = 0) {
    return device_op("gpu_memset", "Memset (Device)", begin_ns, end_ns, correlation, stream, device,
                     "");
  }
  KinetoFile& sync(std::string_view kind, int64_t begin_ns, int64_t end_ns, int64_t correlation,
                   int stream, const std::string& more_args = "") {
    return device_op(
        "cuda_sync", kind, begin_ns, end_ns, correlation, stream, 0,
        "\"cuda_sync_kind\": " + quoted(kind) + (more_args.empty() ? "" : ", ") + more_args);
  }

  std::string text() const {
    std::string out = "{\n";
    for (const std::string& m : before_) out += "  " + m + ",\n";
    out += "  \"traceEvents\": [\n" + events() + "\n  ]";
    for (const std::string& m : after_) out += ",\n  " + m;
    return out + "\n}\n";
  }
  std::string events() const {  // without the brackets
    std::string out;
    for (const std::string& e : events_) out += (out.empty() ? "    " : ",\n    ") + e;
    return out;
  }

 private:
  KinetoFile& push(std::vector<std::string>& list, std::string text) {
    list.push_back(std::move(text));
    return *this;
  }
  KinetoFile& device_op(std::string_view cat, std::string_view name, int64_t begin_ns,
                        int64_t end_ns, int64_t correlation, int stream, int device,
                        const std::string& more_args) {
    return complete(cat, name, begin_ns, end_ns, {device, stream},
                    "\"device\": " + std::to_string(device) +
                        ", \"context\": 1, \"stream\": " + std::to_string(stream) +
                        ", \"correlation\": " + std::to_string(correlation) +
                        (more_args.empty() ? "" : ", ") + more_args);
  }
  std::vector<std::string> before_, events_, after_;
};

// One gzip member.
inline std::string gzip(std::string_view text) {
  z_stream z{};
  if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&z, static_cast<uLong>(text.size())) + 64, '\0');
  std::string in(text);
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

// A file in a folder of its own, gone with the object.
class ScratchFile {
 public:
  ScratchFile(std::string_view name, std::string_view content) {
    std::string folder = (std::filesystem::temp_directory_path() / "wallsight-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) return;
    folder_ = folder;
    write(name, content);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  void write(std::string_view name, std::string_view content) {
    path_ = (folder_ / name).string();
    std::ofstream(path_, std::ios::binary) << content;
  }
  const std::string& path() const { return path_; }
  std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

}  // namespace ws::test
