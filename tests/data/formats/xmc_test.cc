// XMC text: label sets, rows without labels or features, and the header's promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/support/memory_files.h"

namespace yoke::testing_support::xmc_test {

using ::testing::HasSubstr;

TEST(Xmc, ReadsLabelSetsAndRows) {
  for (const char* text :
       {"4 6 5\n3,1 0:1 5:0.5\n 2:1\n4\n\n", "4 6 5\r\n3,1 0:1 5:0.5\r\n 2:1\r\n4\r\n\r\n\r\n",
        "4 6 5 \n3,1 5:0.5 0:1\n 2:1\n4 \n \n"}) {
    const LoadedData data = LoadMemory(TrainCase("xmc", text));
    EXPECT_EQ(data.info.input, (Shape{6}));
    EXPECT_EQ(data.info.outputs, 5);
    EXPECT_TRUE(data.info.multi_label);
    ASSERT_EQ(data.train.size, 4) << text;
    EXPECT_EQ(RowText(data.train.labels, 0), "1:1 3:1");
    EXPECT_EQ(RowText(data.train.sparse, 0), "0:1 5:0.5");
    EXPECT_EQ(RowText(data.train.labels, 1), "");
    EXPECT_EQ(RowText(data.train.sparse, 1), "2:1");
    EXPECT_EQ(RowText(data.train.labels, 2), "4:1");
    EXPECT_EQ(RowText(data.train.sparse, 2), "");
    EXPECT_EQ(RowText(data.train.sparse, 3), "");
    EXPECT_TRUE(data.train.labels.values.empty());
  }
}

TEST(Xmc, TakesTheLargestWidthsOfAllFiles) {
  LoadCase load = TrainCase("xmc", "1 6 5\n1 0:1\n");
  load.content["test"] = "1 7 9\n8 6:1\n";
  load.files.test = {"test"};
  const LoadedData data = LoadMemory(load);
  EXPECT_EQ(data.info.input, (Shape{7}));
  EXPECT_EQ(data.info.outputs, 9);
}

TEST(Xmc, KeepsToTheWidthsOfAModel) {
  const DataInfo like{.input = {6}, .sparse = true, .multi_label = true, .outputs = 5};
  LoadCase load{.format = "xmc",
                .content = {{"test", "1 7 9\n4 5:1\n"}},
                .files = {.test = {"test"}, .like = &like}};
  EXPECT_EQ(LoadMemory(load).info.input, (Shape{6}));
  load.content["test"] = "1 7 9\n5 5:1\n";
  EXPECT_THAT(LoadError(load), HasSubstr("test:2: label 5 is outside"));
  load.content["test"] = "1 7 9\n4 6:1\n";
  EXPECT_THAT(LoadError(load), HasSubstr("test:2: feature 6 is outside"));
}

}  // namespace yoke::testing_support::xmc_test
