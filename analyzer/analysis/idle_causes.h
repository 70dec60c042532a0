#pragma once
// Why nothing ran (ALGORITHMS 3.3): every gap of a device, in parts with one cause each. Causes are
// decided on whole gaps, never on the window that is looked at.
// Tested by: partition_test.cpp (scenarios), partition_property_test.cpp, oracle_agreement.py
#include <array>
#include <vector>

#include "analysis/busy_time.h"
#include "analysis/partition.h"

namespace ws {

class IdleCauses {
 public:
  IdleCauses(const Trace& trace, const HostStates& host, const Constants& constants);

  // Parts that tile gap.span, in time order, appended to out. gap.op is kNoRow; gap.after kNoRow:
  // nothing ever ran afterwards.
  void explain(const Stretch& gap, std::vector<IdlePart>& out);

 private:
  struct Piece {
    Interval span;
    Leaf leaf;
  };
  void put(TimeNs begin_ns, TimeNs end_ns, Leaf leaf);
  void host_pieces(Interval span, ThreadId thread);
  void host_part(Interval span, ThreadId launching, ThreadId previous);
  void give_credit(TimeNs credit_ns, Leaf leaf);
  void launch_part(Interval span, uint32_t launch);
  void after_last_op(const Stretch& gap);
  void before_op(const Stretch& gap, uint32_t launch);

  const Trace& trace_;
  const HostStates& host_;
  Constants constants_;
  // Events stand in a file in no order of time: of one that is cut off, what ran in a gap may stand
  // behind the cut, so that nothing says that the device was idle there.
  bool gaps_may_hide_records_;
  std::vector<Piece> pieces_, reversed_;  // of the gap at hand
  struct Hint {                           // see HostStates::states
    ThreadId thread = kNoThread;
    size_t row = 0;
  };
  size_t& hint_for(ThreadId thread);
  std::array<Hint, 2> hints_;  // of the threads asked last
};

}  // namespace ws
