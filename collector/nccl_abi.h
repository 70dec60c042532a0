#pragma once
// The little of NCCL's profiler interface that is used: versions 2 (NCCL 2.24) to 5 (2.28). Later
// ones of NCCL still take these. Written from its documentation; only members up to the last that
// is read are named. Tested by: nccl_profiler.py
#include <cstddef>
#include <cstdint>

namespace ws::collector::nccl {

using Result = int;
inline constexpr Result kSuccess = 0, kNotWanted = 3;  // the latter from init: no plug-in then
inline constexpr uint64_t kCollective = 1 << 1, kPeerToPeer = 1 << 2;
inline constexpr int kGroupApi = 1 << 8, kCollectiveApi = 1 << 9, kPeerToPeerApi = 1 << 10;

// What stands in front of an operation: until version 3 its communicator.
struct Communicator {
  const char* name;
  uint64_t hash;
};

template <int kVersion>
struct Descriptor {
  static constexpr bool kNamesCommunicator = kVersion <= 3;
  using Type = uint8_t;
  Type type;
  void* parent;
  int rank;
  struct CollectiveOp {
    Communicator communicator;
    uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    size_t count;
    int root;
    const char* datatype;
  };
  struct PeerOp {
    Communicator communicator;
    const char* function;
    void* buffer;
    const char* datatype;
    size_t count;
    int peer;
  };
  union {
    CollectiveOp collective;
    PeerOp peer;
  };
};

template <class TypeOfType>
struct LaterDescriptor {  // the communicator is that of init
  static constexpr bool kNamesCommunicator = false;
  using Type = TypeOfType;
  Type type;
  void* parent;
  int rank;
  struct CollectiveOp {
    uint64_t sequence;
    const char* function;
    const void* send;
    void* receive;
    size_t count;
    int root;
    const char* datatype;
  };
  struct PeerOp {
    const char* function;
    void* buffer;
    const char* datatype;
    size_t count;
    int peer;
  };
  union {
    CollectiveOp collective;
    PeerOp peer;
  };
};
template <>
struct Descriptor<4> : LaterDescriptor<uint8_t> {};
template <>
struct Descriptor<5> : LaterDescriptor<uint64_t> {};

using InitUntil3 = Result (*)(void** context, int* mask);
using Init4 = Result (*)(void** context, int* mask, const char* name, uint64_t hash, int nodes,
                         int ranks, int rank, void* log);
using Init5 = Result (*)(void** context, uint64_t hash, int* mask, const char* name, int nodes,
                         int ranks, int rank, void* log);

template <class Init>
struct Profiler {
  const char* name;
  Init init;
  Result (*start)(void* context, void** event, void* descriptor);
  Result (*stop)(void* event);
  Result (*state)(void* event, int state, void* arguments);
  Result (*finalize)(void* context);
};

}  // namespace ws::collector::nccl
