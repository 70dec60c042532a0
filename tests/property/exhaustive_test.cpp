// All layouts of up to four intervals on six ticks, each a GEMM, a collective or a copy: every tick
// gets the leaf that the naive count gives it.
#include <algorithm>

#include "property/naive_partition.h"
#include "support/catch.h"

using namespace ws;
using namespace ws::test;

namespace {

constexpr TimeNs kTicks = 6;
constexpr NaiveConstants kNaive{2, 1, 1};

Constants constants() {
  Constants c;
  c.launch_latency_ns = kNaive.launch_latency;
  c.kernel_gap_ns = kNaive.kernel_gap;
  c.straddle_eps_ns = kNaive.straddle_eps;
  return c;
}

// In order of (begin, end, class), so that a layout is a non-decreasing choice of these.
std::vector<ScenarioOp> all_intervals() {
  std::vector<ScenarioOp> out;
  for (TimeNs s = 0; s < kTicks; ++s) {
    for (TimeNs e = s + 1; e <= kTicks; ++e) {
      for (const char* cls : {"gemm", "comm", "h2d"}) {
        ScenarioOp o;
        o.s = s, o.e = e, o.cls = cls;
        out.push_back(o);
      }
    }
  }
  return out;
}

// One trace per number of ops, built once; a layout overwrites its times and classes.
class Layouts {
 public:
  explicit Layouts(size_t ops) : count_(ops), intervals_(all_intervals()) {
    input_.ops.resize(ops);
    for (size_t i = 0; i < ops; ++i) {
      input_.ops[i].id = static_cast<int64_t>(i);
      input_.ops[i].s = static_cast<TimeNs>(i);
      input_.ops[i].e = kTicks;
      input_.ops[i].cls = "gemm";
    }
    trace_.emplace(input_);
    host_.emplace(trace_->trace, trace_->labels);
  }
  int64_t checked = 0;
  bool check_all() { return check_from(0, 0); }

 private:
  bool check_from(size_t position, size_t first) {
    if (position == count_) return check();
    for (size_t i = first; i < intervals_.size(); ++i) {
      const ScenarioOp& choice = intervals_[i];
      ScenarioOp& o = input_.ops[position];
      o.s = choice.s, o.e = choice.e, o.cls = choice.cls;
      trace_->trace.ops.begin_ns[position] = o.s;
      trace_->trace.ops.end_ns[position] = o.e;
      trace_->labels.cls[position] = o.cls == "gemm"   ? OpClass::gemm
                                     : o.cls == "comm" ? OpClass::comm
                                                       : OpClass::h2d;
      if (!check_from(position + 1, i)) return false;
    }
    return true;
  }
  bool check() {
    ++checked;
    const Timeline t = build_timeline(trace_->trace, trace_->labels, *host_, DeviceId{0},
                                      constants(), {0, kTicks});
    Leaf got[kTicks] = {};
    const auto paint = [&](const auto& parts) {
      for (const auto& p : parts) std::fill(got + p.span.begin_ns, got + p.span.end_ns, p.leaf);
    };
    paint(t.busy);
    paint(t.idle);
    const NaivePartition naive(input_, 0, kNaive);
    for (TimeNs tick = 0; tick < kTicks; ++tick) {
      if (got[tick] == naive.leaf_at_tick(tick, kTicks)) continue;
      for (const ScenarioOp& o : input_.ops) UNSCOPED_INFO(o.cls << " " << o.s << ".." << o.e);
      UNSCOPED_INFO("tick " << tick << ": " << name_of(got[tick]));
      return false;
    }
    return true;
  }

  size_t count_;
  std::vector<ScenarioOp> intervals_;
  ScenarioInput input_;
  std::optional<ScenarioTrace> trace_;
  std::optional<HostStates> host_;
};

}  // namespace

TEST_CASE("every layout of up to four intervals on six ticks") {
  int64_t checked = 0;
  for (size_t ops = 0; ops <= 4; ++ops) {
    Layouts layouts(ops);
    REQUIRE(layouts.check_all());
    checked += layouts.checked;
  }
  CHECK(checked == 1 + 63 + 2016 + 43680 + 720720);  // choices of k out of 63 with repetition
}
