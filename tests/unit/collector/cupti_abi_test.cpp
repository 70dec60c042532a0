// Our layouts against the headers of the toolkit that is here: compiled only where there is one.
#include "collector/cupti_abi.h"

#include <cuda.h>
#include <cupti.h>

#include "collector/cupti_library.h"
#include "support/catch.h"

using namespace ws::collector;

#define WS_FIELD(ours, theirs, member)                                             \
  static_assert(ours::kEnd == offsetof(theirs, member) + sizeof(theirs::member) && \
                    sizeof(decltype(ours::of(nullptr))) == sizeof(theirs::member), \
                #theirs "." #member)

#if CUPTI_API_VERSION >= 130000
using KernelOfHeader = CUpti_ActivityKernel10;
#else
using KernelOfHeader = CUpti_ActivityKernel9;
#endif
using K = cupti::KernelRecord;
WS_FIELD(K::Registers, KernelOfHeader, registersPerThread);
WS_FIELD(K::Start, KernelOfHeader, start);
WS_FIELD(K::End, KernelOfHeader, end);
WS_FIELD(K::Device, KernelOfHeader, deviceId);
WS_FIELD(K::Context, KernelOfHeader, contextId);
WS_FIELD(K::Stream, KernelOfHeader, streamId);
static_assert(K::kGrid == offsetof(KernelOfHeader, gridX) &&
              K::kBlock == offsetof(KernelOfHeader, blockX));
WS_FIELD(K::StaticShared, KernelOfHeader, staticSharedMemory);
WS_FIELD(K::DynamicShared, KernelOfHeader, dynamicSharedMemory);
WS_FIELD(K::Correlation, KernelOfHeader, correlationId);
WS_FIELD(K::Name, KernelOfHeader, name);
WS_FIELD(K::GraphNode, KernelOfHeader, graphNodeId);
WS_FIELD(K::Graph, KernelOfHeader, graphId);
using C = cupti::MemcpyRecord;
WS_FIELD(C::CopyKind, CUpti_ActivityMemcpy5, copyKind);
WS_FIELD(C::SourceKind, CUpti_ActivityMemcpy5, srcKind);
WS_FIELD(C::TargetKind, CUpti_ActivityMemcpy5, dstKind);
WS_FIELD(C::Bytes, CUpti_ActivityMemcpy5, bytes);
WS_FIELD(C::Start, CUpti_ActivityMemcpy5, start);
WS_FIELD(C::End, CUpti_ActivityMemcpy5, end);
WS_FIELD(C::Device, CUpti_ActivityMemcpy5, deviceId);
WS_FIELD(C::Context, CUpti_ActivityMemcpy5, contextId);
WS_FIELD(C::Stream, CUpti_ActivityMemcpy5, streamId);
WS_FIELD(C::Correlation, CUpti_ActivityMemcpy5, correlationId);
WS_FIELD(C::GraphNode, CUpti_ActivityMemcpy5, graphNodeId);
WS_FIELD(C::Graph, CUpti_ActivityMemcpy5, graphId);
using P = cupti::PeerCopyRecord;
WS_FIELD(C::Bytes, CUpti_ActivityMemcpyPtoP4, bytes);
WS_FIELD(C::Start, CUpti_ActivityMemcpyPtoP4, start);
WS_FIELD(C::Stream, CUpti_ActivityMemcpyPtoP4, streamId);
WS_FIELD(P::Correlation, CUpti_ActivityMemcpyPtoP4, correlationId);
WS_FIELD(P::GraphNode, CUpti_ActivityMemcpyPtoP4, graphNodeId);
WS_FIELD(P::Graph, CUpti_ActivityMemcpyPtoP4, graphId);
using M = cupti::MemsetRecord;
WS_FIELD(M::Bytes, CUpti_ActivityMemset4, bytes);
WS_FIELD(M::Start, CUpti_ActivityMemset4, start);
WS_FIELD(M::End, CUpti_ActivityMemset4, end);
WS_FIELD(M::Device, CUpti_ActivityMemset4, deviceId);
WS_FIELD(M::Stream, CUpti_ActivityMemset4, streamId);
WS_FIELD(M::Correlation, CUpti_ActivityMemset4, correlationId);
WS_FIELD(M::GraphNode, CUpti_ActivityMemset4, graphNodeId);
WS_FIELD(M::Graph, CUpti_ActivityMemset4, graphId);
using A = cupti::ApiRecord;
WS_FIELD(A::Cbid, CUpti_ActivityAPI, cbid);
WS_FIELD(A::Start, CUpti_ActivityAPI, start);
WS_FIELD(A::End, CUpti_ActivityAPI, end);
WS_FIELD(A::Thread, CUpti_ActivityAPI, threadId);
WS_FIELD(A::Correlation, CUpti_ActivityAPI, correlationId);
using S = cupti::SyncRecord;
WS_FIELD(S::Type, CUpti_ActivitySynchronization, type);
WS_FIELD(S::Start, CUpti_ActivitySynchronization, start);
WS_FIELD(S::End, CUpti_ActivitySynchronization, end);
WS_FIELD(S::Correlation, CUpti_ActivitySynchronization, correlationId);
WS_FIELD(S::Context, CUpti_ActivitySynchronization, contextId);
WS_FIELD(S::Stream, CUpti_ActivitySynchronization, streamId);
WS_FIELD(S::Event, CUpti_ActivitySynchronization, cudaEventId);
using E = cupti::EventRecord;
WS_FIELD(E::Correlation, CUpti_ActivityCudaEvent, correlationId);
WS_FIELD(E::Stream, CUpti_ActivityCudaEvent, streamId);
WS_FIELD(E::Event, CUpti_ActivityCudaEvent, eventId);
#if CUPTI_API_VERSION >= 26
WS_FIELD(S::EventSync, CUpti_ActivitySynchronization2, cudaEventSyncId);
WS_FIELD(E::EventSync, CUpti_ActivityCudaEvent2, cudaEventSyncId);
#endif
using O = cupti::OverheadRecord;
WS_FIELD(O::OverheadKind, CUpti_ActivityOverhead, overheadKind);
WS_FIELD(O::ObjectKind, CUpti_ActivityOverhead, objectKind);
WS_FIELD(O::Start, CUpti_ActivityOverhead, start);
WS_FIELD(O::End, CUpti_ActivityOverhead, end);
static_assert(O::Thread::kEnd == offsetof(CUpti_ActivityOverhead, objectId) +
                                     offsetof(CUpti_ActivityObjectKindId, pt.threadId) + 4);
using G = cupti::GraphRecord;
WS_FIELD(G::Correlation, CUpti_ActivityGraphTrace, correlationId);
WS_FIELD(G::Start, CUpti_ActivityGraphTrace, start);
WS_FIELD(G::End, CUpti_ActivityGraphTrace, end);
WS_FIELD(G::Device, CUpti_ActivityGraphTrace, deviceId);
WS_FIELD(G::Graph, CUpti_ActivityGraphTrace, graphId);
WS_FIELD(G::Context, CUpti_ActivityGraphTrace, contextId);
WS_FIELD(G::Stream, CUpti_ActivityGraphTrace, streamId);
using Y = cupti::MemoryRecord;
WS_FIELD(Y::Operation, CUpti_ActivityMemory3, memoryOperationType);
WS_FIELD(Y::MemoryKind, CUpti_ActivityMemory3, memoryKind);
WS_FIELD(Y::Bytes, CUpti_ActivityMemory3, bytes);
WS_FIELD(Y::Time, CUpti_ActivityMemory3, timestamp);
WS_FIELD(Y::Device, CUpti_ActivityMemory3, deviceId);
using D = cupti::DeviceRecord;
WS_FIELD(D::MemoryBytes, CUpti_ActivityDevice4, globalMemorySize);
WS_FIELD(D::SmCount, CUpti_ActivityDevice4, numMultiprocessors);
WS_FIELD(D::ComputeMajor, CUpti_ActivityDevice4, computeCapabilityMajor);
WS_FIELD(D::ComputeMinor, CUpti_ActivityDevice4, computeCapabilityMinor);
WS_FIELD(D::Id, CUpti_ActivityDevice4, id);
WS_FIELD(D::Name, CUpti_ActivityDevice4, name);
static_assert(D::kUuid == offsetof(CUpti_ActivityDevice4, uuid));

static_assert(unsigned{cupti::kMemcpy} == CUPTI_ACTIVITY_KIND_MEMCPY &&
              unsigned{cupti::kMemset} == CUPTI_ACTIVITY_KIND_MEMSET &&
              unsigned{cupti::kDriver} == CUPTI_ACTIVITY_KIND_DRIVER &&
              unsigned{cupti::kRuntime} == CUPTI_ACTIVITY_KIND_RUNTIME &&
              unsigned{cupti::kDevice} == CUPTI_ACTIVITY_KIND_DEVICE &&
              unsigned{cupti::kConcurrentKernel} == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
              unsigned{cupti::kOverhead} == CUPTI_ACTIVITY_KIND_OVERHEAD &&
              unsigned{cupti::kMemcpy2} == CUPTI_ACTIVITY_KIND_MEMCPY2 &&
              unsigned{cupti::kCudaEvent} == CUPTI_ACTIVITY_KIND_CUDA_EVENT &&
              unsigned{cupti::kSynchronization} == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION &&
              unsigned{cupti::kMemory2} == CUPTI_ACTIVITY_KIND_MEMORY2 &&
              unsigned{cupti::kGraphTrace} == CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
static_assert(int{cupti::kDriverApi} == CUPTI_CB_DOMAIN_DRIVER_API &&
              int{cupti::kRuntimeApi} == CUPTI_CB_DOMAIN_RUNTIME_API &&
              cupti::kMultipleSubscribers == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
              cupti::kThreadIdSystem == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM &&
              int{cupti::kAttributeDeviceBufferPoolLimit} ==
                  CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT &&
              int{cupti::kFlushForced} == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
static_assert(Y::kAllocation == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
              Y::kRelease == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE &&
              Y::kDeviceMemory == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE &&
              O::kObjectThread == CUPTI_ACTIVITY_OBJECT_THREAD);

TEST_CASE("the library of the toolkit says the sizes of its headers, without a driver") {
  cupti::Library lib;
  const std::string why = cupti::open_library(WS_CUPTI_LIBRARY, lib);
  REQUIRE(why == "");
  CHECK(lib.version / 100 == CUPTI_API_VERSION / 100);
  CHECK(lib.record_bytes[cupti::kConcurrentKernel] == sizeof(KernelOfHeader));
  CHECK(lib.record_bytes[cupti::kMemset] == sizeof(CUpti_ActivityMemset4));
  CHECK(lib.record_bytes[cupti::kMemcpy2] == sizeof(CUpti_ActivityMemcpyPtoP4));
  CHECK(lib.record_bytes[cupti::kRuntime] == sizeof(CUpti_ActivityAPI));
  CHECK(lib.record_bytes[cupti::kDriver] == sizeof(CUpti_ActivityAPI));
  CHECK(lib.EnableRuntimeApi != nullptr);
  CHECK(lib.RegisterTimestampCallback != nullptr);
}
