#include "support/nsys_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <variant>

#include "base/check.h"

namespace ws::test {
namespace {

struct TableText {
  const char* table;
  const char* old_columns;  // nullptr: not in the old layout
  const char* columns;
};

#define WS_DEVICE_ID                                                                            \
  "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER " \
  "NOT NULL, "
#define WS_KERNEL_REST                                                                         \
  "launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY " \
  "INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "                   \
  "staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, "    \
  "localMemoryTotal INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId "       \
  "INTEGER, sharedMemoryLimitConfig INTEGER"
#define WS_STREAM "streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
#define WS_GREEN "greenContextId INTEGER, "
#define WS_NAMES "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, "
#define WS_COPY                                                                          \
  "bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind " \
  "INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId "    \
  "INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER"
#define WS_NVTX                                                                           \
  "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "    \
  "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, " \
  "textId INTEGER, domainId INTEGER"

const TableText kTables[] = {
    {"StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
     "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL"},
    {"META_DATA_EXPORT", nullptr, "name TEXT NOT NULL, value TEXT"},
    {"META_DATA_CAPTURE", nullptr, "name TEXT NOT NULL, value TEXT"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", WS_DEVICE_ID WS_STREAM WS_NAMES WS_KERNEL_REST,
     WS_DEVICE_ID WS_GREEN WS_STREAM WS_NAMES
     "mangledName INTEGER, " WS_KERNEL_REST
     ", graphId INTEGER, clusterX INTEGER, tensorSizeMinusOneElements TEXT"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", WS_DEVICE_ID WS_STREAM WS_COPY,
     WS_DEVICE_ID WS_GREEN WS_STREAM WS_COPY ", virtualAddress INTEGER, copyCount INTEGER"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     WS_DEVICE_ID WS_STREAM "value INTEGER, bytes INTEGER, graphNodeId INTEGER, memKind INTEGER",
     WS_DEVICE_ID WS_GREEN WS_STREAM
     "value INTEGER, bytes INTEGER, graphNodeId INTEGER, memKind INTEGER"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", nullptr,
     WS_DEVICE_ID WS_GREEN WS_STREAM "graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid "
     "INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
     "callchainId INTEGER",
     "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid "
     "INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, "
     "callchainId INTEGER"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     WS_DEVICE_ID WS_STREAM "syncType INTEGER NOT NULL, eventId INTEGER NOT NULL",
     WS_DEVICE_ID WS_GREEN WS_STREAM
     "deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, "
     "eventSyncId INTEGER"},
    {"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
     "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, " WS_STREAM "eventId INTEGER NOT NULL",
     "deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, " WS_GREEN WS_STREAM
     "eventId INTEGER NOT NULL, eventSyncId INTEGER, timestamp INTEGER"},
    {"NVTX_EVENTS", WS_NVTX,
     WS_NVTX ", uint64Value INTEGER, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT"},
    {"OSRT_API",
     "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid "
     "INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL",
     "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid "
     "INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, nestingLevel INTEGER"},
    {"PROFILER_OVERHEAD",
     "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, "
     "nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL",
     "start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL, "
     "overheadType INTEGER NOT NULL"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", nullptr,
     "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid "
     "INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, overheadType INTEGER NOT NULL"},
    {"DIAGNOSTIC_EVENT", nullptr,
     "timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, "
     "severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER"},
    {"TARGET_INFO_GPU",
     "vmId INTEGER NOT NULL, deviceId INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete "
     "INTEGER",
     "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, "
     "uuid TEXT, cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER"},
    {"TARGET_INFO_CUDA_DEVICE", nullptr,
     "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors "
     "INTEGER"},
    {"TARGET_INFO_SYSTEM_ENV",
     "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT "
     "NULL, value TEXT NOT NULL",
     "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT "
     "NULL, value TEXT NOT NULL"},
    {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT",
     "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER"},
};

}  // namespace

// A number, a text, or NULL.
struct NsysFile::Value {
  Value(int64_t number) : data(number) {}       // NOLINT: implicit on purpose
  Value(std::string_view text) : data(text) {}  // NOLINT: implicit on purpose
  Value(std::optional<int64_t> maybe) {         // NOLINT: implicit on purpose
    if (maybe) data = *maybe;
  }
  std::variant<std::monostate, int64_t, std::string_view> data;
};

namespace {
std::optional<int64_t> number_or_null(int64_t v) {
  return v == 0 ? std::nullopt : std::optional<int64_t>(v);
}
}  // namespace

std::string temporary_path(std::string_view ending) {
  static int count = 0;
  const char* folder = std::getenv("TMPDIR");
  return fmt::format("{}/wallsight_test_{}_{}{}", folder != nullptr ? folder : "/tmp", ::getpid(),
                     ++count, ending);
}

NsysFile::NsysFile(NsysLayout layout) : layout_(layout), path_(temporary_path(".sqlite")) {
  std::remove(path_.c_str());
  Result<Database> db = Database::open(path_, Database::Mode::create);
  WS_CHECK(db.has_value());
  db_ = std::move(*db);
  sql("BEGIN");
  need("StringIds");
  if (layout_ == NsysLayout::current) {
    add_metadata("EXPORT_PRODUCT_VERSION", "2026.2.1.210");
    add_metadata("EXPORT_SCHEMA_VERSION", "3.25.0");
  } else {
    need("TARGET_INFO_SYSTEM_ENV");
  }
}

NsysFile::~NsysFile() {
  db_.reset();
  std::remove(path_.c_str());
}

void NsysFile::sql(std::string_view statement) {
  const Result<void> ok = db_->exec(statement);
  if (!ok)
    std::fprintf(stderr, "%s: %s\n", std::string(statement).c_str(), ok.error().message.c_str());
  WS_CHECK(ok.has_value());
}

const std::set<std::string>& NsysFile::need(const char* table) {
  const auto [it, fresh] = tables_.try_emplace(table);
  if (!fresh) return it->second;
  for (const TableText& t : kTables) {
    if (std::string_view(t.table) != table) continue;
    const char* columns = layout_ == NsysLayout::old ? t.old_columns : t.columns;
    WS_CHECK(columns != nullptr);  // the old layout has no such table
    sql(fmt::format("CREATE TABLE {} ({})", table, columns));
  }
  Result<Statement> info = db_->prepare(fmt::format("PRAGMA table_info({})", table));
  while (info->step()) it->second.emplace(info->text(1));
  WS_CHECK(!it->second.empty());
  return it->second;
}

// Columns that the layout lacks are left out.
void NsysFile::insert(const char* table,
                      std::initializer_list<std::pair<const char*, Value>> values) {
  const std::set<std::string>& present = need(table);
  std::string columns, marks;
  for (const auto& [column, value] : values) {
    if (present.count(column) == 0) continue;
    columns += fmt::format("{}\"{}\"", columns.empty() ? "" : ",", column);
    marks += marks.empty() ? "?" : ",?";
  }
  Result<Statement> s =
      db_->prepare(fmt::format("INSERT INTO {} ({}) VALUES ({})", table, columns, marks));
  WS_CHECK(s.has_value());
  int at = 0;
  for (const auto& [column, value] : values) {
    if (present.count(column) == 0) continue;
    ++at;
    if (const auto* number = std::get_if<int64_t>(&value.data)) {
      s->bind(at, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value.data)) {
      s->bind(at, *text);
    } else {
      s->bind_null(at);
    }
  }
  s->step();
  WS_CHECK(!s->failed());
}

int64_t NsysFile::string(std::string_view text) {
  const auto [it, fresh] =
      strings_.try_emplace(std::string(text), static_cast<int64_t>(strings_.size()) + 1);
  if (fresh) insert("StringIds", {{"id", it->second}, {"value", text}});
  return it->second;
}

void NsysFile::add(const NsysKernel& k) {
  const int64_t name = string(k.name);
  insert("CUPTI_ACTIVITY_KIND_KERNEL", {{"start", k.begin_ns},
                                        {"end", k.end_ns},
                                        {"deviceId", k.device},
                                        {"contextId", k.context},
                                        {"streamId", k.stream},
                                        {"correlationId", number_or_null(k.correlation)},
                                        {"globalPid", nsys_global(k.pid)},
                                        {"demangledName", name},
                                        {"shortName", name},
                                        {"graphNodeId", number_or_null(k.node)},
                                        {"graphId", number_or_null(k.graph)}});
}

void NsysFile::add(const NsysCopy& c) {
  insert("CUPTI_ACTIVITY_KIND_MEMCPY", {{"start", c.begin_ns},
                                        {"end", c.end_ns},
                                        {"deviceId", c.device},
                                        {"contextId", c.context},
                                        {"streamId", c.stream},
                                        {"correlationId", number_or_null(c.correlation)},
                                        {"globalPid", nsys_global(c.pid)},
                                        {"bytes", c.bytes},
                                        {"copyKind", c.kind},
                                        {"srcKind", c.src_kind},
                                        {"dstKind", c.dst_kind},
                                        {"graphNodeId", number_or_null(c.node)}});
}

void NsysFile::add(const NsysFill& f) {
  insert("CUPTI_ACTIVITY_KIND_MEMSET", {{"start", f.begin_ns},
                                        {"end", f.end_ns},
                                        {"deviceId", f.device},
                                        {"contextId", f.context},
                                        {"streamId", f.stream},
                                        {"correlationId", number_or_null(f.correlation)},
                                        {"globalPid", nsys_global(f.pid)},
                                        {"bytes", f.bytes},
                                        {"graphNodeId", number_or_null(f.node)}});
}

void NsysFile::add(const NsysGraphRun& g) {
  insert("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {{"start", g.begin_ns},
                                             {"end", g.end_ns},
                                             {"deviceId", g.device},
                                             {"contextId", g.context},
                                             {"streamId", g.stream},
                                             {"correlationId", number_or_null(g.correlation)},
                                             {"globalPid", nsys_global(g.pid)},
                                             {"graphId", g.graph},
                                             {"graphExecId", g.graph + 1}});
}

