// CSV: where the class stands, names in the first line, quotes, texts as classes.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/check.h"
#include "data/support/memory_files.h"

namespace yoke::testing_support::csv_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Csv, ReadsNumbersAndTheClassInTheLastColumn) {
  for (const char* text : {"1,2.5,7\n-3,4e1,5\n", "a,b,class\n1,2.5,7\n-3,4e1,5",
                           " 1 , 2.5,7.0\r\n-3,40,5\r\n\r\n", "\"1\",\"2.5\",\"7\"\n-3,40,5\n"}) {
    const LoadedData data = LoadMemory(TrainCase("csv", text));
    EXPECT_EQ(data.info.input, (Shape{2}));
    ASSERT_EQ(data.train.size, 2) << text;
    EXPECT_THAT(data.train.floats.span(), ElementsAre(1, 2.5, -3, 40));
    EXPECT_THAT(data.info.label_names, ElementsAre("5", "7"));
    EXPECT_THAT(data.train.classes.span(), ElementsAre(1, 0));
  }
}

TEST(Csv, FindsTheClassWhereItIsTold) {
  const std::string text = "cat;1;2\ndog;3;4\n";
  const LoadedData data = LoadMemory(TrainCase("csv", text, {{"label", 0}, {"delimiter", ";"}}));
  EXPECT_THAT(data.info.label_names, ElementsAre("cat", "dog"));
  EXPECT_THAT(data.train.floats.span(), ElementsAre(1, 2, 3, 4));
  const LoadedData other = LoadMemory(TrainCase("csv", "1,x,2\n", {{"label", -2}}));
  EXPECT_THAT(other.info.label_names, ElementsAre("x"));
}

TEST(Csv, CanBeToldAboutTheFirstLine) {
  EXPECT_EQ(LoadMemory(TrainCase("csv", "1,2\n3,4\n", {{"header", "yes"}})).train.size, 1);
  EXPECT_THAT(LoadError(TrainCase("csv", "a,b\n3,4\n", {{"header", "no"}})),
              HasSubstr("train:2: column 0: got the number '3' below a text"));
}

TEST(Csv, ReadsQuotedCells) {
  const LoadedData data = LoadMemory(TrainCase("csv", "1,\"a, \"\"b\"\"\"\n2,\"\"\"\"\n"));
  EXPECT_THAT(data.info.label_names, ElementsAre("\"", "a, \"b\""));
}

TEST(Csv, DoubtsTheDelimiterOfOneColumnUnlessItIsQuoted) {
  const DataInfo like{
      .input = {2}, .outputs = 2, .label_names = {"5", "7"}, .encodings = {{{"a;b", "c, d"}}}};
  LoadCase load{.format = "csv",
                .options = {{"header", "no"}},
                .content = {{"test", "\"a;b\"\n\"c, d\"\n"}},
                .files = {.test = {"test"}, .like = &like, .labels_optional = true}};
  EXPECT_THAT(LoadMemory(load).test.floats.span(), ElementsAre(1, 0, 0, 1));
  load.content["test"] = "a;b\nc\n";
  EXPECT_THAT(LoadError(load), HasSubstr("data.delimiter = \";\" divides it"));
}

TEST(Csv, NeedsNoClassToPredict) {
  const DataInfo like{.input = {2}, .outputs = 2, .label_names = {"5", "7"}};
  LoadCase load{.format = "csv",
                .content = {{"test", "1,2\n3,4\n"}},
                .files = {.test = {"test"}, .like = &like, .labels_optional = true}};
  const LoadedData data = LoadMemory(load);
  EXPECT_FALSE(data.info.labelled);
  EXPECT_THAT(data.test.floats.span(), ElementsAre(1, 2, 3, 4));
  load.content["test"] = "1,2,7\n";
  EXPECT_TRUE(LoadMemory(load).info.labelled);
  load.content["test"] = "1,2,3,7\n";
  EXPECT_THAT(LoadError(load), HasSubstr("test:1: 3 columns besides the label; expected 2"));
}

