// ISA-L inflates about twice as fast as zlib and, unlike libdeflate, in pieces. A gzip file may
// hold several members; zero bytes or other data behind the last one are ignored, as gzip does.
// Tested by: source_test.cpp
#include "import/source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/file_error.h"

namespace ws {
namespace {

constexpr size_t kInputBytes = size_t{128} << 10;
constexpr uint8_t kGzipMagic[2] = {0x1f, 0x8b};

bool is_gzip(const char* bytes, size_t size) {
  return size >= 2 && std::memcmp(bytes, kGzipMagic, 2) == 0;
}

}  // namespace

class Source::Inflater {
 public:
  Inflater() { restart(); }
  void restart() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    member_done_ = false;
  }
  bool member_done() const { return member_done_; }
  struct Progress {
    size_t used, written;
    bool failed;
  };
  Progress run(const char* in, size_t in_size, char* out, size_t out_size) {
    // The library takes no const input but does not write to it.
    state_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(in));  // NOLINT
    state_.avail_in = static_cast<uint32_t>(in_size);
    state_.next_out = reinterpret_cast<uint8_t*>(out);
    state_.avail_out = static_cast<uint32_t>(out_size);
    const int rc = isal_inflate(&state_);
    member_done_ = state_.block_state == ISAL_BLOCK_FINISH;
    return {in_size - state_.avail_in, out_size - state_.avail_out, rc < 0};
  }

 private:
  inflate_state state_{};
  bool member_done_ = false;
};

Source::Source(SourceOptions options) : options_(options), input_(kInputBytes) {
  options_.block_bytes = std::max<size_t>(options_.block_bytes, 1);
  options_.ring_blocks = std::max<size_t>(options_.ring_blocks, 3);  // the reader may hold two
  const size_t bytes = kHeadroomBytes + options_.block_bytes + kPaddingBytes;
  for (size_t i = 0; i < options_.ring_blocks; ++i)
    ring_.push_back(std::make_unique<char[]>(bytes));
  sizes_.resize(options_.ring_blocks);
}

Result<std::unique_ptr<Source>> Source::open(const std::string& path, SourceOptions options) {
  std::unique_ptr<Source> source(new Source(options));  // NOLINT: the constructor is private
  source->fd_ = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat info {};
  if (source->fd_ < 0 || ::fstat(source->fd_, &info) != 0) {
    return can_not_read(path, errno);
  }
  if (S_ISDIR(info.st_mode)) return not_a_file(path, true);
  while (source->input_end_ < 2 && source->read_input()) continue;
  if (source->end_ == SourceEnd::unreadable) {
    return can_not_read(path, errno);
  }
  source->gzip_ = is_gzip(source->input_.data(), source->input_end_);
  if (source->gzip_) source->inflater_ = std::make_unique<Inflater>();
  source->thread_ = std::thread([s = source.get()] { s->produce(); });
  return source;
}

Source::~Source() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (fd_ >= 0) ::close(fd_);
}

// Moves what is left to the front and adds what one read gives.
bool Source::read_input() {
  if (at_end_of_file_) return false;
  const size_t left = input_end_ - input_begin_;
  std::memmove(input_.data(), input_.data() + input_begin_, left);
  input_begin_ = 0;
  input_end_ = left;
  ssize_t n = 0;
  do {
    n = ::read(fd_, input_.data() + left, input_.size() - left);
  } while (n < 0 && errno == EINTR);
  if (n < 0) end_ = SourceEnd::unreadable;
  if (n <= 0) {
    at_end_of_file_ = true;
    return false;
  }
  input_end_ += static_cast<size_t>(n);
  return true;
}

size_t Source::fill(char* out) {
  if (gzip_) return fill_inflated(out);
  size_t have = 0;
  while (have < options_.block_bytes) {
    if (input_begin_ == input_end_ && !read_input()) break;
    const size_t n = std::min(input_end_ - input_begin_, options_.block_bytes - have);
    std::memcpy(out + have, input_.data() + input_begin_, n);
    input_begin_ += n;
    have += n;
  }
  return have;
}

