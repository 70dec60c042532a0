// Tested by: recording_writer_test.cpp
#include "collector/recording.h"

#include <algorithm>
#include <ctime>

namespace ws::collector {
namespace {

constexpr size_t kMostShapes = size_t{64} * 1024;

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

int Recording::open(const std::string& path, uint64_t cap_bytes, ProcessRow process) {
  process.cupti_version = std::max(process.cupti_version, process_.cupti_version);
  process_ = std::move(process);
  return file_.open(path.c_str(), cap_bytes);
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

void Recording::write(const FooterRow* footer) {
  Chunk::Heading heading;
  heading.process = process_written_ ? nullptr : &process_;
  heading.clock = read_clocks();
  heading.first_name = names_written_ + 1;
  const uint32_t last_name = names_.count();
  names_.copy(heading.first_name, last_name, heading.names);
  heading.footer = footer;
  chunk_.encode(heading, body_);
  const size_t rows = chunk_.rows();
  const bool written = file_.write(body_, footer != nullptr) == FrameWriter::Outcome::written;
  if (written) {
    chunk_.clear();
    process_written_ = true;
    names_written_ = last_name;
    rows_written_ += rows;
  } else {
    chunk_.clear_rows();  // shapes, devices and losses are said again
    lose(LossSource::file_full, rows);
  }
}

}  // namespace ws::collector