// The files of a model that was trained on columns a, b and the class c.
LoadCase LikeNamed(const DataInfo& like, const std::string& text) {
  return {.format = "csv", .content = {{"test", text}}, .files = {.test = {"test"}, .like = &like}};
}

const DataInfo kNamed{.input = {2},
                      .outputs = 2,
                      .label_names = {"5", "7"},
                      .columns = {"a", "b"},
                      .label_column = "c"};

TEST(Csv, MatchesColumnsByNameInAnyOrder) {
  const LoadedData trained = LoadMemory(TrainCase("csv", "a,b,c\n1,2,7\n3,4,5\n"));
  EXPECT_THAT(trained.info.columns, ElementsAre("a", "b"));
  EXPECT_EQ(trained.info.label_column, "c");
  EXPECT_THAT(trained.notes, ElementsAre("label: 2 classes"));
  const LoadedData data = LoadMemory(LikeNamed(kNamed, "b,c,a\n2,7,1\n4,5,3\n"));
  EXPECT_THAT(data.test.floats.span(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(data.test.classes.span(), ElementsAre(1, 0));
  EXPECT_THAT(data.info.columns, ElementsAre("a", "b"));
  EXPECT_THAT(data.notes, IsEmpty());
}

TEST(Csv, MatchesEveryFileOfAJobWithTheFirst) {
  const LoadedData data =
      LoadMemory({.format = "csv",
                  .content = {{"one", "a,b,c\n1,2,7\n"},
                              {"two", "c,b,a\n5,4,3\n"},
                              {"three", "5,6,7\n"},
                              {"test", "b,a,more,c\n8,7,0,5\n"}},
                  .files = {.train = {"one", "two", "three"}, .test = {"test"}}});
  EXPECT_THAT(data.train.floats.span(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(data.test.floats.span(), ElementsAre(7, 8));
  EXPECT_THAT(data.notes,
              ElementsAre(HasSubstr("three: no header"), "label: 2 classes",
                          "test: left out columns that the training data lack: 'more'"));
}

TEST(Csv, LeavesColumnsOutThatTheTrainingDataLack) {
  LoadCase load = LikeNamed(kNamed, "id,a,b\n100,1,2\n");
  load.files.labels_optional = true;
  const LoadedData data = LoadMemory(load);
  EXPECT_FALSE(data.info.labelled);
  EXPECT_THAT(data.test.floats.span(), ElementsAre(1, 2));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("lack: 'id'")));
  load.content["test"] = "id,a,b,c\nx,1,2,7\n";  // a text is no harm where nobody reads it
  EXPECT_TRUE(LoadMemory(load).info.labelled);
}

TEST(Csv, NamesTheColumnThatIsMissing) {
  EXPECT_THAT(LoadError(LikeNamed(kNamed, "a,d,c\n1,2,7\n")),
              HasSubstr("test:1: no column is named 'b'"));
  EXPECT_THAT(LoadError(LikeNamed(kNamed, "a,b,d\n1,2,7\n")),
              HasSubstr("test:1: no column is named 'c', as the class"));
  EXPECT_THAT(LoadError(LikeNamed(kNamed, "a,b,c\n1,x,7\n")),
              HasSubstr("test:2: column 1 ('b'): expected a finite number, got 'x'"));
}

TEST(Csv, SaysThatItMatchesByPlace) {
  EXPECT_THAT(LoadMemory(LikeNamed(kNamed, "1,2,7\n")).notes,
              ElementsAre(HasSubstr("test: no header")));
  EXPECT_THAT(LoadError(LikeNamed(kNamed, "0,1,2,7\n")),
              HasSubstr("test:1: 3 columns besides the label; expected 2"));
  const DataInfo unnamed{.input = {2}, .outputs = 2, .label_names = {"5", "7"}};
  const LoadedData data = LoadMemory(LikeNamed(unnamed, "x,y,z\n1,2,7\n"));
  EXPECT_THAT(data.test.floats.span(), ElementsAre(1, 2));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("its header is not compared")));
}