void NsysFile::add(const NsysCall& c) {
  insert("CUPTI_ACTIVITY_KIND_RUNTIME", {{"start", c.begin_ns},
                                         {"end", c.end_ns},
                                         {"eventClass", int64_t{0}},
                                         {"globalTid", nsys_global(c.pid, c.tid)},
                                         {"correlationId", number_or_null(c.correlation)},
                                         {"nameId", string(c.name)},
                                         {"returnValue", int64_t{0}}});
}

void NsysFile::add(const NsysRange& r) {
  const auto name = r.registered ? std::optional<int64_t>(string(r.name)) : std::nullopt;
  const auto end_tid =
      r.end_tid ? std::optional<int64_t>(nsys_global(r.pid, *r.end_tid)) : std::nullopt;
  const Value text = r.registered || r.name.empty() ? Value(std::optional<int64_t>())
                                                    : Value(std::string_view(r.name));
  const Value json =
      r.json.empty() ? Value(std::optional<int64_t>()) : Value(std::string_view(r.json));
  insert("NVTX_EVENTS", {{"start", r.begin_ns},
                         {"end", r.end_ns},
                         {"eventType", r.type},
                         {"text", text},
                         {"globalTid", nsys_global(r.pid, r.tid)},
                         {"endGlobalTid", end_tid},
                         {"textId", name},
                         {"domainId", r.domain},
                         {"jsonText", json}});
}

