#include "model/rare_column.h"

#include "support/catch.h"

namespace ws {

TEST_CASE("a rare column answers for all rows and holds nothing until it must") {
  RareColumn<int, 7> column;
  column.add(0, 7);
  column.add(1, 7);
  CHECK(column.values().empty());
  CHECK(column[1] == 7);
  column.add(2, 3);
  column.add(3, 7);
  CHECK(column.values() == std::vector<int>{7, 7, 3, 7});
  CHECK(column[2] == 3);
}

TEST_CASE("a rare column may begin with the other value") {
  RareColumn<int, 0> column;
  column.add(0, 5);
  column.add(1, 0);
  CHECK(column.values() == std::vector<int>{5, 0});
}

}  // namespace ws
