#pragma once
// The recorder of one process: off, standby, armed, drained. One thread of its own does all work;
// threads of the job only run the handlers of NvtxSource and CUPTI's buffer callbacks.
//
//   off -> standby   the library was loaded by CUDA or NVTX and a folder is given
//   standby -> armed begin of the window: at once, after a delay, or at a step
//   armed -> standby its end: after a duration, behind a step, or when buffers run out
//   any -> drained   exit of the process: what is held is written, with a deadline
//   any -> inert     in a fork child: nothing is ever done again
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "collector/cupti_source.h"
#include "collector/nvtx_source.h"
#include "collector/options.h"
#include "collector/step_clock.h"

namespace ws::collector {

class Recorder {
 public:
  // Made at the first call and never destroyed: threads of the job may be inside it at any time.
  static Recorder& instance();

  void cuda_is_here();  // in the thread that initialises CUDA, before its first kernel
  NvtxSource& nvtx() { return nvtx_; }
  bool enabled() const { return enabled_; }

 private:
  Recorder();
  void run();  // the thread
  void arm();  // any thread, under mutex_
  void disarm();
  void start_cupti();
  void on_step(uint64_t nth, int64_t now_ns);  // in a thread of the job
  void work(int64_t now_ns);
  void follow_timers(int64_t now_ns);
  void follow_steps();
  void each_second(int64_t now_ns);
  void write_end();
  void wake() noexcept;
  void at_exit();
  static void in_fork_child();
  bool open_file();

  ProcessRow process_;
  Options options_;
  bool enabled_ = false;
  Names names_;
  Recording out_{names_};
  NvtxSource nvtx_;
  CuptiSource cupti_;
  StepClock step_clock_;

  std::mutex mutex_;  // all of the below that is not atomic, and every use of out_ and cupti_
  bool armed_ = false, cuda_ = false, done_once_ = false, file_failed_ = false;
  WindowRow window_;
  int64_t start_ns_ = 0, armed_at_ns_ = 0, last_second_ns_ = 0, last_sync_ns_ = 0;
  std::atomic<bool> stop_{false}, inert_{false}, steps_wanted_{false}, steps_over_{false};
  std::atomic<bool> armed_flag_{false};
  std::atomic<int64_t> keep_from_ns_{0};
  int event_fd_ = -1;
  std::mutex end_mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
};

}  // namespace ws::collector