TEST(Csv, KeepsTheOrderOfColumnsOfOneName) {
  const LoadedData data =
      LoadMemory({.format = "csv",
                  .content = {{"train", "a,a,c\n1,2,7\n"}, {"test", "c,a,a\n7,1,2\n"}},
                  .files = {.train = {"train"}, .test = {"test"}}});
  EXPECT_THAT(data.test.floats.span(), ElementsAre(1, 2));
}

TEST(Csv, ReadsAHeaderOfNumbers) {
  for (const char* header : {"0,1,target", "1,2,target", "0,1,2"}) {
    LoadCase load = TrainCase("csv", std::string(header) + "\n5,2,a\n6,3,b\n7,4,a\n");
    const LoadedData data = LoadMemory(load);
    EXPECT_EQ(data.train.size, 3) << header;
    EXPECT_THAT(data.info.label_names, ElementsAre("a", "b"));
    EXPECT_THAT(data.notes, ElementsAre(HasSubstr("train: the first line counts its columns"),
                                        "label: 2 classes"));
    load.options = {{"header", "no"}};
    EXPECT_EQ(LoadMemory(load).train.size, 4);
  }
  const LoadedData index = LoadMemory(TrainCase("csv", ",0,1,target\n0,5,2,a\n1,6,3,a\n"));
  EXPECT_EQ(index.train.size, 2);
}

TEST(Csv, KeepsAnExampleThatCounts) {
  for (const char* text : {"0,1,a\n5,2,a\n6,3,b\n",   // its class is seen again
                           "0,2,c\n5,2,a\n6,3,b\n",   // its numbers do not count up
                           "0,1,9\n5,2,1\n6,3,2\n"})  // its class is a number that does not
    EXPECT_EQ(LoadMemory(TrainCase("csv", text)).train.size, 3) << text;
  EXPECT_EQ(LoadMemory(TrainCase("csv", "0,1,a\n5,2,b\n6,3,c\n")).train.size, 3);  // as are all
  EXPECT_EQ(LoadMemory(TrainCase("csv", "1,5\n0,4\n0,4\n")).train.size, 3);
  EXPECT_EQ(LoadMemory(TrainCase("csv", "0,1,a\n")).train.size, 1);  // nothing else is there
}

TEST(Csv, MatchesAHeaderOfNumbersByName) {
  const DataInfo like{.input = {2},
                      .outputs = 2,
                      .label_names = {"a", "b"},
                      .columns = {"0", "1"},
                      .label_column = "target"};
  LoadCase load = LikeNamed(like, "target,1,0\na,2,5\n");
  EXPECT_THAT(LoadMemory(load).test.floats.span(), ElementsAre(5, 2));
  load.content["test"] = "1,0,a\n";  // the same numbers as an example
  EXPECT_THAT(LoadMemory(load).test.floats.span(), ElementsAre(1, 0));
}

TEST(Csv, AdvisesWhereAHeaderHoldsANumber) {
  EXPECT_THAT(LoadError(TrainCase("csv", "id,2020,c\n1,2,a\n3,4,b\n")),
              HasSubstr("train:2: column 0: got the number '1' below a text; data.header = "));
}

TEST(Csv, RefusesClassesThatAreNotFinite) {
  for (const char* label : {"nan", "NaN", "inf", "-Infinity", "1e999"})
    EXPECT_THAT(
        LoadError(TrainCase("csv", fmt::format("a,c\n1,x\n2,{}\n", label))),
        HasSubstr(fmt::format("train:3: expected a class in column 1 ('c'), got '{}'", label)));
  LoadCase load = LikeNamed(kNamed, "a,b,c\n1,2,nan\n");
  load.files.labels_optional = true;
  EXPECT_FALSE(LoadMemory(load).info.labelled);
}

