// Labels become classes in the order of their values.
#include "data/classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"

namespace yoke::classes_test {

GrowingArray<int32_t> Indices(ClassLabels& classes, std::initializer_list<const char*> labels) {
  GrowingArray<int32_t> result;
  for (const char* label : labels) result.push_back(classes.Index(label));
  return result;
}

TEST(ClassLabels, CompareAsNumbersAndAreSorted) {
  ClassLabels classes(nullptr);
  GrowingArray<int32_t> numbers = Indices(classes, {"10", "+1", "-1.0", "1", "2", "1.0", "-1"});
  classes.Close(numbers);
  EXPECT_THAT(classes.names(), ::testing::ElementsAre("-1", "1", "2", "10"));
  EXPECT_THAT(numbers.span(), ::testing::ElementsAre(3, 1, 0, 1, 2, 1, 0));
  EXPECT_EQ(classes.Index("2.0"), 2);
  EXPECT_EQ(classes.Index("3"), -1);
  EXPECT_EQ(classes.Index("2"), 2);
}

TEST(ClassLabels, WholeNumbersAreExactAtAnyLength) {
  ClassLabels classes(nullptr);
  const std::string googol = "1" + std::string(100, '0'), longer = "1" + std::string(500, '0');
  GrowingArray<int32_t> numbers = Indices(
      classes, {"9007199254740993", "9007199254740992", "9007199254740993.0", "0x1", longer.c_str(),
                "1e100", googol.c_str(), "-9007199254740993", "-9007199254740992", "0.5"});
  classes.Close(numbers);
  EXPECT_THAT(classes.names(), ::testing::ElementsAre("-9007199254740993", "-9007199254740992",
                                                      "0.5", "9007199254740992", "9007199254740993",
                                                      googol, longer, "0x1"));
  EXPECT_THAT(numbers.span(), ::testing::ElementsAre(4, 3, 4, 7, 6, 5, 5, 0, 1, 2));
}

TEST(ClassLabels, FindsThoseOfAnEarlierCheckpoint) {
  const DataInfo like{.label_names = {"1e+16", "2"}};
  EXPECT_EQ(ClassLabels(&like).Index("10000000000000000"), 0);
}

TEST(ClassLabels, TextsComeBehindNumbers) {
  ClassLabels classes(nullptr);
  GrowingArray<int32_t> numbers = Indices(classes, {"dog", "cat", "7"});
  classes.Close(numbers);
  EXPECT_THAT(classes.names(), ::testing::ElementsAre("7", "cat", "dog"));
  EXPECT_THAT(numbers.span(), ::testing::ElementsAre(2, 1, 0));
}

TEST(ClassLabels, AreUtf8) {
  ClassLabels classes(nullptr);
  EXPECT_EQ(classes.Index("caf\xC3\xA9"), 0);
  EXPECT_THROW(classes.Index("caf\xE9"), UserError);
}

TEST(ClassLabels, ThoseOfAModelStay) {
  const DataInfo like{.label_names = {"b", "a"}};
  ClassLabels classes(&like);
  EXPECT_EQ(classes.Index("a"), 1);
  EXPECT_EQ(classes.Index("c"), -1);
  GrowingArray<int32_t> none;
  classes.Close(none);
  EXPECT_EQ(classes.Index("b"), 0);
  EXPECT_EQ(classes.Known(), "b, a");
}

}  // namespace yoke::classes_test
