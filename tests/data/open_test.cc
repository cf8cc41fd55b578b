// [data] as a whole: shares, widths, normalization, and reading other files as the job's would be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "base/check.h"
#include "base/thread.h"
#include "data/reader.h"
#include "data/support/archives.h"
#include "data/support/binary_files.h"

namespace yoke::open_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// `rows` lines "i,0,i % 2": the first feature says which row it is.
std::string Rows(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) text += fmt::format("{},0,{}\n", i, i % 2);
  return text;
}

// All values of a feature in a reader.
std::vector<float> Column(const Reader& reader, int64_t column) {
  std::vector<int64_t> all(static_cast<size_t>(reader.Size()));
  std::iota(all.begin(), all.end(), 0);
  Batch batch;
  reader.Read({.examples = all}, batch);
  std::vector<float> values;
  for (int64_t i = 0; i < batch.size; ++i)
    values.push_back(batch.dense.As<float>()[i * reader.Info().input[0] + column]);
  return values;
}

class Open : public ::testing::Test {
 protected:
  Table Section(const std::string& text, const Table& more = {}) const {
    Table section = {{"format", "csv"}, {"train", folder_.Write("train.csv", text)}};
    section.insert(section.end(), more.begin(), more.end());
    return section;
  }
  std::string Error(const Table& section) const {
    try {
      OpenData(section, 1);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  testing_support::TestFolder folder_;
};

TEST_F(Open, AFormatOfFilesNeedsThem) {
  const Value section = ParseToml("\nformat = 'csv'", "job.toml");
  EXPECT_EQ(Error(*section.AsTable()),
            "job.toml:2: data.format: format 'csv' reads files; expected data.train, the training "
            "file or files");
}

TEST_F(Open, SplitsSharesBySeed) {
  const Table section = Section(Rows(100), {{"test_share", 0.2}, {"validation_share", 0.25}});
  const DataSets data = OpenData(section, 7);
  EXPECT_EQ(data.test->Size(), 20);
  EXPECT_EQ(data.validation->Size(), 20);
  EXPECT_EQ(data.train->Size(), 60);
  std::set<float> seen;
  for (const Reader* reader : {data.train.get(), data.validation.get(), data.test.get()})
    for (const float x : Column(*reader, 0)) seen.insert(x);
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(Column(*OpenData(section, 7).test, 0), Column(*data.test, 0));
  EXPECT_NE(Column(*OpenData(section, 8).test, 0), Column(*data.test, 0));
  const auto again = OpenLike(section, {.like = data.train->Info(), .seed = 7});
  EXPECT_EQ(Column(*again, 0), Column(*data.test, 0));
}

TEST_F(Open, MeasuresTheTrainingShareOnly) {
  const DataSets data =
      OpenData(Section(Rows(100), {{"test_share", 0.5}, {"normalize", "standard"}}), 3);
  double sum = 0, squares = 0;
  for (const float x : Column(*data.train, 0)) sum += x, squares += double{x} * x;
  EXPECT_NEAR(sum / 50, 0, 1e-5);
  EXPECT_NEAR(squares / 50, 1, 1e-5);
  EXPECT_EQ(Column(*data.train, 1), std::vector<float>(50, 0));  // does not vary: deviation 1
  EXPECT_EQ(data.test->Info().normalization.mean, data.train->Info().normalization.mean);
}

// Mean and standard deviation of a column as the model sees it.
void ExpectStandard(const Reader& reader, int64_t column) {
  double sum = 0, squares = 0;
  for (const float x : Column(reader, column)) sum += x, squares += double{x} * x;
  EXPECT_NEAR(sum / static_cast<double>(reader.Size()), 0, 1e-3) << column;
  EXPECT_NEAR(squares / static_cast<double>(reader.Size()), 1, 1e-3) << column;
}

TEST_F(Open, StandardizesTheNumbersOfTables) {
  std::string text = "size,colour,gap,kind\n";
  for (int i = 0; i < 90; ++i)
    text += fmt::format("{},{},{},{}\n", 1000 * i, i % 3 == 0 ? "red" : "blue",
                        i % 4 == 0 ? "" : fmt::format("{}", 0.001 * i), i % 2 == 0 ? "a" : "b");
  const DataSets data = OpenData(Section(text), 1);  // size, blue, red, gap, gap's indicator
  ASSERT_EQ(data.train->Info().input, (Shape{5}));
  ExpectStandard(*data.train, 0);
  ExpectStandard(*data.train, 3);
  for (const int64_t column : {1, 2, 4})
    for (const float x : Column(*data.train, column)) EXPECT_TRUE(x == 0 || x == 1) << column;
  const DataSets raw = OpenData(Section(text, {{"normalize", "none"}}), 1);
  EXPECT_EQ(Column(*raw.train, 0)[2], 2000);
  const DataSets told = OpenData(Section(text, {{"deviation", List{1000}}}), 1);
  EXPECT_EQ(Column(*told.train, 0)[2], 2);
}

TEST_F(Open, NamesParquetFiles) {
  EXPECT_THAT(Error({{"format", "libsvm"}, {"train", "/x.parquet"}}),
              HasSubstr("/x.parquet: a Parquet file; expected format = \"parquet\""));
}

TEST_F(Open, ScalesInDoubleWhatF32CannotTellApart) {
  std::string text;
  for (int i = 0; i < 100; ++i)  // times in ns, ids, near 5, denormals, plain, constants
    text += fmt::format("{},{},{:.9f},{}e-43,{},0.1,1,{}\n", 1700000000000000000 + i * 1000000,
                        123456789 + i % 7, 5 + 1e-7 * (i % 9), i + 1, 0.5 * (i % 5), i % 2);
  const Table section = Section(text, {{"normalize", "standard"}, {"test_share", 0.2}});
  const uint32_t before = FlushDenormals();  // as the program does
  const DataSets data = OpenData(section, 1);
  ComputeAs(before);
  EXPECT_THAT(data.notes, ElementsAre("label: 2 classes"));
  for (int64_t column = 0; column < 5; ++column) ExpectStandard(*data.train, column);
  for (int64_t column = 5; column < 7; ++column)
    for (const float x : Column(*data.train, column)) EXPECT_NEAR(x, 0, 1e-6);
  EXPECT_NEAR(data.train->Info().normalization.mean[1], 123456792, 1);
  const DataInfo info = InfoFromValue(InfoAsValue(data.train->Info()));
  EXPECT_EQ(Column(*OpenLike(section, {.like = info}), 0), Column(*data.test, 0));
  EXPECT_EQ(Column(*OpenLike(section, {.like = info}), 4), Column(*data.test, 4));
}

TEST_F(Open, ScalesIdxNumbersInDoubleToo) {
  std::string numbers, labels;
  for (int i = 0; i < 40; ++i) {
    const int number = 1000000000 + i % 4;  // i32: 64 apart in f32
    for (int shift = 24; shift >= 0; shift -= 8) numbers += static_cast<char>(number >> shift);
    labels += static_cast<char>(i % 2);
  }
  const Table section = {
      {"format", "idx"},
      {"train", List{folder_.Write("x", testing_support::Idx(0x0C, {40, 1}, numbers)),
                     folder_.Write("y", testing_support::Idx(8, {40}, labels))}},
      {"normalize", "standard"}};
  ExpectStandard(*OpenData(section, 1).train, 0);
}

TEST_F(Open, ShiftsAndScalesAsTold) {
  const Table section = Section("3,9,0\n5,9,1\n", {{"mean", List{1, 9}}, {"deviation", List{2}}});
  const DataSets data = OpenData(section, 1);
  EXPECT_THAT(Column(*data.train, 0), ElementsAre(1, 2));
  EXPECT_THAT(Column(*data.train, 1), ElementsAre(0, 0));
  const auto other =
      OpenLike(section, {.paths = {folder_.Write("x.csv", "7,9,1\n")}, .like = data.train->Info()});
  EXPECT_THAT(Column(*other, 0), ElementsAre(3));
}

TEST_F(Open, KeepsDataInAFileBeyondTheMemoryLimit) {
  const DataSets data =
      OpenData(Section(Rows(1000), {{"memory_limit", 0}, {"normalize", "none"}}), 1);
  std::vector<float> expected(1000);
  std::iota(expected.begin(), expected.end(), 0.0F);
  EXPECT_EQ(Column(*data.train, 0), expected);
}

TEST_F(Open, SaysWhatDoesNotFit) {
  EXPECT_THAT(Error(Section(Rows(9), {{"features", 3}})),
              HasSubstr("2 columns besides the label; expected 3"));
  EXPECT_THAT(Error(Section(Rows(9), {{"mean", List{1, 2, 3}}})),
              HasSubstr("data.mean: 3 numbers; expected 1 or 2"));
  EXPECT_THAT(Error(Section(Rows(9), {{"deviation", List{0}}})), HasSubstr("data.deviation"));
  EXPECT_THAT(Error(Section(Rows(9), {{"test", "x.csv"}, {"test_share", 0.5}})),
              HasSubstr("data.test_share"));
  EXPECT_THAT(Error(Section(Rows(9), {{"test_share", 1.5}})), HasSubstr("data.test_share"));
  EXPECT_THAT(Error(Section(Rows(2), {{"test_share", 0.95}})),
              HasSubstr("no training example is left"));
  EXPECT_THAT(Error(Section(Rows(9), {{"delimitr", ";"}})), HasSubstr("did you mean 'delimiter'"));
  EXPECT_THAT(Error({{"format", "csw"}}), HasSubstr("did you mean 'csv'"));
  EXPECT_THAT(Error({{"format", "csv"}}), HasSubstr("data.train"));
  EXPECT_THAT(Error({}), HasSubstr("data.format"));
}

TEST_F(Open, RefusesToShiftSparseData) {
  const std::string path = folder_.Write("train.svm", "1 1:1\n2 2:1\n");
  EXPECT_THAT(Error({{"format", "libsvm"}, {"train", path}, {"normalize", "standard"}}),
              HasSubstr("sparse"));
  EXPECT_THAT(Error({{"format", "libsvm"}, {"train", path}, {"mean", List{1}}}),
              HasSubstr("sparse"));
}

TEST_F(Open, RefusesMeasurementsAsClasses) {
  std::string text;
  for (int i = 0; i < 1500; ++i) text += fmt::format("1,{}.5\n", i);
  EXPECT_THAT(Error(Section(text, {{"task", "classes"}})),
              HasSubstr("1500 different labels in 1500 examples"));
  EXPECT_TRUE(OpenData(Section(text), 1).train->Info().regression);
}

TEST_F(Open, RefusesOneClassButReadsItLikeOthers) {
  EXPECT_THAT(Error(Section("1,2,7\n3,4,7\n")), HasSubstr("all examples are of one class, '7'"));
  const std::string path = folder_.Write("one.svm", "1 1:1\n1 2:1\n");
  EXPECT_THAT(Error({{"format", "libsvm"}, {"train", path}}), HasSubstr("of one class, '1'"));
  const DataSets data = OpenData(Section(Rows(9)), 1);
  const std::string one = folder_.Write("one.csv", "1,2,0\n");
  EXPECT_EQ(OpenLike(Section(Rows(9)), {.paths = {one}, .like = data.train->Info()})->Size(), 1);
}

TEST_F(Open, SharesTakeEveryClassAlike) {
  std::string text;  // nine of ten are of class 0
  for (int i = 0; i < 100; ++i) text += fmt::format("{},0,{}\n", i, i % 10 == 0);
  const Table section = Section(text, {{"test_share", 0.2}, {"stratify", true}});
  for (const uint64_t seed : {1, 2}) {
    const DataSets data = OpenData(section, seed);
    Batch batch;
    std::vector<int64_t> all(20);
    std::iota(all.begin(), all.end(), 0);
    data.test->Read({.examples = all}, batch);
    EXPECT_EQ(std::ranges::count(batch.classes, 1), 2);
    EXPECT_EQ(Column(*OpenLike(section, {.like = data.train->Info(), .seed = seed}), 0),
              Column(*data.test, 0));
  }
  const Table fixed = Section(text, {{"test_share", 0.2}, {"split_seed", 5}});
  EXPECT_EQ(Column(*OpenData(fixed, 1).test, 0), Column(*OpenData(fixed, 2).test, 0));
  EXPECT_THAT(Error(Section(text, {{"stratify", true}})), HasSubstr("data.stratify has no effect"));
}

TEST_F(Open, ReadsValidationFilesLikeTheTrainingData) {
  const std::string more = folder_.Write("more.csv", "7,9,1\n8,9,0\n");
  const DataSets data =
      OpenData(Section(Rows(9), {{"validation", more}, {"normalize", "standard"}}), 1);
  EXPECT_EQ(data.train->Size(), 9);
  ASSERT_EQ(data.validation->Size(), 2);
  EXPECT_EQ(data.validation->Info().normalization.mean, data.train->Info().normalization.mean);
  EXPECT_THAT(Error(Section(Rows(9), {{"validation", more}, {"validation_share", 0.5}})),
              HasSubstr("data.validation_share"));
}

TEST_F(Open, KeepsNotesOfValidationFiles) {
  const std::string more = folder_.Write("more.csv", "1700000007,9,1\n1700000008,9,0\n");
  std::string text = "time,b,c\n";  // the times are read twice, to scale them in double
  for (int i = 0; i < 9; ++i) text += fmt::format("{},0,{}\n", 1700000000 + i, i % 2);
  const DataSets data =
      OpenData(Section(text, {{"validation", more}, {"normalize", "standard"}}), 1);
  EXPECT_THAT(data.notes, ElementsAre("label: 2 classes", HasSubstr("more.csv: no header")));
  EXPECT_NEAR(Column(*data.validation, 0)[0], 3 / std::sqrt(60.0 / 9), 1e-4);
}

TEST_F(Open, SplitsSyntheticDataAgain) {
  Table section = {{"format", "synthetic-xmc"}, {"train_size", 50}, {"test_size", 7}};
  const DataInfo info = OpenData(section, 1).train->Info();
  EXPECT_EQ(OpenLike(section, {.like = info})->Size(), 7);
  section.emplace_back("test_share", 0.2);
  EXPECT_THAT(Error(section), HasSubstr("data.test_share"));
  section[2].second = 0;
  EXPECT_EQ(OpenData(section, 1).test->Size(), 10);
  EXPECT_EQ(OpenLike(section, {.like = info})->Size(), 10);
}

TEST_F(Open, AugmentsImagesOnly) {
  const Table augment = {{"augment", Table{{"flip", true}}}};
  EXPECT_THAT(Error(Section(Rows(9), augment)), HasSubstr("only images can be augmented"));
}

TEST_F(Open, LikeRefusesAnotherShape) {
  const DataSets data = OpenData(Section(Rows(9)), 1);
  EXPECT_FALSE(data.test);
  EXPECT_FALSE(data.validation);
  EXPECT_THROW(OpenLike(Section(Rows(9)), {.like = data.train->Info()}), UserError);
  EXPECT_THROW(OpenLike(Section(Rows(9)),
                        {.paths = {folder_.Write("x", "1,2,3,0\n")}, .like = data.train->Info()}),
               UserError);
}

}  // namespace yoke::open_test