TEST(Csv, RefusesWordsForAMissingLabel) {
  for (const char* word : {"NA", "null", "None", "?"})
    EXPECT_THAT(LoadError(TrainCase("csv", fmt::format("a,c\n1,5\n2,{}\n", word))),
                HasSubstr(fmt::format(
                    "train:3: expected a class or number in column 1 ('c'), got '{}'", word)));
  EXPECT_THAT(LoadError(TrainCase("csv", "a,c\n1,x\n2,None\n")),
              HasSubstr("without a label, or data.task = \"classes\" if it is a class"));
  const Table classes = {{"task", "classes"}};
  EXPECT_THAT(LoadError(TrainCase("csv", "a,c\n1,x\n2,NA\n", classes)),
              HasSubstr("train:3: expected a class in column 1 ('c'), got 'NA'"));
  const LoadedData named = LoadMemory(TrainCase("csv", "a,c\n1,x\n2,None\n3,?\n", classes));
  EXPECT_THAT(named.info.label_names, ElementsAre("?", "None", "x"));
  LoadCase load = LikeNamed(kNamed, "a,b,c\n1,2,NA\n");
  load.files.labels_optional = true;
  EXPECT_FALSE(LoadMemory(load).info.labelled);
}

// Ages, cities and sizes, and whether something was bought.
constexpr const char* kPeople =
    "age,city,size,bought,price\n30,Lima,0.5,no,1.5\n60,Oslo,,yes,2.25\n45,Lima,1.5,yes,3\n";

TEST(Csv, ReadsWordsBesideNumbersAndCategories) {
  const std::string text = "n,say,kind,y\n1,a b a,p,0\n3,b,q,1\n,c,p,1\n";
  const LoadedData data = LoadMemory(TrainCase("csv", text, {{"text", "say"}, {"vocabulary", 2}}));
  EXPECT_TRUE(data.info.sparse);
  EXPECT_EQ(data.info.input, (Shape{6}));  // n and whether it is missing, two words, p, q
  EXPECT_THAT(data.info.encodings[1].words, ElementsAre("a", "b"));
  EXPECT_EQ(RowText(data.train.sparse, 0), "0:-1.2247449 2:0.8944272 3:0.4472136 4:1");
  EXPECT_EQ(RowText(data.train.sparse, 1), "0:1.2247449 3:1 5:1");
  EXPECT_EQ(RowText(data.train.sparse, 2), "1:1 4:1");
  const DataInfo again = InfoFromValue(InfoAsValue(data.info));
  const LoadedData like =
      LoadMemory({.format = "csv",
                  .content = {{"new", "kind,say,n\np,B a A unknown,1\n"}},
                  .files = {.test = {"new"}, .like = &again, .labels_optional = true}});
  EXPECT_EQ(RowText(like.test.sparse, 0), RowText(data.train.sparse, 0));
}

TEST(Csv, TakesMissingTextsForEmpty) {
  const std::string text = "say,y\nNA,0\nb ?,1\n?,1\n,1\nnone a,0\n";
  const LoadedData data = LoadMemory(TrainCase("csv", text, {{"text", "say"}, {"vocabulary", 9}}));
  EXPECT_THAT(data.info.encodings[0].words, ElementsAre("a", "b", "none"));
  for (const int64_t row : {0, 2, 3}) EXPECT_EQ(RowText(data.train.sparse, row), "");
}

TEST(Csv, RefusesMoreFeaturesThanIdsCount) {
  const Value texts = List{"a", "b", "c"};
  EXPECT_THAT(LoadError(TrainCase("csv", "a,b,c,y\np,q,r,0\ns,t,u,1\n",
                                  {{"text", texts}, {"hashes", 1000000000}})),
              HasSubstr("have 3000000000 features in all; expected at most 2147483647, with fewer "
                        "data.hashes"));
}

TEST(Csv, NumbersCategoriesForVectors) {
  const LoadedData data = LoadMemory(
      TrainCase("csv", "n,kind,y\n5,q,0\n6,p,1\n7,,1\n", {{"category_encoding", "embedding"}}));
  EXPECT_EQ(data.info.input, (Shape{2}));
  EXPECT_THAT(data.train.floats.span(), ElementsAre(5, 2, 6, 1, 7, 0));
  EXPECT_TRUE(InfoFromValue(InfoAsValue(data.info)).encodings[1].by_id);
}

