#pragma once
// The libcupti of the process: the copy that is loaded already, else one that fits the CUDA runtime
// in use. A second copy beside the framework's own would fight with it for the only subscriber.
#include <string>
#include <vector>

#include "collector/cupti_abi.h"

namespace ws::collector::cupti {

struct Library {
  void* handle = nullptr;
  std::string path;
  uint32_t version = 0;
  // Bytes of a record of each kind in this library, asked of itself; 0: it has no such kind.
  size_t record_bytes[kKindsEnd] = {};

  Result (*GetVersion)(uint32_t*) = nullptr;
  Result (*Subscribe)(void** subscriber, Callback, void*) = nullptr;
  Result (*Unsubscribe)(void* subscriber) = nullptr;
  Result (*RegisterCallbacks)(BufferRequested, BufferCompleted) = nullptr;
  Result (*Enable)(uint32_t kind) = nullptr;
  Result (*Disable)(uint32_t kind) = nullptr;
  Result (*FlushAll)(uint32_t flags) = nullptr;
  Result (*GetNextRecord)(uint8_t* buffer, size_t valid_size, uint8_t** record) = nullptr;
  // Null where the version has none.
  Result (*EnableAndDump)(uint32_t kind) = nullptr;
  Result (*EnableRuntimeApi)(uint32_t cbid, uint8_t enable) = nullptr;
  Result (*EnableDriverApi)(uint32_t cbid, uint8_t enable) = nullptr;
  Result (*EnableAllSyncRecords)(uint8_t enable) = nullptr;
  Result (*RegisterTimestampCallback)(Timestamp) = nullptr;
  Result (*GetTimestamp)(uint64_t*) = nullptr;
  Result (*SetAttribute)(uint32_t attribute, size_t* size, void* value) = nullptr;
  Result (*GetNumDroppedRecords)(void* context, uint32_t stream, size_t* dropped) = nullptr;
  Result (*SetThreadIdType)(int type) = nullptr;
  Result (*GetCallbackName)(uint32_t domain, uint32_t cbid, const char** name) = nullptr;
  Result (*GetResultString)(Result, const char** text) = nullptr;

  std::string text_of(Result r) const;
};

// Paths and sonames to try, in order; `named` (may be empty) is the user's.
std::vector<std::string> candidates(const std::string& named);

// Fills `out`; an empty text when all is well, else why not.
std::string open_library(const std::string& path, Library& out);
std::string find_library(const std::string& named, Library& out);

}  // namespace ws::collector::cupti
