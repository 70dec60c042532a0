// Tested by: recording_writer_test.cpp, recording_files_test.cpp
#include "collector/recording.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace ws::collector {
namespace {

constexpr size_t kMostShapes = size_t{64} * 1024;
constexpr std::string_view kEnding = ".wst";
// Below the cap, for the frames with which a recording ends.
constexpr uint64_t kKeptForLast = uint64_t{256} * 1024;

int64_t clock_ns(clockid_t clock) noexcept {
  timespec t{};
  ::clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t t = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return 0;
#endif
}

}  // namespace

int64_t monotonic_ns() noexcept { return clock_ns(CLOCK_MONOTONIC); }

ClockRow read_clocks() noexcept {
  return {clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_REALTIME), clock_ns(CLOCK_BOOTTIME), ticks()};
}

size_t Recording::ShapeHash::operator()(const ShapeRow& s) const noexcept {
  return Names::hash_of({reinterpret_cast<const char*>(&s), sizeof s});
}

std::string segment_path(const std::string& first, uint32_t number) {
  if (number == 0) return first;
  const bool ends = first.size() > kEnding.size() &&
                    std::string_view(first).substr(first.size() - kEnding.size()) == kEnding;
  return first.substr(0, first.size() - (ends ? kEnding.size() : 0)) + "." +
         std::to_string(number) + std::string(kEnding);
}

int Recording::open(const std::string& path, uint64_t cap_bytes, ProcessRow process) {
  process.cupti_version = std::max(process.cupti_version, process_.cupti_version);
  process_ = std::move(process);
  first_path_ = path;
  segment_ = {path, 0, 0};
  cap_bytes_ = cap_bytes;
  segment_bytes_ = cap_bytes / kSegments;
  return file_.open(path.c_str());
}

int Recording::restart() {
  if (!file_.is_open()) return 0;
  file_.close();
  ::unlink(segment_.path.c_str());
  for (const Segment& s : earlier_) ::unlink(s.path.c_str());
  earlier_.clear();
  earlier_bytes_ = 0;
  segment_ = {first_path_, 0, 0};
  segment_bytes_ = cap_bytes_ / kSegments;
  process_.segment = 0;
  process_.rotated_rows = 0;
  process_written_ = false;
  names_written_ = 0;
  rows_written_ = 0;
  messages_.clear();
  chunk_.clear();
  for (const auto& [shape, id] : shapes_) chunk_.add(id, shape);
  for (const DeviceRow& d : devices_) chunk_.add(d);
  return file_.restart(first_path_.c_str());
}

// False when there can be no new file: the one that is open goes on.
bool Recording::next_segment() {
  const std::string path = segment_path(first_path_, process_.segment + 1);
  const uint64_t bytes = file_.written_bytes();
  if (file_.open(path.c_str()) != 0) return false;
  segment_.bytes = bytes;
  earlier_bytes_ += bytes;
  earlier_.push_back(std::move(segment_));
  segment_ = {path, 0, 0};
  ++process_.segment;
  process_written_ = false;
  names_written_ = 0;
  chunk_.clear_known();
  for (const auto& [shape, id] : shapes_) chunk_.add(id, shape);
  for (const DeviceRow& d : devices_) chunk_.add(d);
  for (const MessageRow& m : messages_) chunk_.add(m);
  return true;
}

// Removes old segments until so many bytes more stay below the cap; false when they never can.
bool Recording::make_room(uint64_t bytes, bool last) {
  const uint64_t kept = last ? 0 : std::min(kKeptForLast, cap_bytes_ / 16);
  const uint64_t wanted = file_.written_bytes() + bytes + kept;
  if (wanted > cap_bytes_) return false;
  while (earlier_bytes_ > cap_bytes_ - wanted) {
    const Segment& oldest = earlier_.front();
    if (::unlink(oldest.path.c_str()) != 0 && errno != ENOENT) return false;
    process_.rotated_rows += oldest.rows;
    process_written_ = false;  // it is said anew
    earlier_bytes_ -= oldest.bytes;
    earlier_.pop_front();
  }
  return true;
}

uint32_t Recording::shape(const ShapeRow& shape) {
  const auto it = shapes_.find(shape);
  if (it != shapes_.end()) return it->second;
  // Programs with shapes without end keep their names, not their grids.
  ShapeRow plain;
  plain.name = shape.name;
  if (shapes_.size() >= kMostShapes && shape != plain) return this->shape(plain);
  if (shapes_.size() >= 2 * kMostShapes) return 0;
  const auto id = static_cast<uint32_t>(shapes_.size() + 1);
  shapes_.emplace(shape, id);
  chunk_.add(id, shape);
  return id;
}

void Recording::lose(LossSource source, uint64_t count) {
  if (count == 0) return;
  const int64_t now_ns = monotonic_ns();
  chunk_.add(LossRow{source, count, now_ns, now_ns});
}

void Recording::flush() {
  if (!chunk_.empty() || names_.count() != names_written_ || !process_written_) write(nullptr);
}

void Recording::finish(FooterRow footer) {
  flush();
  footer.rows = rows_written_;
  write(&footer);
  file_.close();
}

size_t Recording::prepare(const FooterRow* footer) {
  Chunk::Heading heading;
  heading.process = process_written_ ? nullptr : &process_;
  heading.clock = read_clocks();
  heading.first_name = names_written_ + 1;
  names_prepared_ = names_.count();
  names_.copy(heading.first_name, names_prepared_, heading.names);
  heading.footer = footer;
  chunk_.encode(heading, body_);
  return file_.prepare(body_);
}

void Recording::write(const FooterRow* footer) {
  const size_t rows = chunk_.rows();
  const bool last = footer != nullptr;
  size_t bytes = prepare(footer);
  const uint64_t before = file_.written_bytes();
  if (!last && before > 0 && before + bytes > segment_bytes_ && next_segment()) {
    bytes = prepare(footer);
    // Saying all names again must not be most of what is written.
    constexpr uint64_t kTimes = 4;
    segment_bytes_ = std::max(cap_bytes_ / kSegments, std::min(kTimes * bytes, cap_bytes_ / 2));
  }
  const uint64_t rotated = process_.rotated_rows;
  bool written = bytes > 0 && make_room(bytes, last);
  if (written && process_.rotated_rows != rotated) written = prepare(footer) > 0;
  written = written && file_.write();
  if (written) {
    chunk_.clear();
    process_written_ = true;
    names_written_ = names_prepared_;
    rows_written_ += rows;
    segment_.rows += rows;
  } else {
    chunk_.clear_rows();  // shapes, devices and losses are said again
    lose(LossSource::file_full, rows);
  }
}

}  // namespace ws::collector
