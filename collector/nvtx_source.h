#pragma once
// NVTX ranges of all clients in the process. Outside a window the hot slots of the clients' tables
// are null, so that a call costs what it costs without a tool; domains and registered strings are
// always taken, since clients keep their handles.
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "collector/nvtx_abi.h"
#include "collector/range_rings.h"
#include "collector/recording.h"
#include "collector/step_pattern.h"

namespace ws::collector {

// Where the values of a collective stand in a payload.
struct PayloadLayout {
  struct Value {
    uint32_t offset = 0;
    uint8_t bytes = 0;  // 0: the schema has no such entry
    bool is_signed = false;
  };
  Value communicator, size, root, peer, rank_count, rank, sequence;
};

// What NCCL's profiler interface says of a collective, send or receive.
struct NcclOperation {
  char function[32] = {};  // "AllReduce"
  bool is_collective = true;
  uint64_t communicator = 0;
  int64_t bytes = -1, sequence = -1;
  int32_t root_or_peer = -1, rank_count = -1;
};

class NvtxSource {
 public:
  // `wake` is called (in a thread of the job) when a ring is half full or a watched range begins.
  NvtxSource(Names& names, std::function<void()> wake);

  int add_client(nvtx::GetExportTable get);          // InitializeInjectionNvtx2
  int add_extension(nvtx::ExtensionModule* module);  // InitializeInjectionNvtxExtension
  void start();
  void stop();
  void become_inert();  // in a fork child
  // Ranges that were timed elsewhere, of the calling thread, for the source of the handlers.
  static void record_ended(const char* name, const NcclOperation* operation, int64_t begin_ns,
                           int64_t end_ns) noexcept;
  bool is_recording() const { return recording_ && !inert_; }

  // Ranges of this name, or of this name and a number ("step 12", "ProfilerStep#12"), are counted
  // and announced even outside a window. Before the first client.
  void watch(const std::string& name, std::function<void(uint64_t nth, int64_t now_ns)> begins);

  void unwatch() { watching_ = false; }  // the slots go with the next stop()
  bool is_watching() const { return watching_; }

  // What NCCL is asked for is announced even outside a window: by its NVTX, or, where that is
  // silent, by its profiler interface. Before the first client.
  void watch_calls(std::function<void(const NcclCall&, int64_t now_ns)> asked);
  void unwatch_calls() { watching_calls_ = false; }
  bool is_watching_calls() const { return watching_calls_ && !inert_; }
  static void announce_call(const NcclOperation& operation) noexcept;

  // The writer: what has come in goes to the recording.
  void take_ranges(Recording& out);
  void set_keep_from(int64_t ns) { keep_from_ns_ = ns; }
  uint64_t open_ranges() const { return rings_.open_ranges(); }
  bool has_clients() const { return client_count_.load() > 0; }

 private:
  struct Handlers;  // the functions in the clients' tables
  struct HandlerSlot {
    unsigned slot = 0;
    void* handler = nullptr;
    bool hot = true;  // taken out outside windows
  };
  static std::span<const HandlerSlot> core_slots();
  static std::span<const HandlerSlot> core2_slots();
  static std::span<const HandlerSlot> payload_slots();
  struct Open {
    int64_t begin_ns;
    uint32_t name, domain;
    uint8_t payload_bytes;
    uint64_t schema;
    uint8_t payload[RangeEvent::kMostPayload];
  };
  struct ThreadState;
  static ThreadState& thread_state();
  ThreadState& own_thread() noexcept;
  struct Slot {
    nvtx::FunctionPointer* at = nullptr;
    nvtx::FunctionPointer handler = nullptr;
  };
  ThreadState* state() noexcept;
  void emit(ThreadState& t, const RangeEvent& event) noexcept;
  void set_slots(bool on);
  void install(nvtx::FunctionTable table, unsigned count, unsigned slot, void* handler, bool hot);
  bool collective_of(const RangeEvent& event, CollectiveRow& out) const;
  void announce_call(uint32_t name, const RangeEvent& payload) noexcept;
  uint32_t new_name(std::string_view text) noexcept;
  bool is_watched(uint32_t id) const noexcept {
    return id < kWatchedIds &&
           (watched_ids_[id / 64].load(std::memory_order_relaxed) >> (id % 64) & 1) != 0;
  }
  uint64_t register_schema(const nvtx::SchemaAttributes* a);

  const uint64_t id_;  // of this object, unlike any other
  Names& names_;
  std::function<void()> wake_;
  RangeRings rings_;
  std::mutex clients_mutex_;
  std::vector<Slot> hot_slots_;
  std::atomic<uint32_t> client_count_{0};
  std::atomic<bool> recording_{false}, inert_{false}, watching_{false};
  std::atomic<bool> watching_calls_{false}, nvtx_tells_calls_{false};
  std::atomic<uint32_t> epoch_{0};
  std::string watched_;  // empty: none
  static constexpr uint32_t kWatchedIds = 64 * 1024;
  std::atomic<uint64_t> watched_ids_[kWatchedIds / 64] = {};  // a bit per name
  std::atomic<uint64_t> watched_count_{0};
  std::function<void(uint64_t, int64_t)> watched_begins_;
  uint32_t nccl_domain_ = 0;
  std::function<void(const NcclCall&, int64_t)> call_asked_;
  int64_t keep_from_ns_ = 0;
  mutable std::mutex schemas_mutex_;
  std::map<uint64_t, PayloadLayout> schemas_;
  uint64_t next_schema_ = nvtx::kFirstDynamicSchema;

  static constexpr uint32_t kStartEndSlots = 4096;
  struct StartEnd {
    bool used = false;
    uint64_t generation = 0, tid = 0;
    Open range{};
  };
  std::mutex start_end_mutex_;
  std::vector<StartEnd> start_end_;
  std::vector<uint32_t> free_start_end_;
};

}  // namespace ws::collector
