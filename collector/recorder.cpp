// Tested by: recorder_test.py
#include "collector/recorder.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>

namespace ws::collector {
namespace {

constexpr int64_t kMs = 1'000'000, kSecond = 1'000 * kMs;
constexpr int64_t kNotYet = INT64_MAX;
constexpr int kPollMs = 50;
constexpr int64_t kWarmUpSteps = 2;  // recorded and left out before the first step that counts

// For exit and fork handlers, which know no object.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
Recorder* g_instance = nullptr;

int64_t thread_cpu_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return int64_t{t.tv_sec} * kSecond + t.tv_nsec;
}

}  // namespace

Recorder& Recorder::instance() {
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
  static Recorder* const recorder = new Recorder;
  return *recorder;
}

Recorder::Recorder()
    : process_(describe_process()),
      options_(read_options(process_)),
      nvtx_(names_, [this] { wake(); }),
      cupti_(names_, out_, options_.buffer_count) {
  enabled_ = !options_.folder.empty() && options_.rank_chosen;
  if (!enabled_) return;
  g_instance = this;
  start_ns_ = last_second_ns_ = last_sync_ns_ = monotonic_ns();
  event_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ::pthread_atfork(nullptr, nullptr, in_fork_child);
  std::atexit([] { g_instance->at_exit(); });
  // Where our other library was preloaded, for processes that leave without atexit.
  using OnExit = void (*)(void (*)());
  if (const auto on_exit = reinterpret_cast<OnExit>(::dlsym(RTLD_DEFAULT, "wallsight_on_exit")))
    on_exit([] { g_instance->at_exit(); });
  if (!options_.step_range.empty())
    nvtx_.watch(options_.step_range, [this](uint64_t nth, int64_t now) { on_range(nth, now); });
  by_pattern_ = options_.steps_by_pattern;
  if (by_pattern_)
    nvtx_.watch_calls([this](const NcclCall& call, int64_t now) { on_call(call, now); });
  if (options_.first_step >= 0) {
    first_step_ = options_.first_step;
    last_step_ = options_.last_step;
    keep_from_ns_ = kNotYet;
    steps_wanted_ = options_.first_step <= kWarmUpSteps;
  }
  // All signals belong to the job's threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    std::thread([this] { run(); }).detach();
  } catch (const std::system_error&) {
    enabled_ = false;
    has_ended_ = true;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!enabled_) return;
  const bool at_once = options_.first_step < 0 ? options_.delay_ms == 0 : steps_wanted_.load();
  const std::lock_guard lock(mutex_);
  if (at_once) arm();
}

// A process that never touches CUDA or NVTX leaves no file.
bool Recorder::open_file() {
  if (out_.is_open() || file_failed_) return out_.is_open();
  if (!cuda_ && !nvtx_.has_clients()) return false;
  const std::string path = options_.folder + "/" + file_name_of(process_);
  const int error = out_.open(path, options_.file_cap_bytes, process_);
  if (error == 0) {
    out_.flush();  // a file says whose it is from its first moment
    return true;
  }
  file_failed_ = true;
  std::fprintf(stderr, "wallsight: nothing is recorded: %s: %s\n", path.c_str(),
               std::strerror(error));
  return false;
}

void Recorder::arm() {
  if (armed_ || file_failed_) return;
  if (no_steps_) {
    no_steps_ = false;
    file_failed_ = out_.restart() != 0;
    if (file_failed_) return;
    out_.add(MessageRow{Topic::notice,
                        "a window was thrown away: what repeated there was a part of a step"});
  }
  armed_ = true;
  window_ = {};
  window_.armed_ns = armed_at_ns_ = monotonic_ns();
  window_.tier = options_.tier;
  nvtx_.start();
  start_cupti();
  armed_flag_ = true;
}

void Recorder::disarm() {
  if (!armed_) return;
  armed_flag_ = false;
  nvtx_.stop();
  open_file();  // before rows come
  cupti_.stop();
  nvtx_.take_ranges(out_);
  armed_ = false;
  done_once_ = true;
  const int64_t keep_from = keep_from_ns_;
  window_.steady_from_ns = keep_from == kNotYet ? 0 : std::max(keep_from, window_.armed_ns);
  window_.disarmed_ns = monotonic_ns();
  out_.add(window_);
  say_what_steps_are();
  follow_steps();
  if (out_.is_open()) out_.flush();
}

