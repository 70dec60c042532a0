#pragma once
// Clocks of ranks brought to one (ALGORITHMS 5.2): from the common ends of collectives at whose
// end all members agree. Candidates are scored, never assumed.
#include "analysis/collective_match.h"

namespace ws {

enum class ClockMethod : uint8_t {
  shared,   // the recorded clocks agree as they are
  medians,  // medians of common ends
  densest   // densest difference of ends of equal operations, where records are lost or unnamed
};

struct ClockFit {
  Offsets offsets;                  // one per rank of the set; the first rank is the reference
  std::vector<TimeNs> residual_ns;  // median absolute deviation of that rank's common ends
  std::vector<int64_t> samples;     // collectives behind the offset
  ClockMethod method = ClockMethod::shared;
  int64_t violations = 0;           // instances in which somebody left before the last arrived
  std::vector<Instance> instances;  // matched under these offsets
};

ClockFit fit_clocks(const CommSet& set);

// Medians of (end - reference end) over consistent synchronising instances, chained over
// communicators; nullopt where no chain leads.
struct MedianFit {
  Offsets offsets;
  std::vector<TimeNs> residual_ns;
  std::vector<int64_t> samples;
};
MedianFit fit_medians(const CommSet& set, const std::vector<Instance>& instances);

}  // namespace ws
