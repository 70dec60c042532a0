#pragma once
// CUPTI's activity records to rows. The writer's thread only.
#include <cstdint>
#include <string>
#include <vector>

#include "collector/cupti_library.h"
#include "collector/recording.h"

namespace ws::collector {

class ActivityDecoder {
 public:
  ActivityDecoder(Names& names, Recording& out) : names_(names), out_(out) {}
  void use(const cupti::Library& library);

  // Added to CUPTI's times where it does not use our clock.
  void set_clock_offset(int64_t ns) { clock_offset_ns_ = ns; }
  // Records that begin before are left out: the warm-up after arming.
  void set_keep_from(int64_t ns) { keep_from_ns_ = ns; }
  void decode(uint8_t* buffer, size_t valid_bytes);
  uint64_t decoded_count() const { return decoded_; }

 private:
  int64_t time(uint64_t cupti_ns) const {
    return static_cast<int64_t>(cupti_ns + static_cast<uint64_t>(clock_offset_ns_));
  }
  bool has(cupti::Kind kind, size_t end) const { return library_.record_bytes[kind] >= end; }
  bool usable(uint64_t start, uint64_t end);
  void decode_one(const uint8_t* record);
  void kernel(const uint8_t* r);
  void copy(const uint8_t* r, bool between_devices);
  void fill(const uint8_t* r);
  void call(const uint8_t* r, cupti::Domain domain);
  void sync(const uint8_t* r);
  void event(const uint8_t* r);
  void overhead(const uint8_t* r);
  void graph(const uint8_t* r);
  void memory(const uint8_t* r);
  void device(const uint8_t* r);
  uint32_t kernel_name(const char* mangled);
  uint32_t call_name(cupti::Domain domain, uint32_t cbid);

  Names& names_;
  Recording& out_;
  cupti::Library library_;
  int64_t clock_offset_ns_ = 0, keep_from_ns_ = 0;
  uint64_t decoded_ = 0, without_time_ = 0;
  struct Demangled {
    uint64_t hash = 0;
    uint32_t id = 0;
  };
  std::vector<Demangled> kernel_names_;
  size_t kernel_name_count_ = 0;
  std::vector<uint32_t> call_names_[3];  // by domain and cbid; id + 1, 0: not asked yet
  std::vector<uint32_t> devices_seen_;
};

}  // namespace ws::collector