// Where the stream is damaged, how much of it comes out depends on the room for output. Blocks
// smaller than usual are therefore cut from a usual one.
size_t Source::fill_inflated(char* out) {
  const size_t usual = SourceOptions().block_bytes;
  if (options_.block_bytes >= usual) return inflate_into(out, options_.block_bytes);
  if (staged_begin_ == staged_.size()) {
    staged_.resize(usual);
    staged_.resize(inflate_into(staged_.data(), usual));
    staged_begin_ = 0;
  }
  const size_t n = std::min(staged_.size() - staged_begin_, options_.block_bytes);
  std::memcpy(out, staged_.data() + staged_begin_, n);
  staged_begin_ += n;
  return n;
}

size_t Source::inflate_into(char* out, size_t size) {
  size_t have = 0;
  while (have < size && end_ == SourceEnd::complete) {
    if (inflater_->member_done()) {
      while (input_end_ - input_begin_ < 2 && read_input()) continue;
      if (!is_gzip(input_.data() + input_begin_, input_end_ - input_begin_)) break;
      inflater_->restart();
    }
    if (input_begin_ == input_end_) read_input();
    const auto step = inflater_->run(input_.data() + input_begin_, input_end_ - input_begin_,
                                     out + have, size - have);
    input_begin_ += step.used;
    have += step.written;
    const bool stuck = !inflater_->member_done() && step.used == 0 && step.written == 0;
    if (step.failed || (stuck && input_begin_ < input_end_)) {
      end_ = SourceEnd::damaged;
    } else if (stuck && at_end_of_file_ && end_ == SourceEnd::complete) {
      end_ = SourceEnd::cut;
    }
  }
  return have;
}

void Source::produce() {
  while (true) {
    size_t slot = 0;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || produced_ - returned_ < ring_.size(); });
      if (stop_) return;
      slot = produced_ % ring_.size();
    }
    const size_t size = fill(ring_[slot].get() + kHeadroomBytes);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (size == 0) {
        finished_ = true;
      } else {
        sizes_[slot] = size;
        ++produced_;
      }
    }
    changed_.notify_all();
    if (size == 0) return;
  }
}

Source::Block Source::take() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return finished_ || taken_ < produced_; });
  if (taken_ == produced_) return {};
  const size_t slot = taken_++ % ring_.size();
  return {ring_[slot].get() + kHeadroomBytes, sizes_[slot]};
}

void Source::give_back() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    WS_CHECK(returned_ < taken_);
    ++returned_;
  }
  changed_.notify_all();
}

SourceEnd Source::end() {
  const std::lock_guard<std::mutex> lock(mutex_);
  WS_CHECK(finished_);
  return end_;
}

bool Window::refill(const char* keep) {
  const auto rest = static_cast<size_t>(end_ - keep);
  const Source::Block block = source_.take();
  offset_ += keep - begin_;
  begin_ = keep;
  if (block.size == 0) return false;
  if (rest <= Source::kHeadroomBytes) {
    if (rest > 0) std::memcpy(block.data - rest, keep, rest);
    if (holds_block_) source_.give_back();
    spill_.clear();
    holds_block_ = true;
    begin_ = block.data - rest;
    end_ = block.data + block.size;
    return true;
  }
  if (holds_block_) {
    spill_.assign(keep, end_);
    source_.give_back();
  } else {
    spill_.resize(static_cast<size_t>(end_ - spill_.data()));
    spill_.erase(spill_.begin(), spill_.begin() + (keep - spill_.data()));
  }
  spill_.insert(spill_.end(), block.data, block.data + block.size);
  source_.give_back();
  holds_block_ = false;
  spill_.resize(spill_.size() + Source::kPaddingBytes);
  begin_ = spill_.data();
  end_ = spill_.data() + spill_.size() - Source::kPaddingBytes;
  return true;
}

}  // namespace ws