void NsysFile::add(const NsysSync& s) {
  insert("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {{"start", s.begin_ns},
                                                 {"end", s.end_ns},
                                                 {"deviceId", int64_t{0}},
                                                 {"contextId", int64_t{1}},
                                                 {"streamId", s.stream},
                                                 {"correlationId", number_or_null(s.correlation)},
                                                 {"globalPid", nsys_global(s.pid)},
                                                 {"syncType", s.type},
                                                 {"eventId", s.event}});
}

void NsysFile::add(const NsysEventRecord& e) {
  insert("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {{"deviceId", int64_t{0}},
                                            {"contextId", int64_t{1}},
                                            {"streamId", e.stream},
                                            {"correlationId", number_or_null(e.correlation)},
                                            {"globalPid", nsys_global(e.pid)},
                                            {"eventId", e.event}});
}

void NsysFile::add(const NsysWait& w) {
  insert("OSRT_API", {{"start", w.begin_ns},
                      {"end", w.end_ns},
                      {"eventClass", int64_t{27}},
                      {"globalTid", nsys_global(w.pid, w.tid)},
                      {"nameId", string(w.name)},
                      {"returnValue", int64_t{0}}});
}

void NsysFile::add(const NsysOverhead& o) {
  insert(o.cupti ? "CUPTI_ACTIVITY_KIND_OVERHEAD" : "PROFILER_OVERHEAD",
         {{"start", o.begin_ns},
          {"end", o.end_ns},
          {"eventClass", int64_t{103}},
          {"globalTid", nsys_global(o.pid, o.tid)},
          {"nameId", string(o.name)},
          {"returnValue", int64_t{0}},
          {"overheadType", o.type}});
}

