#pragma once
// Finding: what one rule says of one run. Plain text and numbers, ready to print.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ws {

enum class FindingStatus : uint8_t { fires, no, unknown };

struct Action {
  std::string framework;  // any megatron_lm megatron_bridge pytorch env nsys
  std::string set, to, note;
  bool takes_away() const { return to.rfind("leave ", 0) == 0; }  // "leave it out"
};

struct EvidenceValue {
  std::string expression;  // as the rule writes it: "c.exposed_share"
  std::string value;       // printable; "unknown" for NULL
  std::optional<double> number;
  bool is_unknown() const { return value == "unknown" && !number; }
};

struct ClauseValue {
  std::string clause;
  std::optional<bool> holds;               // nullopt: NULL
  std::vector<std::string> missing_facts;  // "fact_config.ep", only when NULL
};

struct Finding {
  std::string rule, title;
  std::string wall;   // "" for data quality
  std::string phase;  // data fit scale profile retune
  FindingStatus status = FindingStatus::no;
  std::string later_release{};  // what it needs came after the stated release; "": it is there
  bool leads = false;           // answers the verdict's cause
  bool disowns_file = false;    // the configuration given is not that of the run
  // Does not fire for a setting that an earlier finding is to change: that one's rule.
  std::string waits_for{};
  std::string held_back_by;        // rule of an earlier phase that is at fault: act on that first
  std::vector<std::string> after;  // rules that fire and come first, since this one builds on them
  // Of an earlier phase something stands behind this one: which, and why this one comes first.
  struct Ahead {
    std::string of_phase, because;
    std::string of_rule;  // the one that stands behind
  };
  std::optional<Ahead> ahead;
  std::vector<ClauseValue> clauses;
  std::vector<EvidenceValue> evidence;
  std::optional<double> gain_lo_share, gain_hi_share;
  std::string gain_basis;  // ceiling estimate what_if published
  struct FromWhatIf {
    std::string id;         // the row of fact_what_if
    double lo = 1, hi = 1;  // how much of its ends the advice reaches
  };
  std::vector<FromWhatIf> what_ifs;        // any of which may give the gain, the first first
  std::optional<FromWhatIf> from_what_if;  // the one that does: of basis what_if
  std::vector<std::string> gain_of;  // the time that it is a part of: "comm.dp", "idle.launch"
  std::string same_time_as;          // an earlier finding whose gain is of the same time; ""
  std::vector<Action> actions;
  struct With {
    std::string framework, set;  // "megatron_lm", "--use-distributed-optimizer"
    std::string rule;            // the earlier finding that gives it this value
  };
  std::vector<With> with;  // what belongs to the advice and is told already
  struct LeftOut {
    std::string set, needs;  // "--a b", "--a came with core 0.18"
  };
  std::vector<LeftOut> left_out;  // the stated release lacks it, and the other actions stand
  std::string why, safety, kind;
  std::vector<std::string> published, pitfalls, verify, conflicts, sources;

  // Its conditions are met, whether it is offered or not. Without any it was silenced: its file is
  // another run's.
  bool applies() const {
    return !clauses.empty() &&
           std::all_of(clauses.begin(), clauses.end(),
                       [](const ClauseValue& c) { return c.holds.value_or(false); });
  }
};

}  // namespace ws
