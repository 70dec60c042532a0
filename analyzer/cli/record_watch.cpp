// A command that never uses CUDA or NVTX leaves nothing, and nobody is left to say so: record has
// become the command. The watcher is no child of it (a job that waits for its children would wait
// for ever), holds nothing of it but stderr, and ends with it.
// Tested by: tests/cli/record_cli_check.py
#include "cli/record_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>

#include "cli/common.h"

namespace ws::cli {
namespace {

std::set<std::string> recordings_in(const std::string& folder) {
  namespace fs = std::filesystem;
  std::set<std::string> out;
  std::error_code ec;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
    if (it->path().extension() == ".wst") out.insert(it->path().filename().string());
  return out;
}

[[noreturn]] void wait_and_tell(int process, int called_off, const std::string& folder,
                                const std::set<std::string>& before) {
  ::setsid();  // an interrupt is meant for the command
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  for (int fd = STDERR_FILENO + 1; fd < 1024; ++fd)
    if (fd != process && fd != called_off) ::close(fd);
  pollfd ended{process, POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  bool any = false;
  for (const std::string& name : recordings_in(folder)) any = any || before.count(name) == 0;
  char byte = 0;
  if (!any && ::read(called_off, &byte, 1) <= 0) {
    fail(kDone, Error{fmt::format(
                    "{}: expected a recording when the command ended, found none; no process of it "
                    "used CUDA or NVTX, or none could record: see `wallsight doctor`",
                    folder)});
  }
  ::_exit(0);
}

}  // namespace

int watch_for_recording(const std::string& folder) {
  if (::getpid() == 1) return -1;  // it would be the command's child after all
  const auto process = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  int ends[2];
  if (process < 0 || ::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;  // before Linux 5.3
  const std::set<std::string> before = recordings_in(folder);
  const pid_t between = ::fork();
  if (between == 0) {
    if (::fork() == 0) wait_and_tell(process, ends[0], folder, before);
    ::_exit(0);
  }
  if (between > 0) ::waitpid(between, nullptr, 0);
  ::close(process);
  ::close(ends[0]);
  return ends[1];
}

}  // namespace ws::cli
