#include "report/phrases.h"

#include <set>

#include "analysis/phrases.h"
#include "analysis/what_if.h"

#include "facts/fact_db.h"
#include "model/names.h"
#include "report/numbers.h"
#include "support/catch.h"

using namespace ws;

TEST_CASE("the leaves of the report are the leaves of the partition, in its order") {
  REQUIRE(leaf_phrases().size() == kLeafCount);
  for (size_t i = 0; i < kLeafCount; ++i) CHECK(leaf_phrases()[i].leaf == name_of(leaf_at(i)));
  CHECK(phrase_of_leaf("comm.pp.wait")->group == WhereGroup::bubble);
  CHECK(phrase_of_leaf("nothing") == nullptr);
}

TEST_CASE("every value of the fact schema that the report speaks of has words") {
  const struct {
    const char *table, *column;
    std::string_view (*phrase)(std::string_view);
  } rows[] = {{"fact_run", "cause", phrase_of_cause},
              {"fact_run", "wall", phrase_of_wall},
              {"fact_run", "loss", phrase_of_loss},
              {"fact_run", "step_origin", phrase_of_origin},
              {"fact_run", "framework", phrase_of_framework},
              {"fact_idle", "cause", phrase_of_idle},
              {"fact_note", "severity", phrase_of_severity},
              {"fact_kernel_class", "class", phrase_of_class}};
  for (const auto& row : rows) {
    size_t seen = 0;
    for (const FactColumn& c : facts_columns()) {
      if (c.table != row.table || c.column != row.column) continue;
      for (const std::string& value : c.allowed) {
        INFO(row.table << "." << row.column << " " << value);
        // A word of its own: the lookup gives the id back when there is none.
        CHECK((row.phrase(value).data() != value.data()));
        ++seen;
      }
    }
    CHECK(seen > 0);
  }
  CHECK(phrase_of_cause("later_cause") == "later_cause");
}

TEST_CASE("the verdict's sentences and the headline call a cause by the same words") {
  for (size_t i = 0; i < kCauseCount; ++i) {
    const auto cause = static_cast<Cause>(i);
    CHECK(words_of(cause) == phrase_of_cause(name_of(cause)));
  }
  for (size_t i = 0; i < kLossGroupCount; ++i) {
    const auto loss = static_cast<LossGroup>(i);
    CHECK(words_of(loss) == phrase_of_loss(name_of(loss)));
  }
  CHECK(words_of(CollectiveOp::reduce_scatter) == "reduce-scatter");
}

TEST_CASE("every change that can be re-simulated has words, and no two the same") {
  std::vector<std::string_view> ids = replayed_ids();
  ids.push_back("bubble_halved");
  std::set<std::string_view> seen;
  for (const std::string_view id : ids) {
    INFO(id);
    CHECK(phrase_of_change(id).find('_') == std::string_view::npos);
    CHECK(seen.insert(phrase_of_change(id)).second);
  }
}

TEST_CASE("sentences and tables round alike") {
  CHECK(percent(0.0625) == percent_text(0.0625));  // a tie
  CHECK(percent(-0.0125) == percent_text(-0.0125));
  CHECK(duration(12'250'000) == duration_text(12'250'000));
  CHECK(duration(12'250'000) == "12.3 ms");
  CHECK(duration(999) == "999 ns");
  CHECK(duration(1'999'994'999) == "2.00 s");
}
