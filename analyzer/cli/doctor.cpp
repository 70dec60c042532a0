// wallsight doctor: can this machine record, and if not, what is in the way. Each line is ok, or
// what breaks and what to do. libcuda is only asked what it says without a context. Tested by:
// recorder_test.py
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "cli/common.h"
#include "cli/inject_library.h"
#include "cli/verbs.h"
#include "report/escape.h"
#include "report/layout.h"

namespace ws::cli {
namespace {

class Findings {
 public:
  void ok(std::string_view what, const std::string& text) { print("ok", what, text); }
  void note(std::string_view what, const std::string& text) { print("note", what, text); }
  void bad(std::string_view what, const std::string& text) {
    print("BAD", what, text);
    if (std::find(bad_.begin(), bad_.end(), what) == bad_.end()) bad_.emplace_back(what);
  }
  const std::vector<std::string>& bad() const { return bad_; }

 private:
  static void print(std::string_view state, std::string_view what, const std::string& text) {
    std::cout << hanging(fmt::format("{:<5} {:<10} ", state, what), escape_text(text));
  }
  std::vector<std::string> bad_;
};

template <class Function>
Function* symbol(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

void check_driver(Findings& out) {
  ::unsetenv("CUDA_INJECTION64_PATH");  // not into this process
  void* cuda = ::dlopen("libcuda.so.1", RTLD_NOW);
  const auto init = cuda == nullptr ? nullptr : symbol<int(unsigned)>(cuda, "cuInit");
  const auto count = cuda == nullptr ? nullptr : symbol<int(int*)>(cuda, "cuDeviceGetCount");
  const auto version = cuda == nullptr ? nullptr : symbol<int(int*)>(cuda, "cuDriverGetVersion");
  if (init == nullptr || count == nullptr || version == nullptr) {
    return out.bad("driver",
                   "libcuda.so.1 can not be loaded: no GPU records here; install the NVIDIA "
                   "driver, or run where the job runs (in its container)");
  }
  int number = 0, devices = 0;
  version(&number);
  const std::string name = fmt::format("CUDA {}.{}", number / 1000, number % 1000 / 10);
  if (const int failed = init(0); failed != 0 || count(&devices) != 0 || devices == 0) {
    return out.bad("driver", fmt::format("{}, but no device can be used (cuInit gives {}); check "
                                         "nvidia-smi and CUDA_VISIBLE_DEVICES",
                                         name, failed));
  }
  out.ok("driver", fmt::format("{}, {} device{}", name, devices, devices == 1 ? "" : "s"));
}

using Probe = int(const char* path, char* text, size_t size);

std::vector<std::string> cupti_files() {
  namespace fs = std::filesystem;
  std::vector<std::string> folders = {"/usr/local/cuda/extras/CUPTI/lib64",
                                      "/usr/local/cuda/lib64"};
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0') {
    folders.push_back(std::string(home) + "/extras/CUPTI/lib64");
    folders.push_back(std::string(home) + "/lib64");
  }
  std::vector<std::string> out;
  if (const char* named = std::getenv("WALLSIGHT_CUPTI"); named != nullptr && *named != '\0')
    out.emplace_back(named);
  for (const std::string& folder : folders) {
    for (const char* soname : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"}) {
      std::error_code ec;
      const fs::path file = fs::canonical(folder + "/" + soname, ec);
      if (!ec && std::find(out.begin(), out.end(), file.string()) == out.end())
        out.push_back(file.string());
    }
  }
  return out;
}

void check_recorder(Findings& out) {
  const auto library = find_inject_library();
  if (!library) return out.bad("recorder", library.error().message);
  void* handle = ::dlopen(library->c_str(), RTLD_NOW);
  Probe* const probe = handle == nullptr ? nullptr : symbol<Probe>(handle, "wallsight_probe_cupti");
  if (probe == nullptr) {
    const char* why = ::dlerror();
    return out.bad("recorder", fmt::format("{}: can not be loaded ({})", *library,
                                           why != nullptr ? why : "no reason given"));
  }
  out.ok("recorder", *library);
  std::array<char, 512> text{};
  bool any = false;
  for (const std::string& file : cupti_files()) {
    const bool usable = probe(file.c_str(), text.data(), text.size()) == 0;
    any = any || usable;
    if (usable) {
      out.ok("cupti", text.data());
    } else {
      out.note("cupti", fmt::format("{}: {}", file, text.data()));
    }
  }
  if (!any && probe("", text.data(), text.size()) == 0) {
    out.ok("cupti", text.data());
  } else if (!any) {
    out.note("cupti",
             "none in the usual places; fine when the framework brings its own (PyTorch does), "
             "else give it with record --cupti FILE");
  }
}

void check_variables(Findings& out) {
  bool free = true;
  for (const char* variable : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    const char* taken = std::getenv(variable);
    if (taken == nullptr || *taken == '\0') continue;
    out.bad("variables",
            fmt::format("{} is {}: another tool is set to record; unset it", variable, taken));
    free = false;
  }
  if (free) out.ok("variables", "no other tool is set to be injected");
}

void check_folder(Findings& out, const std::string& folder) {
  constexpr uint64_t kWanted = uint64_t{4} << 30;
  std::error_code ec;
  const std::string place = std::filesystem::exists(folder, ec) ? folder : ".";
  struct statvfs st {};
  if (::access(place.c_str(), W_OK | X_OK) != 0 || ::statvfs(place.c_str(), &st) != 0)
    return out.bad("folder",
                   fmt::format("{}: can not be written; choose another with record -o", place));
  const uint64_t free = uint64_t{st.f_bavail} * st.f_frsize;
  const std::string size = fmt::format("{} MiB free", free >> 20);
  if (free < kWanted) {
    out.note("folder", size +
                           ": less than the default cap of one file; lower it with record "
                           "--max-file-mb or choose another folder");
  } else {
    out.ok("folder", size);
  }
}

}  // namespace

int run_doctor(int argc, char** argv) {
  CLI::App app{"Can this machine record? Each line is ok, or what breaks and what to do.",
               "wallsight doctor"};
  std::string folder = "wallsight-recording";
  app.add_option("-o", folder, "folder that recordings would go to")->type_name("DIR");
  if (const auto code = parse_or_exit(app, argc, argv)) return *code;
  Findings out;
  check_variables(out);
  check_driver(out);
  check_recorder(out);
  check_folder(out, folder);
  if (out.bad().empty()) return kDone;
  return fail(kBadInput, Error{fmt::format(
                             "doctor: expected a machine that can record, found {} in the way; do "
                             "what the lines marked BAD say",
                             fmt::join(out.bad(), ", "))});
}

}  // namespace ws::cli