TEST(Csv, ReadsCategoriesAndMissingNumbers) {
  const LoadedData data =
      LoadMemory(TrainCase("csv", kPeople, {{"label", "bought"}, {"drop", "price"}}));
  EXPECT_EQ(data.info.input, (Shape{5}));  // age, Lima, Oslo, size, whether size is missing
  EXPECT_THAT(data.train.floats.span(),
              ElementsAre(30, 1, 0, 0.5, 0, 60, 0, 1, 1, 1, 45, 1, 0, 1.5, 0));
  EXPECT_THAT(data.info.columns, ElementsAre("age", "city", "size"));
  EXPECT_THAT(data.info.label_names, ElementsAre("no", "yes"));
  EXPECT_THAT(data.notes, ElementsAre("missing numbers: 1; each is taken as the mean of its column",
                                      "label: 2 classes"));
}

TEST(Csv, CountsMissingNumbersWithoutMissingTexts) {
  const LoadedData data = LoadMemory(TrainCase("csv", "city,x,c\nNA,1,a\nLima,,b\n"));
  EXPECT_THAT(data.notes, ElementsAre(HasSubstr("missing numbers: 1;"), "label: 2 classes"));
}

TEST(Csv, EncodesOtherFilesLikeTheTrainingData) {
  const Table options = {{"label", "bought"}, {"drop", "price"}};
  const DataInfo like = LoadMemory(TrainCase("csv", kPeople, options)).info;
  LoadCase load = LikeNamed(like, "bought,size,city,age\nyes,NA,Rome,20\nno,2,Oslo,\n");
  load.options = options;
  const LoadedData data = LoadMemory(load);
  EXPECT_THAT(data.test.floats.span(), ElementsAre(20, 0, 0, 1, 1, 45, 0, 1, 2, 0));
  EXPECT_THAT(data.test.classes.span(), ElementsAre(1, 0));
  EXPECT_THAT(data.notes, IsEmpty());
  load.content["test"] = kPeople;  // with the column that was dropped
  EXPECT_THAT(LoadMemory(load).notes, IsEmpty());
}

TEST(Csv, ReadsTargets) {
  for (const Value& label : {Value("price"), Value(4), Value(-1)}) {
    const LoadedData data =
        LoadMemory(TrainCase("csv", kPeople, {{"label", label}, {"columns", List{"age"}}}));
    EXPECT_TRUE(data.info.regression);
    EXPECT_EQ(data.info.outputs, 1);
    EXPECT_THAT(data.train.targets.span(), ElementsAre(1.5, 2.25, 3));
    EXPECT_THAT(data.train.floats.span(), ElementsAre(30, 60, 45));
    EXPECT_THAT(data.notes, ElementsAre("target: 1.5 to 3, regression"));
  }
  const LoadedData two = LoadMemory(
      TrainCase("csv", kPeople, {{"label", List{"price", "age"}}, {"columns", List{"city"}}}));
  EXPECT_EQ(two.info.outputs, 2);
  EXPECT_THAT(two.info.label_names, ElementsAre("price", "age"));
  EXPECT_THAT(two.train.targets.span(), ElementsAre(1.5, 30, 2.25, 60, 3, 45));
}

// `kinds` different whole numbers as labels.
std::string WholeLabels(int kinds) {
  std::string text;
  for (int k = 0; k < kinds; ++k) text += fmt::format("1,{}\n", k);
  return text;
}

