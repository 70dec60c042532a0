#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

namespace ws::cli {

Progress::Progress(size_t total, bool quiet)
    : total_(total), shown_(!quiet && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (printed_) std::fputs("\r\x1b[K", stderr);
}

void Progress::one_done() {
  const std::lock_guard lock(mutex_);
  ++done_;
  if (!shown_ || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
  printed_ = true;
  std::fprintf(stderr, "\r\x1b[Kread %zu of %zu files", done_, total_);
  std::fflush(stderr);
}

}  // namespace ws::cli
