#pragma once
// A small NVTX client, as every library that calls NVTX has one: tables of function pointers that a
// tool fills at the first call. Written on the tool's side of the interface, so that tests need no
// CUDA; real clients are tried where the toolkit is there.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "collector/nvtx_abi.h"

namespace ws::test {

class NvtxClient {
 public:
  static constexpr unsigned kSlots = 16, kPayloadSlots = 63;

  // What the header-only library does at the first call.
  bool load(const char* library) {
    void* handle = ::dlopen(library, RTLD_NOW);
    if (handle == nullptr) return false;
    using Init = int (*)(collector::nvtx::GetExportTable);
    using InitExtension = int (*)(collector::nvtx::ExtensionModule*);
    const auto init = reinterpret_cast<Init>(::dlsym(handle, "InitializeInjectionNvtx2"));
    const auto extension =
        reinterpret_cast<InitExtension>(::dlsym(handle, "InitializeInjectionNvtxExtension"));
    if (init == nullptr || extension == nullptr) return false;
    return attach(init, extension);
  }
  template <class Init, class InitExtension>
  bool attach(Init init, InitExtension extension) {
    current() = this;
    for (unsigned i = 0; i < kSlots; ++i) core_slots_[i] = &core_[i], core2_slots_[i] = &core2_[i];
    const int ok = init(export_table);
    collector::nvtx::ExtensionSegment segment{0, kPayloadSlots, payload_};
    collector::nvtx::ExtensionModule module{};
    module.module = collector::nvtx::kPayloadModule;
    module.segment_count = 1;
    module.segments = &segment;
    extension(&module);
    return ok != 0;
  }

  template <class Result, class... Arguments>
  Result core(unsigned slot, Arguments... arguments) {
    return call<Result>(reinterpret_cast<void*>(__atomic_load_n(&core_[slot], __ATOMIC_ACQUIRE)),
                        arguments...);
  }
  template <class Result, class... Arguments>
  Result core2(unsigned slot, Arguments... arguments) {
    return call<Result>(reinterpret_cast<void*>(__atomic_load_n(&core2_[slot], __ATOMIC_ACQUIRE)),
                        arguments...);
  }
  template <class Result, class... Arguments>
  Result payload(unsigned slot, Arguments... arguments) {
    // NVTX keeps these functions as integers.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return call<Result>(reinterpret_cast<void*>(payload_[slot]), arguments...);
  }

  int push(const char* text) { return core<int>(collector::nvtx::kRangePushA, text); }
  int pop() { return core<int>(collector::nvtx::kRangePop); }
  collector::nvtx::Domain domain(const char* name) {
    return core2<void*>(collector::nvtx::kDomainCreateA, name);
  }
  collector::nvtx::StringHandle string(collector::nvtx::Domain d, const char* text) {
    return core2<void*>(collector::nvtx::kDomainRegisterStringA, d, text);
  }
  int push(collector::nvtx::Domain d, const collector::nvtx::EventAttributes& a) {
    return core2<int>(collector::nvtx::kDomainRangePushEx, d, &a);
  }
  int pop(collector::nvtx::Domain d) { return core2<int>(collector::nvtx::kDomainRangePop, d); }
  bool hot() const { return core_[collector::nvtx::kRangePushA] != nullptr; }

  static collector::nvtx::EventAttributes text(const char* ascii) {
    collector::nvtx::EventAttributes a{};
    a.version = 3;
    a.size = sizeof a;
    a.message_type = collector::nvtx::kAscii;
    a.message.ascii = ascii;
    return a;
  }

 private:
  template <class Result, class... Arguments>
  static Result call(void* function, Arguments... arguments) {
    if (function == nullptr) return Result();
    return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
  }
  static NvtxClient*& current() {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
    static NvtxClient* client = nullptr;
    return client;
  }
  static int module_table(int module, collector::nvtx::FunctionTable* table, unsigned* count) {
    *table = module == collector::nvtx::kCore    ? current()->core_slots_
             : module == collector::nvtx::kCore2 ? current()->core2_slots_
                                                 : nullptr;
    *count = *table == nullptr ? 0 : kSlots;
    return *table != nullptr;
  }
  static const void* export_table(uint32_t id) {
    static const collector::nvtx::ExportCallbacks callbacks{sizeof callbacks, module_table};
    return id == collector::nvtx::kExportCallbacks ? &callbacks : nullptr;
  }

  collector::nvtx::FunctionPointer core_[kSlots] = {}, core2_[kSlots] = {};
  collector::nvtx::FunctionPointer* core_slots_[kSlots] = {};
  collector::nvtx::FunctionPointer* core2_slots_[kSlots] = {};
  intptr_t payload_[kPayloadSlots] = {};
};

}  // namespace ws::test
