#pragma once
// The little of CUPTI's binary interface that the recorder uses: functions by name, enumerators,
// and fields at offsets that have stayed the same from CUPTI 11 to 13. Written by hand so that no
// CUDA is needed to build; where the toolkit is there, cupti_abi_test.cpp holds it against its
// headers.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ws::collector::cupti {

using Result = int;
inline constexpr Result kSuccess = 0, kMultipleSubscribers = 39;

enum Kind : uint32_t {
  kMemcpy = 1,
  kMemset = 2,
  kDriver = 4,
  kRuntime = 5,
  kDevice = 8,
  kConcurrentKernel = 10,
  kOverhead = 17,
  kMemcpy2 = 22,  // between devices
  kCudaEvent = 36,
  kSynchronization = 38,
  kMemory2 = 49,
  kGraphTrace = 51,
  kKindsEnd = 64
};
enum Domain : uint32_t { kDriverApi = 1, kRuntimeApi = 2 };
inline constexpr uint32_t kFlushForced = 1, kAttributeDeviceBufferPoolLimit = 2;
inline constexpr int kThreadIdSystem = 1;
// Before 12.9 a refused buffer (null) may crash the library.
inline constexpr uint32_t kVersionThatBearsRefusal = 27;

using Callback = void (*)(void*, uint32_t domain, uint32_t cbid, const void*);
using BufferRequested = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                                 size_t valid_size);
using Timestamp = uint64_t (*)();

// A field of a record: byte offset and type.
template <class T, size_t kOffset>
struct Field {
  static constexpr size_t kEnd = kOffset + sizeof(T);
  static T of(const uint8_t* record) {
    T v;
    std::memcpy(&v, record + kOffset, sizeof v);
    return v;
  }
};
using Kind32 = Field<uint32_t, 0>;

struct KernelRecord {
  using Registers = Field<uint16_t, 6>;
  using Start = Field<uint64_t, 16>;
  using End = Field<uint64_t, 24>;
  using Device = Field<uint32_t, 40>;
  using Context = Field<uint32_t, 44>;
  using Stream = Field<uint32_t, 48>;
  static constexpr size_t kGrid = 52, kBlock = 64;  // three int32 each
  using StaticShared = Field<uint32_t, 76>;
  using DynamicShared = Field<uint32_t, 80>;
  using Correlation = Field<uint32_t, 92>;
  using Name = Field<const char*, 104>;
  using GraphNode = Field<uint64_t, 144>;
  using Graph = Field<uint32_t, 156>;  // from 11.6
};
struct MemcpyRecord {
  using CopyKind = Field<uint8_t, 4>;
  using SourceKind = Field<uint8_t, 5>;
  using TargetKind = Field<uint8_t, 6>;
  using Bytes = Field<uint64_t, 8>;
  using Start = Field<uint64_t, 16>;
  using End = Field<uint64_t, 24>;
  using Device = Field<uint32_t, 32>;
  using Context = Field<uint32_t, 36>;
  using Stream = Field<uint32_t, 40>;
  using Correlation = Field<uint32_t, 44>;
  using GraphNode = Field<uint64_t, 64>;
  using Graph = Field<uint32_t, 72>;
};
struct PeerCopyRecord {  // kMemcpy2; begins as MemcpyRecord
  using Correlation = Field<uint32_t, 60>;
  using GraphNode = Field<uint64_t, 72>;
  using Graph = Field<uint32_t, 80>;
};
struct MemsetRecord {
  using Bytes = Field<uint64_t, 8>;
  using Start = Field<uint64_t, 16>;
  using End = Field<uint64_t, 24>;
  using Device = Field<uint32_t, 32>;
  using Context = Field<uint32_t, 36>;
  using Stream = Field<uint32_t, 40>;
  using Correlation = Field<uint32_t, 44>;
  using GraphNode = Field<uint64_t, 64>;
  using Graph = Field<uint32_t, 72>;
};
struct ApiRecord {
  using Cbid = Field<uint32_t, 4>;
  using Start = Field<uint64_t, 8>;
  using End = Field<uint64_t, 16>;
  using Thread = Field<uint32_t, 28>;
  using Correlation = Field<uint32_t, 32>;
};
struct SyncRecord {
  using Type = Field<uint32_t, 4>;
  using Start = Field<uint64_t, 8>;
  using End = Field<uint64_t, 16>;
  using Correlation = Field<uint32_t, 24>;
  using Context = Field<uint32_t, 28>;
  using Stream = Field<uint32_t, 32>;
  using Event = Field<uint32_t, 36>;
  using EventSync = Field<uint64_t, 40>;  // from 12.8
};
struct EventRecord {
  using Correlation = Field<uint32_t, 4>;
  using Stream = Field<uint32_t, 12>;
  using Event = Field<uint32_t, 16>;
  using EventSync = Field<uint64_t, 48>;  // from 12.8
};
struct OverheadRecord {
  using OverheadKind = Field<uint32_t, 4>;
  using ObjectKind = Field<uint32_t, 8>;
  using Thread = Field<uint32_t, 16>;  // when the object is a thread
  using Start = Field<uint64_t, 24>;
  using End = Field<uint64_t, 32>;
  static constexpr uint32_t kObjectThread = 2;
};
struct GraphRecord {
  using Correlation = Field<uint32_t, 4>;
  using Start = Field<uint64_t, 8>;
  using End = Field<uint64_t, 16>;
  using Device = Field<uint32_t, 24>;
  using Graph = Field<uint32_t, 28>;
  using Context = Field<uint32_t, 32>;
  using Stream = Field<uint32_t, 36>;
};
struct MemoryRecord {
  using Operation = Field<uint32_t, 4>;  // 1 allocation, 2 release
  using MemoryKind = Field<uint32_t, 8>;
  using Bytes = Field<uint64_t, 24>;
  using Time = Field<uint64_t, 32>;
  using Device = Field<uint32_t, 52>;
  static constexpr uint32_t kAllocation = 1, kRelease = 2;
  static constexpr uint32_t kDeviceMemory = 3;  // CUPTI_ACTIVITY_MEMORY_KIND_DEVICE
};
struct DeviceRecord {
  using MemoryBytes = Field<uint64_t, 16>;
  using SmCount = Field<uint32_t, 44>;
  using ComputeMajor = Field<uint32_t, 104>;
  using ComputeMinor = Field<uint32_t, 108>;
  using Id = Field<uint32_t, 112>;
  static constexpr size_t kUuid = 120;  // 16 bytes
  using Name = Field<const char*, 136>;
};

}  // namespace ws::collector::cupti
