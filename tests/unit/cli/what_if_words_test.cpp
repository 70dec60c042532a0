#include "cli/what_if_words.h"

#include "analysis/price_run.h"
#include "support/catch.h"

using namespace ws;
using namespace ws::cli;

TEST_CASE("every change has words, in the order of the ids") {
  std::vector<std::string_view> told;
  for (const WhatIfWords& w : what_if_words()) {
    told.push_back(w.id);
    CHECK(!w.words.empty());
    CHECK(what_if_help().find(std::string(w.words)) != std::string::npos);
  }
  CHECK(told == what_if_ids());
}
