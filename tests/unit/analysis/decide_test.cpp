// The arithmetic of losses.cpp and decide.cpp against a table made by the reference.
#include "analysis/decide.h"

#include <fstream>
#include <sstream>

#include "support/catch.h"

namespace ws {
namespace {

struct Row {
  Breakdown leaves;
  TimeNs offload_idle_ns = 0;
  std::optional<Prices> prices;
  std::string wall, both;
};

LossGroup group_from(std::string_view name) {
  for (size_t g = 0; g < kLossGroupCount; ++g)
    if (name_of(static_cast<LossGroup>(g)) == name) return static_cast<LossGroup>(g);
  FAIL("unknown group " << name);
  return LossGroup::useful;
}

Row parse(const std::string& line) {
  Row row;
  std::istringstream in(line);
  std::string word;
  for (; in >> word && word != "|";) {
    const size_t eq = word.find('=');
    const auto leaf = leaf_from(word.substr(0, eq));
    REQUIRE(leaf);
    row.leaves[*leaf] = std::stoll(word.substr(eq + 1));
  }
  for (; in >> word && word != "|";) {
    const size_t eq = word.find('='), colon = word.find(':');
    const std::string key = word.substr(0, eq);
    if (key == "offload") {
      row.offload_idle_ns = std::stoll(word.substr(eq + 1));
      continue;
    }
    if (!row.prices) row.prices.emplace();
    const Price price{std::stod(word.substr(eq + 1)), std::stod(word.substr(colon + 1))};
    if (key == "host+imbalance")
      row.prices->host_and_imbalance = price;
    else
      at(row.prices->group, group_from(key)) = price;
  }
  in >> row.wall >> row.both;
  return row;
}

std::string wall_text(const Decision& d) {
  switch (d.kind) {
    case Decision::Kind::none:
    case Decision::Kind::only_hi:
      return "none";
    case Decision::Kind::undecided:
      return "undecided";
    case Decision::Kind::mixed:
      return "mixed";
    case Decision::Kind::dominant:
    case Decision::Kind::best:
      break;
  }
  return std::string(name_of(d.best));
}

TEST_CASE("decide gives the verdicts of the reference") {
  std::ifstream in(std::string(WS_SOURCE_DIR) + "/tests/unit/analysis/walls_table.txt");
  REQUIRE(in);
  int rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const Row row = parse(line);
    const auto shares = shares_of(losses_of(row.leaves, row.offload_idle_ns), row.leaves.total(),
                                  row.leaves[Leaf::idle_unknown], row.prices);
    const Decision d = decide(shares, row.prices);
    INFO(line);
    CHECK(wall_text(d) == row.wall);
    if (row.wall == "mixed")
      CHECK(std::string(name_of(d.best)) + "+" + std::string(name_of(d.second)) == row.both);
    ++rows;
  }
  CHECK(rows == 200);
}

}  // namespace
}  // namespace ws
