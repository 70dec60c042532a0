#pragma once
// The recorder of one process: off, standby, armed, drained. One thread of its own does all work;
// threads of the job only run the handlers of NvtxSource and CUPTI's buffer callbacks.
//
//   off -> standby   the library was loaded by CUDA or NVTX and a folder is given
//   standby -> armed begin of the window: at once, after a delay, or at a step
//   armed -> standby its end: after a duration, behind a step, or when buffers run out
//   standby -> armed once more where the steps of the window were none (StepPattern revised them):
//                    what was recorded is thrown away when better begins
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
#include "collector/step_pattern.h"

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
  // In threads of the job.
  void on_range(uint64_t nth, int64_t now_ns);
  void on_call(const NcclCall& call, int64_t now_ns);
  void on_step(int64_t n, int64_t now_ns);
  // The writer, or whoever arms.
  void begin_anew();
  void say_what_steps_are();
  std::string why_no_steps();
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

  // Steps by what NCCL is asked for, until a range is seen that marks them.
  std::mutex pattern_mutex_;  // may be taken under mutex_, never the other way round
  StepPattern pattern_;
  bool by_pattern_ = false, pattern_tells_ = false;
  uint64_t pattern_steps_ = 0;  // told

  std::mutex mutex_;  // all of the below that is not atomic, and every use of out_ and cupti_
  bool armed_ = false, cuda_ = false, done_once_ = false, file_failed_ = false;
  bool no_steps_ = false;  // in what was recorded
  WindowRow window_;
  int64_t start_ns_ = 0, armed_at_ns_ = 0, last_second_ns_ = 0, last_sync_ns_ = 0;
  std::atomic<bool> stop_{false}, inert_{false}, steps_wanted_{false}, steps_over_{false};
  std::atomic<bool> armed_flag_{false}, revised_{false};
  // The chosen ones, or as many later ones where those had passed before the pattern was sure.
  std::atomic<int64_t> first_step_{-1}, last_step_{-1};
  std::atomic<int64_t> keep_from_ns_{0};
  int event_fd_ = -1;
  std::mutex end_mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
};

}  // namespace ws::collector
