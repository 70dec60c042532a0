#pragma once
// The files of one process, told by their names: HOST.RANK.PID.START.wst, then
// HOST.RANK.PID.START.1.wst and so on (schemas/recording_format.md).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ws::recording {

struct SegmentName {
  std::string process;  // folder and name without number and ending
  uint64_t number = 0;
};
std::optional<SegmentName> segment_name(const std::string& path);

// The later segments that stand beside the file, in order.
std::vector<std::string> later_segments(const std::string& path);

}  // namespace ws::recording
