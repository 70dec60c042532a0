// libcupti is never put into LD_PRELOAD or LD_LIBRARY_PATH: an older copy found first makes other
// libraries of the process fail to load. It is opened when a window begins, by the path of the copy
// that the process has. Tested by: recorder_test.py, cupti_abi_test.cpp
#include "collector/cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace ws::collector::cupti {
namespace {

std::vector<std::string> loaded_objects() {
  std::vector<std::string> out;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        if (info->dlpi_name != nullptr && *info->dlpi_name != '\0')
          static_cast<std::vector<std::string>*>(to)->emplace_back(info->dlpi_name);
        return 0;
      },
      &out);
  return out;
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

bool starts_with(const std::string& s, const char* prefix) { return s.rfind(prefix, 0) == 0; }

void add(std::vector<std::string>& list, std::string path) {
  if (!path.empty() && std::find(list.begin(), list.end(), path) == list.end())
    list.push_back(std::move(path));
}

template <class Function>
bool resolve(void* handle, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(handle, name));
  return out != nullptr;
}

// Fills a buffer with the kind word and steps twice: the distance is the size of a record.
void probe_sizes(Library& lib) {
  constexpr size_t kWords = 2048;
  const auto words = std::make_unique<uint32_t[]>(kWords);
  for (uint32_t kind = 1; kind < kKindsEnd; ++kind) {
    std::fill_n(words.get(), kWords, kind);
    auto* buffer = reinterpret_cast<uint8_t*>(words.get());
    uint8_t* record = nullptr;
    if (lib.GetNextRecord(buffer, kWords * 4, &record) != kSuccess || record != buffer) continue;
    if (lib.GetNextRecord(buffer, kWords * 4, &record) != kSuccess || record <= buffer) continue;
    lib.record_bytes[kind] = static_cast<size_t>(record - buffer);
  }
}

// The size probe must show at least the fields that the decoder reads without asking.
bool layouts_fit(const Library& lib) {
  struct Least {
    Kind kind;
    size_t bytes;
  };
  constexpr Least kLeast[] = {{kConcurrentKernel, KernelRecord::GraphNode::kEnd},
                              {kMemcpy, MemcpyRecord::GraphNode::kEnd},
                              {kMemset, MemsetRecord::GraphNode::kEnd},
                              {kRuntime, ApiRecord::Correlation::kEnd},
                              {kDriver, ApiRecord::Correlation::kEnd}};
  return std::all_of(std::begin(kLeast), std::end(kLeast),
                     [&](const Least& l) { return lib.record_bytes[l.kind] >= l.bytes; });
}

}  // namespace

std::string Library::text_of(Result r) const {
  const char* text = nullptr;
  if (GetResultString != nullptr && GetResultString(r, &text) == kSuccess && text != nullptr)
    return text;
  return "error " + std::to_string(r);
}

std::vector<std::string> candidates(const std::string& named) {
  std::vector<std::string> out;
  const std::vector<std::string> objects = loaded_objects();
  for (const std::string& o : objects) {
    if (starts_with(base_name(o), "libcupti.so")) add(out, o);
  }
  add(out, named);
  std::vector<std::string> sonames = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
  std::vector<std::string> folders;
  for (const std::string& o : objects) {
    const std::string base = base_name(o);
    if (!starts_with(base, "libcudart")) continue;
    if (starts_with(base, "libcudart.so.12")) std::swap(sonames[0], sonames[1]);
    if (starts_with(base, "libcudart.so.11")) std::swap(sonames[0], sonames[2]);
    const std::string folder = folder_of(o);
    add(folders, folder);
    add(folders, folder + "/../../cuda_cupti/lib");  // pip packages
    add(folders, folder + "/../extras/CUPTI/lib64");
  }
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') {
    add(folders, std::string(home) + "/extras/CUPTI/lib64");
    add(folders, std::string(home) + "/lib64");
  }
  add(folders, "/usr/local/cuda/extras/CUPTI/lib64");
  add(folders, "/usr/local/cuda/lib64");
  for (const std::string& soname : sonames) add(out, soname);
  for (const std::string& folder : folders) {
    for (const std::string& soname : sonames) add(out, folder + "/" + soname);
  }
  return out;
}

std::string open_library(const std::string& path, Library& out) {
  out = {};
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = ::dlerror();
    return why != nullptr ? why : "can not be loaded";
  }
  out.handle = handle;
  out.path = path;
  if (Dl_info info{}; ::dladdr(::dlsym(handle, "cuptiGetVersion"), &info) != 0)
    out.path = info.dli_fname;
  const bool complete = resolve(handle, "cuptiGetVersion", out.GetVersion) &&
                        resolve(handle, "cuptiSubscribe", out.Subscribe) &&
                        resolve(handle, "cuptiUnsubscribe", out.Unsubscribe) &&
                        resolve(handle, "cuptiActivityRegisterCallbacks", out.RegisterCallbacks) &&
                        resolve(handle, "cuptiActivityEnable", out.Enable) &&
                        resolve(handle, "cuptiActivityDisable", out.Disable) &&
                        resolve(handle, "cuptiActivityFlushAll", out.FlushAll) &&
                        resolve(handle, "cuptiActivityGetNextRecord", out.GetNextRecord);
  if (!complete) return out.path + " lacks functions of CUPTI";
  resolve(handle, "cuptiActivityEnableAndDump", out.EnableAndDump);
  resolve(handle, "cuptiActivityEnableRuntimeApi", out.EnableRuntimeApi);
  resolve(handle, "cuptiActivityEnableDriverApi", out.EnableDriverApi);
  resolve(handle, "cuptiActivityEnableAllSyncRecords", out.EnableAllSyncRecords);
  resolve(handle, "cuptiActivityRegisterTimestampCallback", out.RegisterTimestampCallback);
  resolve(handle, "cuptiGetTimestamp", out.GetTimestamp);
  resolve(handle, "cuptiActivitySetAttribute", out.SetAttribute);
  resolve(handle, "cuptiActivityGetNumDroppedRecords", out.GetNumDroppedRecords);
  resolve(handle, "cuptiSetThreadIdType", out.SetThreadIdType);
  resolve(handle, "cuptiGetCallbackName", out.GetCallbackName);
  resolve(handle, "cuptiGetResultString", out.GetResultString);
  out.GetVersion(&out.version);
  probe_sizes(out);
  if (!layouts_fit(out)) return out.path + " has records of an unknown layout";
  return {};
}

std::string find_library(const std::string& named, Library& out) {
  std::string why = "no libcupti found";
  for (const std::string& path : candidates(named)) {
    const std::string wrong = open_library(path, out);
    if (wrong.empty()) return {};
    if (out.handle != nullptr || path == named) why = wrong;
  }
  out = {};
  return why;
}

}  // namespace ws::collector::cupti
