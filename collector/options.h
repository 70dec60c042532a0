#pragma once
// What the launcher asks for, by environment variables (schemas/recording_format.md), and what the
// process says of itself. Read once, in the thread that loads the library: getenv in another thread
// may meet a setenv of the job.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collector/rows.h"

namespace ws::collector {

struct Options {
  std::string folder;  // empty: nothing is recorded
  Tier tier = Tier::host;
  bool whole_graphs = false;  // one record per graph launch instead of one per node
  int64_t delay_ms = 0, duration_ms = 0;
  std::string step_range;
  bool steps_by_pattern = false;  // where the range does not come: of what NCCL is asked for
  int64_t first_step = -1, last_step = -1;  // -1: no choice of steps
  uint64_t file_cap_bytes = uint64_t{4096} << 20;
  uint32_t buffer_count = 64;
  std::string cupti_path;
  bool rank_chosen = true;
};

// "0,3-5" holds rank; a list that can not be read holds every rank.
bool list_holds(std::string_view list, int64_t rank);
// "A:B" or "A"; nothing when it is neither.
std::optional<std::pair<int64_t, int64_t>> parse_steps(std::string_view text);

Options read_options(const ProcessRow& process);
ProcessRow describe_process();

// HOST.RANK.PID.START.wst
std::string file_name_of(const ProcessRow& process);

}  // namespace ws::collector
