// Columns are found by their names or by their places.
#include "data/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace yoke::columns_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Columns, AreFoundByName) {
  const ColumnMatch match = MatchByName({"c", "id", "b", "a"}, {"a", "b"}, {"c"});
  EXPECT_THAT(match.feature, ElementsAre(-1, -1, 1, 0));
  EXPECT_THAT(match.labels, ElementsAre(0));
  EXPECT_THAT(match.left_out, ElementsAre("id"));
  EXPECT_THAT(match.missing, IsEmpty());
}

TEST(Columns, ThatAreMissingAreNamed) {
  const ColumnMatch match = MatchByName({"b"}, {"a", "b"}, {"c"});
  EXPECT_THAT(match.missing, ElementsAre("a"));
  EXPECT_FALSE(match.HasLabels());
}

TEST(Columns, MayBeNamedByCounting) {
  EXPECT_TRUE(AreCountedNames({"0", "1", "target"}, 2));
  EXPECT_TRUE(AreCountedNames({"", "0", "1", "target"}, 3));
  EXPECT_TRUE(AreCountedNames({"class", "1", "2"}, 0));
  EXPECT_TRUE(AreCountedNames({"0", "1", "2"}, 2));
  EXPECT_TRUE(AreCountedNames({"0", "target"}, 1));
  EXPECT_FALSE(AreCountedNames({"0", "1"}, 1));
  EXPECT_FALSE(AreCountedNames({"2", "3", "target"}, 2));
  EXPECT_FALSE(AreCountedNames({"0", "2", "target"}, 2));
  EXPECT_FALSE(AreCountedNames({"x", "y", "target"}, 2));
  EXPECT_FALSE(AreCountedNames({"0", "", "target"}, 2));
}

TEST(Columns, AreListedUpToADozen) {
  EXPECT_EQ(ListOfNames({"a", "b"}), "'a', 'b'");
  EXPECT_THAT(ListOfNames(std::vector<std::string>(20, "x")),
              ::testing::EndsWith("'x', ... (20 in all)"));
}

}  // namespace yoke::columns_test
