// make_big kineto EVENTS OUT.json.gz | make_big nsys KERNELS OUT.sqlite
// Writes a long, regular training run for measuring: a compute stream and a collective stream
// behind one launching thread, steps of 2000 ops. The shape of the records matters here (operators
// with shapes, launch flows, long kernel names), not the story.
#include <sqlite3.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace {

constexpr int kOpsPerStep = 2000;
constexpr int64_t kLaunchEveryNs = 7900;

struct KernelKind {
  std::string_view op, name;
  int64_t length_ns;
};
constexpr std::array<KernelKind, 8> kKinds = {{
    {"aten::mm", "nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NTT", 14800},
    {"aten::rms_norm",
     "void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<"
     "transformer_engine::normalization::Kernel_traits<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16,"
     " float, unsigned int, 4096u, 1u, 1u, 4u, 16u> >(transformer_engine::normalization::Params)",
     2900},
    {"aten::add",
     "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>,"
     " std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>,"
     " std::array<char*, 3ul>)",
     3300},
    {"aten::mm",
     "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize256x128x64_warpgroupsize2x1x1_execute_"
     "segment_k_off_kernel__5x_cublas",
     17100},
    {"FusedAttnFunc",
     "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_"
     "0",
     11200},
    {"aten::silu", "triton_poi_fused_mul_silu_0", 2600},
    {"aten::copy_",
     "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
     "at::TensorIteratorBase&)::{lambda()#3}::operator()() const, std::array<char*, 2ul>, 4>(int)",
     2100},
    {"nccl:all_reduce",
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 21500},
}};

// One op of the run with the host call that launched it.
struct Work {
  int64_t index, correlation;
  int64_t call_begin_ns, call_end_ns, begin_ns, end_ns;
  const KernelKind* kind;
  int stream;
};

// The run, one op after the other: the same for both formats.
class Run {
 public:
  Work next() {
    const int64_t i = index_++;
    const KernelKind& kind = kKinds[static_cast<size_t>((i * 5 + i / 64) % 8)];
    const int stream = &kind == &kKinds[7] ? 20 : 7;
    if (i % kOpsPerStep == 0) host_ns_ += 900000;
    const int64_t call = host_ns_ + 2600;
    int64_t& free = stream == 20 ? comm_free_ns_ : compute_free_ns_;
    const int64_t begin = std::max(call + 5100 + i % 13 * 7, free + 1000);
    const int64_t end = begin + kind.length_ns + i % 29 * 11;
    free = end;
    host_ns_ += kLaunchEveryNs + i % 17 * 40;
    if (compute_free_ns_ > host_ns_ + 8000000) host_ns_ = compute_free_ns_ - 4000000;
    return {i, i + 1, call, call + 4100, begin, end, &kind, stream};
  }
  int64_t host_ns() const { return host_ns_; }

 private:
  int64_t index_ = 0, host_ns_ = 1000000, compute_free_ns_ = 0, comm_free_ns_ = 0;
};

class KinetoFile {
 public:
  explicit KinetoFile(const char* path) : out_(gzopen(path, "wb1")) {
    gzbuffer(out_, 1 << 20);
    text_ =
        "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100 "
        "80GB "
        "HBM3\", \"totalGlobalMem\": 85029158912, \"numSms\": 132}],\n  \"baseTimeNanoseconds\": "
        "1764000000000000000,\n  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [\n";
  }
  int64_t events() const { return events_; }