TEST(Csv, DecidesWhatLabelsAre) {
  EXPECT_FALSE(LoadMemory(TrainCase("csv", WholeLabels(100))).info.regression);
  EXPECT_THAT(LoadError(TrainCase("csv", WholeLabels(101))),
              HasSubstr("data.task: column 1 holds more than 100 different whole numbers; expected "
                        "task = \"regression\""));
  for (const char* task : {"classes", "regression"}) {
    const LoadedData data = LoadMemory(TrainCase("csv", WholeLabels(101), {{"task", task}}));
    EXPECT_EQ(data.info.regression, std::string(task) == "regression");
    EXPECT_EQ(data.info.outputs, data.info.regression ? 1 : 101);
  }
  EXPECT_TRUE(LoadMemory(TrainCase("csv", WholeLabels(101) + "1,0.5\n")).info.regression);
  EXPECT_EQ(LoadMemory(TrainCase("csv", WholeLabels(101) + "1,a\n")).info.outputs, 102);
  EXPECT_THAT(LoadError(TrainCase("csv", "1,0.5\n1,a\n")),
              HasSubstr("train:2: expected a number as target in column 1, got 'a'; data.task"));
}

TEST(Csv, ReadsWeights) {
  const LoadedData data =
      LoadMemory(TrainCase("csv", "a,w,c\n1,1,x\n2,3,y\n", {{"weight", "w"}, {"label", "c"}}));
  EXPECT_EQ(data.info.input, (Shape{1}));
  EXPECT_THAT(data.train.weights.span(), ElementsAre(0.5, 1.5));
  EXPECT_THAT(LoadError(TrainCase("csv", "a,w,c\n1,-1,x\n", {{"weight", "w"}})),
              HasSubstr("train:2: column 1 ('w'): expected a weight of at least 0, got '-1'"));
}

TEST(Csv, RefusesWhatColumnsCannotHold) {
  const auto error = [](const std::string& text, Table options = {}) {
    return LoadError(TrainCase("csv", text, std::move(options)));
  };
  EXPECT_THAT(error("when,c\n2026-11-28,x\n"),
              HasSubstr("train:2: column 0 ('when'): '2026-11-28' looks like a date"));
  EXPECT_EQ(error("when,c\n2026-11-28,x\n2026-11-29,y\n", {{"categories", "when"}}), "");
  EXPECT_THAT(error("a,c\n1,x\n", {{"label", "d"}}),
              HasSubstr("train:1: no column is named 'd', as data.label says; there are 'a', 'c'"));
  EXPECT_THAT(error("1,x\n", {{"drop", 5}}), HasSubstr("train:1: 2 columns; expected a data.drop"));
  EXPECT_THAT(error("1,2,x\n", {{"drop", -1}}), HasSubstr("train:1: column 2 is the label"));
  EXPECT_THAT(error("a,c\n1,x\n", {{"label", List{}}}), HasSubstr("label: expected a column"));
}

// 600 lines of a number that is missing at times, a category, a quoted text, a weight and a class.
std::vector<std::string> ManyLines() {
  std::vector<std::string> lines = {"x,kind,note,w,y"};
  for (int i = 1; i < 600; ++i)
    lines.push_back(fmt::format("{},k{},\"n, {}\",{},{}", i % 50 == 7 ? "" : fmt::format("{}.5", i),
                                i < 400 ? i % 3 : 9, i % 2, i % 4, i % 3 ? "yes" : "no"));
  return lines;
}

LoadCase CaseOf(const std::vector<std::string>& lines, const std::string& end = "\n") {
  return TrainCase("csv", fmt::format("{}{}", fmt::join(lines, end), end), {{"weight", "w"}});
}

TEST(Csv, ReadsManyLinesOnThreadsLikeOneByOne) {
  const LoadedData data = LoadMemory(CaseOf(ManyLines()));
  ASSERT_EQ(data.train.size, 599);
  EXPECT_EQ(data.info.input, (Shape{2 + 4 + 2}));
  EXPECT_THAT(data.info.encodings[1].categories, ElementsAre("k0", "k1", "k2", "k9"));
  double sum = 0;
  for (int i = 1; i < 600; ++i) sum += i % 50 == 7 ? 0 : i + 0.5;
  EXPECT_FLOAT_EQ(static_cast<float>(data.info.encodings[0].fill), static_cast<float>(sum / 587));
  for (int i = 1; i < 600; ++i) {
    const bool missing = i % 50 == 7;
    std::vector<float> row(8);
    row[0] =
        missing ? static_cast<float>(data.info.encodings[0].fill) : static_cast<float>(i) + 0.5F;
    row[1] = missing ? 1 : 0;
    row[2 + static_cast<size_t>(i < 400 ? i % 3 : 3)] = 1;
    row[6 + static_cast<size_t>(i % 2)] = 1;
    const auto read = data.train.floats.span().subspan(static_cast<size_t>(i - 1) * 8, 8);
    EXPECT_THAT(std::vector<float>(read.begin(), read.end()), row) << i;
    EXPECT_EQ(data.train.classes[i - 1], i % 3 ? 1 : 0);
    EXPECT_EQ(data.train.weights[i - 1] > 0, i % 4 > 0);
  }
}