void NsysFile::add_metadata(std::string_view name, std::string_view value) {
  insert("META_DATA_EXPORT", {{"name", name}, {"value", value}});
}

void NsysFile::add_capture(std::string_view name, std::string_view value) {
  insert("META_DATA_CAPTURE", {{"name", name}, {"value", value}});
}

void NsysFile::add_system(std::string_view name, std::string_view value) {
  insert("TARGET_INFO_SYSTEM_ENV", {{"globalVid", nsys_global(0)},
                                    {"devStateName", std::string_view("Local (CLI)")},
                                    {"name", name},
                                    {"nameEnum", int64_t{0}},
                                    {"value", value}});
}

void NsysFile::add_message(int64_t severity, std::string_view text, int64_t pid) {
  insert("DIAGNOSTIC_EVENT", {{"timestamp", int64_t{0}},
                              {"timestampType", int64_t{1}},
                              {"source", int64_t{3}},
                              {"severity", severity},
                              {"text", text},
                              {"globalPid", nsys_global(pid)}});
}

void NsysFile::add_gpu(int64_t id, int64_t ordinal, std::string_view name, std::string_view uuid) {
  insert("TARGET_INFO_GPU", {{"vmId", nsys_global(0)},
                             {"id", id},
                             {"deviceId", ordinal},
                             {"name", name},
                             {"totalMemory", int64_t{80} << 30},
                             {"smCount", int64_t{100 + id}},
                             {"uuid", uuid},
                             {"cuDevice", ordinal},
                             {"computeMajor", int64_t{9}},
                             {"computeMinor", int64_t{0}}});
}

void NsysFile::add_visible_gpu(int64_t pid, int64_t ordinal, int64_t gpu_id,
                               std::string_view uuid) {
  insert("TARGET_INFO_CUDA_DEVICE",
         {{"gpuId", gpu_id}, {"cudaId", ordinal}, {"pid", pid}, {"uuid", uuid}});
}

void NsysFile::set_start(int64_t utc_epoch_ns) {
  insert("TARGET_INFO_SESSION_START_TIME", {{"utcEpochNs", utc_epoch_ns}});
}

const std::string& NsysFile::finish() {
  if (db_) sql("COMMIT");
  db_.reset();
  return path_;
}

}  // namespace ws::test
