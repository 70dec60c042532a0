#pragma once
// The binary interface between an NVTX v3 client (every library has its own) and a tool, written by
// hand; where the toolkit is there, nvtx_abi_test.cpp holds it against its headers.
#include <cstddef>
#include <cstdint>

namespace ws::collector::nvtx {

using Domain = void*;
using StringHandle = void*;
using RangeId = uint64_t;

struct EventAttributes {  // nvtxEventAttributes_t
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, payload_count;  // the latter is reserved0
  uint64_t payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    StringHandle registered;
  } message;
};
inline constexpr size_t kAttributesBytes = 48;
inline constexpr int32_t kAscii = 1, kWide = 2, kRegistered = 3;
inline constexpr int32_t kPayloadExtended = static_cast<int32_t>(0xdfbd0009);

struct PayloadData {  // nvtxPayloadData_t
  uint64_t schema;
  size_t size;
  const void* bytes;
};
struct SchemaEntry {  // nvtxPayloadSchemaEntry_t
  uint64_t flags, type;
  const char* name;
  const char* description;
  uint64_t array_or_union, offset;
  const void* semantics;
  const void* reserved;
};
struct SchemaAttributes {  // nvtxPayloadSchemaAttr_t
  uint64_t field_mask;
  const char* name;
  uint64_t type, flags;
  const SchemaEntry* entries;
  size_t entry_count, static_bytes, pack_align;
  uint64_t schema;
  void* extension;
};
inline constexpr uint64_t kFieldSchemaId = 1 << 8;
inline constexpr uint64_t kFirstDynamicSchema = uint64_t{1} << 32;
enum EntryType : uint64_t {
  kShort = 3,
  kUshort = 4,
  kInt = 5,
  kUint = 6,
  kLong = 7,
  kUlong = 8,
  kLongLong = 9,
  kUlongLong = 10,
  kInt8 = 11,
  kUint8 = 12,
  kInt16 = 13,
  kUint16 = 14,
  kInt32 = 15,
  kUint32 = 16,
  kInt64 = 17,
  kUint64 = 18,
  kSize = 22
};

using FunctionPointer = void (*)();
using FunctionTable = FunctionPointer**;  // slots; each points to the client's own pointer
using GetExportTable = const void* (*)(uint32_t id);
inline constexpr uint32_t kExportCallbacks = 1;
struct ExportCallbacks {
  size_t struct_size;
  int (*GetModuleFunctionTable)(int module, FunctionTable* table, unsigned* slot_count);
};
enum Module : int { kCore = 1, kCore2 = 5 };
enum CoreSlot : unsigned {
  kMarkEx = 1,
  kMarkA,
  kMarkW,
  kRangeStartEx,
  kRangeStartA,
  kRangeStartW,
  kRangeEnd,
  kRangePushEx,
  kRangePushA,
  kRangePushW,
  kRangePop,
  kNameOsThreadA = 14
};
enum Core2Slot : unsigned {
  kDomainMarkEx = 1,
  kDomainRangeStartEx,
  kDomainRangeEnd,
  kDomainRangePushEx,
  kDomainRangePop,
  kDomainRegisterStringA = 10,
  kDomainRegisterStringW,
  kDomainCreateA,
  kDomainCreateW,
  kDomainDestroy
};

struct ExtensionSegment {
  size_t id, slot_count;
  intptr_t* slots;
};
struct ExtensionModule {  // nvtxExtModuleInfo_t
  uint16_t nvtx_version, struct_size, module, compat;
  size_t segment_count;
  ExtensionSegment* segments;
  void* get_export_function;
  const void* info;
};
inline constexpr uint16_t kPayloadModule = 2;
enum PayloadSlot : unsigned {
  kSchemaRegister = 0,
  kMarkPayload = 2,
  kRangePushPayload = 3,
  kRangePopPayload = 4,
  kRangeStartPayload = 5,
  kRangeEndPayload = 6,
  kDomainIsEnabled = 7
};

}  // namespace ws::collector::nvtx
