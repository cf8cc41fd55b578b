// CSV: where the class stands, names in the first line, quotes, texts as classes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/support/memory_files.h"

namespace yoke::testing_support::csv_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Csv, ReadsNumbersAndTheClassInTheLastColumn) {
  for (const char* text : {"1,2.5,7\n-3,4e1,5\n", "a,b,class\n1,2.5,7\n-3,4e1,5",
                           " 1 , 2.5,7.0\r\n-3,40,5\r\n\r\n", "\"1\",\"2.5\",\"7\"\n-3,40,5\n"}) {
    const LoadedData data = LoadMemory(TrainCase("csv", text));
    EXPECT_EQ(data.info.input, (Shape{2}));
    ASSERT_EQ(data.train.size, 2) << text;
    EXPECT_THAT(data.train.numbers.span(), ElementsAre(1, 2.5, -3, 40));
    EXPECT_THAT(data.info.label_names, ElementsAre("5", "7"));
    EXPECT_THAT(data.train.classes.span(), ElementsAre(1, 0));
  }
}

TEST(Csv, FindsTheClassWhereItIsTold) {
  const std::string text = "cat;1;2\ndog;3;4\n";
  const LoadedData data = LoadMemory(TrainCase("csv", text, {{"label", 0}, {"delimiter", ";"}}));
  EXPECT_THAT(data.info.label_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(data.train.numbers.span(), ElementsAre(1, 2, 3, 4));
  const LoadedData other = LoadMemory(TrainCase("csv", "1,x,2\n", {{"label", -2}}));
  EXPECT_THAT(other.info.label_names, ElementsAre("x"));
}

TEST(Csv, CanBeToldAboutTheFirstLine) {
  EXPECT_EQ(LoadMemory(TrainCase("csv", "1,2\n3,4\n", {{"header", "yes"}})).train.size, 1);
  EXPECT_THAT(LoadError(TrainCase("csv", "a,b\n3,4\n", {{"header", "no"}})),
              HasSubstr("train:1: column 0"));
}

TEST(Csv, ReadsQuotedCells) {
  const LoadedData data = LoadMemory(TrainCase("csv", "1,\"a, \"\"b\"\"\"\n2,\"\"\"\"\n"));
  EXPECT_THAT(data.info.label_names, ElementsAre("\"", "a, \"b\""));
}

TEST(Csv, NeedsNoClassToPredict) {
  const DataInfo like{.input = {2}, .outputs = 2, .label_names = {"5", "7"}};
  LoadCase load{.format = "csv",
                .content = {{"test", "1,2\n3,4\n"}},
                .files = {.test = {"test"}, .like = &like, .labels_optional = true}};
  const LoadedData data = LoadMemory(load);
  EXPECT_FALSE(data.info.labelled);
  EXPECT_THAT(data.test.numbers.span(), ElementsAre(1, 2, 3, 4));
  load.content["test"] = "1,2,7\n";
  EXPECT_TRUE(LoadMemory(load).info.labelled);
  load.content["test"] = "1,2,3,7\n";
  EXPECT_THAT(LoadError(load), HasSubstr("test:1: 3 columns besides the label; expected 2"));
}

}  // namespace yoke::testing_support::csv_test
