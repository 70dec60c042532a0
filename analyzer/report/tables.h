#pragma once
// The detail tables of a report, as cells of text: made once, printed by text and Markdown alike.
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace ws {

// What a report shows without --all.
inline constexpr size_t kShortActions = 5;  // actions
inline constexpr size_t kShortList = 4;     // rules that may apply
inline constexpr size_t kShortNotOffered = 6;
inline constexpr size_t kShortPublished = 1;  // lines of one action
inline constexpr size_t kShortPitfalls = 2;   // of more than kFewPitfalls
inline constexpr size_t kFewPitfalls = 3;
inline constexpr size_t kShortVerify = 1;

struct Table {
  std::string title;    // "IDLE TIME BY CAUSE"
  std::string caption;  // what the numbers are of
  struct Column {
    std::string name;
    bool right = false;     // numbers
    bool flexible = false;  // takes the room that is left, shortened to fit; at most one or two
    bool below = false;     // the last one: text puts it on a line of its own when there is no room
    std::string brief = {};  // the name where the table is too wide otherwise, "" none
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // raw: renderers escape
  std::vector<std::string> remarks;            // sentences below
};

// Those with something to say, in a fixed order; long ones end with a remark on what was left out.
// all: no limit on rows.
std::vector<Table> detail_tables(const Report& report, bool all);

// Sentences that text and Markdown share.

// "8 ranks", "8 x H100 80GB", "PyTorch trace", "6 steady steps of 92.1 ms"
std::vector<std::string> headline_of_run(const Report& report);
// "the steady steps" or "the window"
std::string steps_word(const Report& report);
std::string where_caption(const Report& report);
// "gemm 16.5,", "attention 4.9"
std::vector<std::string> details_of(const WhereRow& row, const TimeUnit& unit);
std::string price_sentence(const Report& report);  // "" without a price
// Steps left out, configuration, constants.
std::vector<std::string> assumption_lines(const Report& report, bool all);
// What our own recorder cost; nullopt: another tool recorded.
std::optional<std::string> recorder_line(const Report& report);
bool advises(const Report& report, size_t note);  // the last of neighbours with one advice
std::string note_line(const ReportNote& note);    // text, count, first place
// Whose settings stand below and how to tell; "" where only one framework is possible.
std::string settings_caption(const Report& report);
// The setting of one framework with its note.
std::string action_text(const ReportFinding::Line& line);
// How many of an action's cautions are shown; the first ones matter most for this run.
size_t pitfalls_shown(const ReportFinding& f, bool all);
// Whole sentences of s, at least one, at most about two lines of a terminal.
std::string first_sentences(const std::string& s);
// Where the rule stands, and how many of its lines are not shown.
std::string more_words(const ReportFinding& f, bool all);
// A rule that is not known to hold, and what would tell.
std::string may_apply_words(const ReportFinding& f);
// What excludes what, and which of the first actions must come before which, with the reason; ""
// where neither is known.
std::string order_caption(const Report& report);

}  // namespace ws
