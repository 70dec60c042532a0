#pragma once
// Steps as the device repeats itself: anchors 5 and 6 of ALGORITHMS 2, and the cross-check by
// collectives. Boundaries are times of the device; n boundaries make n - 1 steps.
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/kernel_classes.h"
#include "analysis/labels.h"
#include "model/trace.h"

namespace ws {

// End of the last optimizer kernel of each burst; empty below three bursts.
std::vector<TimeNs> optimizer_bursts(const Trace& trace, const OpLabels& labels, DeviceId device);

// Rarest symbol that cuts the sequence into alike segments: its positions, or nothing. Alike:
// median multiset Jaccard of neighbours >= 0.9; covered: >= half of the sequence.
std::vector<uint32_t> repeating_symbol(const std::vector<uint32_t>& symbols);

// Begin of the anchor kernel of each period on the stream with most compute. Refuses periods that
// may be a layer or a micro-batch: see kernel_period.cpp. refused: why, where a pattern repeats.
std::vector<TimeNs> kernel_periods(const Trace& trace, const OpLabels& labels, DeviceId device,
                                   std::string* refused = nullptr);

// Smallest lag at which the sequence repeats itself; 0: none.
size_t repeating_lag(const std::vector<uint32_t>& symbols);

// Second, independent opinion: time between equal collectives one period apart; 0: none.
TimeNs collective_period(const Trace& trace, const OpLabels& labels, DeviceId device);

}  // namespace ws