// Behind the window, which is the only one, steps are watched for a while to compare with.
void Recorder::follow_steps() {
  step_clock_.end_warm_up(keep_from_ns_);
  step_clock_.follow();
  if (!done_once_) return;
  step_clock_.take([this](const StepRow& r) { out_.add(r); });
  if (!step_clock_.has_enough()) return;
  nvtx_.unwatch();
  {
    const std::lock_guard lock(pattern_mutex_);
    // Until then it may turn out that the window was none.
    if (!by_pattern_ || pattern_.is_final()) nvtx_.unwatch_calls();
  }
  nvtx_.stop();
}

void Recorder::begin_anew() {
  disarm();
  no_steps_ = out_.is_open();
  size_t operations = 0;
  {
    const std::lock_guard lock(pattern_mutex_);
    operations = pattern_.operations();
    steps_wanted_ = steps_over_ = false;
    keep_from_ns_ = kNotYet;
    first_step_ = options_.first_step;
    last_step_ = options_.last_step;
    revised_ = pattern_tells_ = false;
  }
  done_once_ = false;
  step_clock_.forget();
  if (!no_steps_) return;
  out_.add(MessageRow{
      Topic::no_steps,
      "the recorded stretch lies inside a step: the pattern that armed it is a part of one of " +
          std::to_string(operations) + " NCCL operations"});
  out_.flush();
}

// Beside the window, where no range tells it.
void Recorder::say_what_steps_are() {
  const std::lock_guard lock(pattern_mutex_);
  if (!by_pattern_ || !pattern_tells_ || revised_) return;
  constexpr int64_t kUs = 1'000;
  std::string text = "steps are repeats of a pattern of " + std::to_string(pattern_.operations()) +
                     " NCCL operations (" + std::to_string(pattern_.mean_ns() / kUs) +
                     " us): recorded " + std::to_string(first_step_) + ":" +
                     std::to_string(last_step_);
  if (first_step_ != options_.first_step)
    text += ", as those chosen had passed before the pattern was sure";
  out_.add(MessageRow{Topic::notice, text});
}

std::string Recorder::why_no_steps() {
  const std::lock_guard lock(pattern_mutex_);
  if (!by_pattern_) return "fewer of the step range began";
  if (pattern_.seen() == 0)
    return "no range `" + options_.step_range +
           "` began and NCCL was asked for nothing; mark the steps with a range";
  const std::string of = std::to_string(pattern_.seen()) + " NCCL operations";
  if (pattern_.operations() == 0)
    return of + " had no repeating pattern; mark the steps with a range";
  if (pattern_tells_)
    return "the pattern of " + of + " came " + std::to_string(pattern_.repeats()) + " times only";
  return "the pattern of " + of + " came " + std::to_string(pattern_.repeats()) +
         " times and was too short, or not there for long enough, to be steps; mark them with a "
         "range";
}

void Recorder::cuda_is_here() {
  if (!enabled_ || inert_) return;
  const std::lock_guard lock(mutex_);
  if (cuda_) return;
  cuda_ = true;
  if (armed_) start_cupti();
  wake();  // there is a file from now on
}

void Recorder::start_cupti() {
  if (!cuda_ || options_.tier == Tier::nvtx) return;
  if (!cupti_.start(options_.tier, options_.cupti_path, options_.whole_graphs))
    window_.tier = Tier::nvtx;
  out_.set_cupti_version(cupti_.version());
}

void Recorder::on_range(uint64_t nth, int64_t now_ns) {
  if (options_.steps_by_pattern) {
    const std::lock_guard lock(pattern_mutex_);
    if (pattern_steps_ > 0) return;  // that spoke first
    by_pattern_ = false;
    nvtx_.unwatch_calls();
  }
  step_clock_.begin(nth, now_ns, armed_flag_);
  on_step(static_cast<int64_t>(nth), now_ns);
}

void Recorder::on_call(const NcclCall& call, int64_t now_ns) {
  const std::lock_guard lock(pattern_mutex_);
  if (!by_pattern_) return;
  const StepPattern::Said said = pattern_.add(call, now_ns);
  if (pattern_.gave_up()) nvtx_.unwatch_calls();
  if (said.revised) {
    revised_ = true;
    return wake();
  }
  if (said.begins < 0 || revised_) return;  // begin_anew() comes first
  step_clock_.begin(pattern_steps_++, now_ns, armed_flag_);
  if (!pattern_tells_) {
    pattern_tells_ = true;
    const int64_t earliest = said.begins + (armed_flag_ ? 0 : kWarmUpSteps);
    if (first_step_ < earliest) {
      last_step_ += earliest - first_step_;
      first_step_ = earliest;
    }
  }
  on_step(said.begins, now_ns);
}

