// LIBSVM text: counting from 0 and 1, widths over all files, empty rows, odd but valid writing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/support/memory_files.h"

namespace yoke::testing_support::libsvm_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LoadCase Pair(const std::string& train, const std::string& test, Table options = {}) {
  LoadCase load = TrainCase("libsvm", train, std::move(options));
  load.content["test"] = test;
  load.files.test = {"test"};
  return load;
}

TEST(Libsvm, ReadsRowsAndClasses) {
  const LoadedData data =
      LoadMemory(TrainCase("libsvm", "-1.0 1:0.5 3:-2\n+1\n1 2:1e-3 \n-1 3:4\n"));
  EXPECT_THAT(data.info.label_names, ElementsAre("-1", "1"));
  EXPECT_EQ(data.info.input, (Shape{3}));
  EXPECT_EQ(data.info.first_index, 1);
  EXPECT_TRUE(data.info.sparse);
  EXPECT_THAT(data.train.classes.span(), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(RowText(data.train.sparse, 0), "0:0.5 2:-2");
  EXPECT_EQ(RowText(data.train.sparse, 1), "");
  EXPECT_EQ(RowText(data.train.sparse, 2), "1:0.001");
}

TEST(Libsvm, GivesTheSameDataWhateverTheLineEnds) {
  for (const char* text :
       {"-1 1:1\n1 2:2\n", "-1 1:1\r\n1 2:2\r\n", "-1 1:1\n1 2:2", "-1 1:1\n1 2:2\n\n\r\n \n",
        "  -1\t1:1\n1  2:+2 ", "\xEF\xBB\xBF-1 1:1\n1 2:2\n"})
    for (const size_t piece : {size_t{1}, size_t{5}, size_t{1000}}) {
      LoadCase load = TrainCase("libsvm", text);
      load.piece = piece;
      const LoadedData data = LoadMemory(load);
      ASSERT_EQ(data.train.size, 2) << text;
      EXPECT_EQ(RowText(data.train.sparse, 0), "0:1");
      EXPECT_EQ(RowText(data.train.sparse, 1), "1:2");
      EXPECT_THAT(data.train.classes.span(), ElementsAre(0, 1));
    }
}

TEST(Libsvm, CutsComments) {
  const LoadedData data =
      LoadMemory(TrainCase("libsvm", "# written by hand\n-1 1:1 # one\n1 2:2#two: 3\n# end\n"));
  ASSERT_EQ(data.train.size, 2);
  EXPECT_EQ(RowText(data.train.sparse, 0), "0:1");
  EXPECT_EQ(RowText(data.train.sparse, 1), "1:2");
  EXPECT_THAT(LoadError(TrainCase("libsvm", "1 qid:3 1:1\n")), HasSubstr("not supported"));
}

TEST(Libsvm, CountsFromZeroWhereAnyFileHoldsAZero) {
  const LoadedData data = LoadMemory(Pair("1 1:1 3:1\n2 2:1\n", "1 0:5\n"));
  EXPECT_EQ(data.info.first_index, 0);
  EXPECT_EQ(data.info.input, (Shape{4}));
  EXPECT_EQ(RowText(data.train.sparse, 0), "1:1 3:1");
  EXPECT_EQ(RowText(data.test.sparse, 0), "0:5");
  EXPECT_EQ(LoadMemory(TrainCase("libsvm", "1 1:1\n", {{"first_index", 0}})).info.input,
            (Shape{2}));
  EXPECT_THAT(LoadError(Pair("1 1:1\n", "1 0:5\n", {{"first_index", 1}})),
              HasSubstr("test:1: feature 0"));
}

TEST(Libsvm, WidthIsTheLargestOfAllFilesUnlessTold) {
  EXPECT_EQ(LoadMemory(Pair("1 3:1\n", "1 9:1\n")).info.input, (Shape{9}));
  EXPECT_EQ(LoadMemory(Pair("1 3:1\n", "1 9:1\n", {{"features", 20}})).info.input, (Shape{20}));
  EXPECT_THAT(LoadError(Pair("1 3:1\n", "1 2:1\n1 9:1\n", {{"features", 8}})),
              HasSubstr("test:2: feature 9 is outside; expected 8 features"));
  // Nobody knows yet from where they count when the largest id comes; it is still found out.
  EXPECT_THAT(LoadError(Pair("1 8:1\n", "1 0:1\n", {{"features", 8}})),
              HasSubstr("train:1: feature 8 is outside"));
}

TEST(Libsvm, SortsFeaturesOfARow) {
  EXPECT_EQ(RowText(LoadMemory(TrainCase("libsvm", "1 3:3 1:1\n")).train.sparse, 0), "0:1 2:3");
}

TEST(Libsvm, KeepsToTheClassesAndFeaturesOfAModel) {
  const DataInfo like{
      .input = {3}, .sparse = true, .outputs = 2, .label_names = {"-1", "1"}, .first_index = 1};
  LoadCase load = Pair("", "+1 3:1\n");
  load.files = {.test = {"test"}, .like = &like};
  EXPECT_EQ(LoadMemory(load).info.input, (Shape{3}));
  EXPECT_THAT(LoadMemory(load).test.classes.span(), ElementsAre(1));
  load.content["test"] = "+1 4:1\n";
  EXPECT_THAT(LoadError(load),
              HasSubstr("test:1: feature 4 is outside; expected 3 features, counted from 1"));
  load.content["test"] = "2 1:1\n";
  EXPECT_THAT(LoadError(load),
              HasSubstr("test:1: the label '2' is none of the training classes: -1, 1"));
  load.files.labels_optional = true;
  EXPECT_FALSE(LoadMemory(load).info.labelled);
  load.content["test"] = "1:1 2:1\n3:1\n";
  const LoadedData data = LoadMemory(load);
  EXPECT_FALSE(data.info.labelled);
  EXPECT_EQ(RowText(data.test.sparse, 0), "0:1 1:1");
}

}  // namespace yoke::testing_support::libsvm_test