TEST(Csv, ReadsManyLinesAlikeInPiecesAndWithBothLineEnds) {
  const LoadedData whole = LoadMemory(CaseOf(ManyLines()));
  for (const auto& [end, piece] : {std::pair("\n", 13), {"\r\n", 1 << 20}, {"\r\n", 777}}) {
    LoadCase load = CaseOf(ManyLines(), end);
    load.content["test"] = load.content["train"] + "\n \n";
    load.files.test = {"test"};
    load.piece = static_cast<size_t>(piece);
    const LoadedData data = LoadMemory(load);
    for (const MemoryData* set : {&data.train, &data.test}) {
      EXPECT_TRUE(std::ranges::equal(set->floats.span(), whole.train.floats.span()));
      EXPECT_TRUE(std::ranges::equal(set->classes.span(), whole.train.classes.span()));
    }
    EXPECT_TRUE(std::ranges::equal(data.train.weights.span(), whole.train.weights.span()));
  }
}

TEST(Csv, RefusesALabelThatIsMoreWithAStart) {
  DataInfo start = LoadMemory(TrainCase("csv", "x,kind,note,z\n1,k0,a,0\n2,k1,b,1\n")).info;
  start = InfoFromValue(InfoAsValue(start));
  const auto error = [&](Table options) {
    LoadCase load = CaseOf(ManyLines());
    load.options = std::move(options);
    load.files.features = &start;
    return LoadError(load);
  };
  EXPECT_EQ(error({{"weight", "w"}}), "");
  const std::string said = "train:1: column 4 is the label; expected another one in data.drop";
  EXPECT_THAT(error({{"weight", "y"}}), HasSubstr(said));
  EXPECT_THAT(error({{"label", List{"y", "y"}}}), HasSubstr(said));
  EXPECT_THAT(error({{"drop", "y"}}), HasSubstr(said));
}

TEST(Csv, NamesTheFirstBadLineOfMany) {
  const auto error = [](std::initializer_list<std::pair<size_t, const char*>> changes) {
    std::vector<std::string> lines = ManyLines();
    for (const auto& [line, text] : changes) lines[line - 1] = text;
    return LoadError(CaseOf(lines));
  };
  EXPECT_THAT(error({{301, "x,k1,\"n, 1\",1,yes"}, {302, "1,2"}}),
              HasSubstr("train:301: column 0 ('x'): expected a finite number, got 'x'"));
  EXPECT_THAT(error({{399, "1,2"}}), HasSubstr("train:399: 2 columns; expected 5"));
  EXPECT_THAT(error({{399, "1,2,3,4,yes,6"}}), HasSubstr("train:399: 6 columns; expected 5"));
  EXPECT_THAT(error({{350, "1,k1,a,1,"}, {351, "x"}}),
              HasSubstr("train:350: expected a class in column 4 ('y'), got nothing"));
  EXPECT_THAT(error({{350, "1,k1,a,-1,yes"}}),
              HasSubstr("train:350: column 3 ('w'): expected a weight"));
  EXPECT_THAT(error({{350, "1,\"k1,a,1,yes"}}), HasSubstr("train:350: a quote is not closed"));
  EXPECT_THAT(error({{250, ""}}), HasSubstr("train:251: line 250 above is blank"));
  EXPECT_THAT(error({{50, " "}}), HasSubstr("train:51: line 50 above is blank"));
}

}  // namespace yoke::testing_support::csv_test
