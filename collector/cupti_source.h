#pragma once
// CUPTI between the begin and the end of a window. Outside a window nothing of CUPTI is held: the
// only subscriber of the process is free for torch.profiler and others.
#include <atomic>
#include <string>

#include "collector/activity_decoder.h"
#include "collector/buffer_pool.h"

namespace ws::collector {

class CuptiSource {
 public:
  CuptiSource(Names& names, Recording& out, uint32_t buffer_count)
      : out_(out), decoder_(names, out), pool_(buffer_count) {}

  // False when CUPTI can not be used now; a message in the recording says why.
  bool start(Tier tier, const std::string& named_library, bool whole_graphs = false);
  void stop();  // takes what CUPTI still holds, then gives the subscriber back
  bool started() const { return started_; }

  // The writer's regular work: full buffers to rows.
  void take_full_buffers();
  void ask_for_records();  // of buffers that are not full yet
  void count_dropped();
  // Takes fewer kinds, or ends, when buffers run out faster than they are read. True: end it.
  bool overloaded();
  void set_keep_from(int64_t ns) { decoder_.set_keep_from(ns); }
  uint32_t version() const { return library_.version; }
  static void become_inert();  // in a fork child: CUPTI gets no buffers any more

 private:
  bool refuse(Topic topic, std::string text);
  void enable(cupti::Kind kind);
  void enable_calls(cupti::Domain domain);
  void set_clock();
  static void on_request(uint8_t** buffer, size_t* size, size_t* most_records);
  static void on_complete(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                          size_t valid_size);

  Recording& out_;
  ActivityDecoder decoder_;
  BufferPool pool_;
  cupti::Library library_;
  void* subscriber_ = nullptr;
  bool started_ = false, degraded_ = false;
  std::vector<cupti::Kind> enabled_;
  std::vector<std::pair<cupti::Domain, uint32_t>> enabled_calls_;
  std::atomic<uint64_t> refused_{0}, thrown_away_{0};
  uint64_t refused_said_ = 0;
};

}  // namespace ws::collector