void Recorder::on_step(int64_t n, int64_t now_ns) {
  if (first_step_ < 0) return;
  if (n > last_step_) {
    if (!steps_over_.exchange(true)) wake();
  } else if (n >= first_step_ - kWarmUpSteps && !steps_wanted_.exchange(true)) {
    wake();
  }
  // The first whole step that counts: not before the chosen one, and not before records are taken.
  if (n >= first_step_ && n <= last_step_ && armed_flag_) {
    int64_t not_yet = kNotYet;
    keep_from_ns_.compare_exchange_strong(not_yet, now_ns);
  }
}

void Recorder::wake() noexcept {
  const uint64_t one = 1;
  // A full counter means that the thread is awake anyway.
  if (::write(event_fd_, &one, sizeof one) < 0) return;
}

void Recorder::follow_timers(int64_t now_ns) {
  if (revised_) begin_anew();
  if (armed_) {
    const bool time_over =
        options_.duration_ms > 0 && now_ns - armed_at_ns_ >= options_.duration_ms * kMs;
    if (time_over || steps_over_) disarm();
  } else if (!done_once_) {
    const bool wanted = options_.first_step >= 0 ? steps_wanted_.load() && !steps_over_
                                                 : now_ns - start_ns_ >= options_.delay_ms * kMs;
    if (wanted) arm();
  }
}

void Recorder::work(int64_t now_ns) {
  follow_timers(now_ns);
  cupti_.set_keep_from(keep_from_ns_);
  nvtx_.set_keep_from(keep_from_ns_);
  if (armed_) open_file();
  nvtx_.take_ranges(out_);
  cupti_.take_full_buffers();
  if (cupti_.overloaded()) disarm();
  if (nvtx_.is_watching() || nvtx_.is_watching_calls()) follow_steps();
  if (now_ns - last_second_ns_ >= kSecond) each_second(now_ns);
}

void Recorder::each_second(int64_t now_ns) {
  last_second_ns_ = now_ns;
  cupti_.ask_for_records();
  cupti_.take_full_buffers();
  if (cupti_.started()) cupti_.count_dropped();
  if (out_.is_open()) out_.flush();
  constexpr int64_t kSyncEach = 5 * kSecond;
  if (now_ns - last_sync_ns_ >= kSyncEach) {
    last_sync_ns_ = now_ns;
    out_.sync();
  }
}

void Recorder::run() {
  ::pthread_setname_np(::pthread_self(), "ws-writer");
  sched_param none{};
  ::sched_setscheduler(0, SCHED_BATCH, &none);
  constexpr int kNice = 5;
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNice);
  try {
    while (!stop_) {
      pollfd p{event_fd_, POLLIN, 0};
      ::poll(&p, 1, kPollMs);
      uint64_t ignored = 0;
      while (::read(event_fd_, &ignored, sizeof ignored) > 0) {
      }
      const std::lock_guard lock(mutex_);
      work(monotonic_ns());
    }
    write_end();
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "wallsight: recording ends: out of memory\n");
    nvtx_.stop();
  }
  const std::lock_guard lock(end_mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

void Recorder::write_end() {
  const std::lock_guard lock(mutex_);
  if (revised_) begin_anew();
  FooterRow footer;
  footer.open_ranges = armed_ ? nvtx_.open_ranges() : 0;
  cupti_.set_keep_from(keep_from_ns_);
  nvtx_.set_keep_from(keep_from_ns_);
  disarm();
  follow_steps();
  if (options_.first_step >= 0 && keep_from_ns_ == kNotYet) {
    const std::string text = "steps " + std::to_string(options_.first_step) + ":" +
                             std::to_string(options_.last_step) +
                             " were not recorded: " + why_no_steps();
    open_file();
    out_.add(MessageRow{Topic::notice, text});
    if (process_.rank <= 0 && out_.is_open()) std::fprintf(stderr, "wallsight: %s\n", text.c_str());
  }
  out_.lose(LossSource::names_full, names_.refused());
  footer.writer_cpu_ns = static_cast<uint64_t>(thread_cpu_ns());
  if (out_.is_open()) out_.finish(footer);
}

// The exit of the job waits for what is held to be written, and no longer than the deadline.
void Recorder::at_exit() {
  if (inert_) return;
  stop_ = true;
  wake();
  constexpr auto kDeadline = std::chrono::seconds(2);
  std::unique_lock lock(end_mutex_);
  ended_.wait_for(lock, kDeadline, [this] { return has_ended_; });
}

// The child has none of our threads, and any of our locks may be held for ever: nothing is touched
// but flags and the descriptor.
void Recorder::in_fork_child() {
  if (g_instance == nullptr) return;
  g_instance->inert_ = true;
  g_instance->nvtx_.become_inert();
  CuptiSource::become_inert();
  g_instance->out_.abandon();
}

}  // namespace ws::collector