  void op(const Work& w) {
    event("cpu_op", w.kind->op, 4100, 4100, w.call_begin_ns - 2400, w.call_end_ns + 900);
    number("\"External id\": ", w.index + 1);
    number(", \"Sequence number\": ", w.index);
    text_ +=
        ", \"Fwd thread id\": 0, \"Input Dims\": [[8192, 4096], [4096, 14336], []], \"Input "
        "type\": "
        "[\"c10::BFloat16\", \"c10::BFloat16\", \"\"], \"Concrete Inputs\": [\"\", \"\", "
        "\"\"]}},\n";
    event("cuda_runtime", "cudaLaunchKernel", 4100, 4100, w.call_begin_ns, w.call_end_ns);
    number("\"External id\": ", w.index + 1);
    number(", \"cbid\": 211, \"correlation\": ", w.correlation);
    text_ += "}},\n";
    flow('s', 4100, 4100, w.call_begin_ns, w.correlation);
    event("kernel", w.kind->name, 0, w.stream, w.begin_ns, w.end_ns);
    number("\"External id\": ", w.index + 1);
    number(", \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": ", w.stream);
    number(", \"correlation\": ", w.correlation);
    text_ +=
        ", \"registers per thread\": 168, \"shared memory\": 213248, \"blocks per SM\": 1.0, "
        "\"warps per SM\": 12.0, \"grid\": [132, 1, 1], \"block\": [384, 1, 1], \"est. achieved "
        "occupancy %\": 19}},\n";
    flow('f', 0, w.stream, w.begin_ns, w.correlation);
    if (text_.size() > (1U << 20)) flush();
  }
  void step(int64_t n, int64_t begin_ns, int64_t end_ns) {
    event("user_annotation", "ProfilerStep#" + std::to_string(n), 4100, 4100, begin_ns, end_ns);
    text_ += "\"External id\": 0}},\n";
  }
  bool close() {
    text_ +=
        "  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 4100, \"tid\": 0, \"ts\": 0.000, "
        "\"args\": {\"name\": \"python3\"}}\n  ]\n}\n";
    flush();
    return gzclose(out_) == Z_OK;
  }

 private:
  void number(std::string_view before, int64_t value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_ += before;
    text_.append(digits.data(), end);
  }
  void micro(std::string_view before, int64_t ns) {
    number(before, ns / 1000);
    const int64_t rest = ns % 1000;
    text_ += {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
              static_cast<char>('0' + rest % 10)};
  }
  void event(std::string_view category, std::string_view name, int pid, int tid, int64_t begin_ns,
             int64_t end_ns) {
    ++events_;
    text_ += "  {\"ph\": \"X\", \"cat\": \"";
    text_ += category;
    text_ += "\", \"name\": \"";
    text_ += name;
    number("\", \"pid\": ", pid);
    number(", \"tid\": ", tid);
    micro(",\n    \"ts\": ", begin_ns);
    micro(", \"dur\": ", end_ns - begin_ns);
    text_ += ",\n    \"args\": {";
  }
  void flow(char phase, int pid, int tid, int64_t ns, int64_t id) {
    ++events_;
    text_ += "  {\"ph\": \"";
    text_ += phase;
    number("\", \"id\": ", id);
    number(", \"pid\": ", pid);
    number(", \"tid\": ", tid);
    micro(", \"ts\": ", ns);
    text_ += phase == 'f' ? ", \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"},\n"
                          : ", \"cat\": \"ac2g\", \"name\": \"ac2g\"},\n";
  }
  void flush() {
    gzwrite(out_, text_.data(), static_cast<unsigned>(text_.size()));
    text_.clear();
  }
  gzFile out_;
  std::string text_;
  int64_t events_ = 0;
};

// Steps begin with the host's next op and end with its last.
template <class File>
void write_run(File& file, bool (*more)(const File&, int64_t made, int64_t wanted),
               int64_t wanted) {
  Run run;
  int64_t made = 0, step_begin = run.host_ns() + 900000 - 1;
  while (more(file, made, wanted)) {
    file.op(run.next());
    if (++made % kOpsPerStep == 0) {
      file.step(made / kOpsPerStep + 9, step_begin, run.host_ns());
      step_begin = run.host_ns();
    }
  }
}

bool make_kineto(int64_t events, const char* path) {
  KinetoFile file(path);
  write_run<KinetoFile>(
      file, [](const KinetoFile& f, int64_t, int64_t wanted) { return f.events() < wanted; },
      events);
  return file.close();
}

constexpr const char* kTables =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.3.1.0'),"
    " ('EXPORT_SCHEMA_VERSION', '3.20.2');"
    "CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT,"
    " totalMemory INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER);"
    "INSERT INTO TARGET_INFO_GPU VALUES (1, 0, 'NVIDIA H100 80GB HBM3', 85029158912, 132, '', 0);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,"
    " streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER,"
    " launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER NOT NULL,"
    " gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,"
    " blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,"
    " staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,"
    " localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,"
    " gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER,"
    " sharedMemoryLimitConfig INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL,"
    " eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER,"
    " nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL,"
    " rangeId INTEGER, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);"
    "INSERT INTO StringIds VALUES (100, 'cudaLaunchKernel_v7000'),"
    " (101, 'cudaStreamGetCaptureInfo_v10010');";
constexpr int64_t kGlobalPid = (int64_t{1} << 48) | (int64_t{4100} << 24);

class NsysFile {
 public:
  explicit NsysFile(const char* path) {
    std::remove(path);
    sqlite3_open(path, &db_);
    sqlite3_exec(db_, kTables, nullptr, nullptr, nullptr);
    for (size_t i = 0; i < kKinds.size(); ++i) {
      const std::string sql = "INSERT INTO StringIds VALUES (" + std::to_string(i + 1) + ", '" +
                              std::string(kKinds[i].name) + "')";
      sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr);
    }
    kernel_ = prepare(
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
        "(?,?,0,1,NULL,?,?,?,?,?,NULL,1,0,168,132,1,1,"
        "384,1,1,0,213248,0,0,?,NULL,NULL,NULL)");
    call_ = prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,0,?,?,?,0,NULL)");
    range_ = prepare("INSERT INTO NVTX_EVENTS VALUES (?,?,59,NULL,?,?,NULL,0)");
  }

  void op(const Work& w) {
    const int64_t name = w.kind - kKinds.data() + 1;
    insert(kernel_,
           {w.begin_ns, w.end_ns, w.stream, w.correlation, kGlobalPid, name, name, w.index});
    insert(call_, {w.call_begin_ns, w.call_end_ns, kGlobalPid | 4100, w.correlation, 100});
    if (w.index % 11 < 8) {  // 1.7 runtime records per kernel, as in recordings of PyTorch
      insert(call_, {w.call_begin_ns - 1300, w.call_begin_ns - 700, kGlobalPid | 4100,
                     (int64_t{1} << 30) + w.correlation, 101});
    }
  }
  void step(int64_t n, int64_t begin_ns, int64_t end_ns) {
    const std::string name = "iteration " + std::to_string(n);
    sqlite3_bind_int64(range_, 1, begin_ns);
    sqlite3_bind_int64(range_, 2, end_ns);
    sqlite3_bind_text(range_, 3, name.c_str(), -1, SQLITE_TRANSIENT);
    sqlite3_bind_int64(range_, 4, kGlobalPid | 4100);
    sqlite3_step(range_);
    sqlite3_reset(range_);
  }
  bool close() {
    for (sqlite3_stmt* s : {kernel_, call_, range_}) sqlite3_finalize(s);
    const bool ok = sqlite3_exec(db_, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
    return sqlite3_close(db_) == SQLITE_OK && ok;
  }

 private:
  sqlite3_stmt* prepare(const char* sql) {
    sqlite3_stmt* s = nullptr;
    sqlite3_prepare_v2(db_, sql, -1, &s, nullptr);
    return s;
  }
  static void insert(sqlite3_stmt* s, std::initializer_list<int64_t> values) {
    int i = 0;
    for (int64_t v : values) sqlite3_bind_int64(s, ++i, v);
    sqlite3_step(s);
    sqlite3_reset(s);
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt *kernel_ = nullptr, *call_ = nullptr, *range_ = nullptr;
};

bool make_nsys(int64_t kernels, const char* path) {
  NsysFile file(path);
  write_run<NsysFile>(
      file, [](const NsysFile&, int64_t made, int64_t wanted) { return made < wanted; }, kernels);
  return file.close();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_big kineto EVENTS OUT.json.gz | nsys KERNELS OUT.sqlite\n");
    return 3;
  }
  const int64_t wanted = std::strtoll(argv[2], nullptr, 10);
  const bool ok = std::strcmp(argv[1], "kineto") == 0 ? make_kineto(wanted, argv[3])
                                                      : make_nsys(wanted, argv[3]);
  return ok ? 0 : 2;
}
