// skip-gram: the vocabulary, windows, subsampling, and a text read like that of a checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/support/memory_files.h"

namespace yoke::testing_support::skip_gram_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string kText = "b a b\n\nc a  b\td\n";  // b 3, a 2, c 1, d 1

/// All words, windows of one word at each side.
Table Plain(Table more = {}) {
  Table options = {{"min_count", 1}, {"window", 1}, {"subsample", 0.0}};
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

LoadedData Load(const std::string& text, const Table& options) {
  return LoadMemory(TrainCase("skip-gram", text, options));
}

std::string Error(const std::string& text, const Table& options) {
  return LoadError(TrainCase("skip-gram", text, options));
}

/// `count` words; every tenth is one of ten rare ones, the rest is "the".
std::string FrequentThe(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += i % 10 ? "the " : "rare" + std::to_string(i / 10 % 10) + " ";
  return text;
}

TEST(SkipGram, LabelsAWordByItsNeighbours) {
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}}) {
    LoadCase load = TrainCase("skip-gram", kText, Plain());
    load.piece = piece;
    const LoadedData data = LoadMemory(load);
    EXPECT_THAT(data.info.label_names, ElementsAre("b", "a", "c", "d"));
    EXPECT_EQ(data.info.input, (Shape{4}));
    EXPECT_EQ(data.info.outputs, 4);
    EXPECT_TRUE(data.info.sparse && data.info.multi_label && data.info.labelled);
    ASSERT_EQ(data.train.size, 7);
    EXPECT_THAT(data.train.sparse.ids.span(), ElementsAre(0, 1, 0, 2, 1, 0, 3));
    EXPECT_TRUE(data.train.sparse.values.empty());
    EXPECT_EQ(RowText(data.train.labels, 0), "1:1");
    EXPECT_EQ(RowText(data.train.labels, 1), "0:1");  // b at both sides: a set holds it once
    EXPECT_EQ(RowText(data.train.labels, 2), "1:1 2:1");
    EXPECT_EQ(RowText(data.train.labels, 5), "1:1 3:1");
    EXPECT_EQ(RowText(data.train.labels, 6), "0:1");
  }
}

TEST(SkipGram, SkipsAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{1000}})
    for (const std::string& text : {mark + kText, mark + " " + kText}) {
      LoadCase load = TrainCase("skip-gram", text, Plain());
      load.piece = piece;
      EXPECT_THAT(LoadMemory(load).info.label_names, ElementsAre("b", "a", "c", "d")) << piece;
    }
}

TEST(SkipGram, KeepsTheMostFrequentWords) {
  const LoadedData data = Load(kText, Plain({{"vocabulary", 2}}));
  EXPECT_THAT(data.info.label_names, ElementsAre("b", "a"));
  EXPECT_THAT(data.train.sparse.ids.span(), ElementsAre(0, 1, 0, 1, 0));  // b a b a b
  EXPECT_EQ(RowText(data.train.labels, 2), "1:1");
  EXPECT_THAT(Load(kText, {{"min_count", 2}, {"subsample", 0.0}}).info.label_names,
              ElementsAre("b", "a"));
}

TEST(SkipGram, LowersLettersIfAsked) {
  EXPECT_THAT(Load("The the A\n", Plain()).info.label_names, SizeIs(3));
  EXPECT_THAT(Load("The the A\n", Plain({{"lowercase", true}})).info.label_names,
              ElementsAre("the", "a"));
}

TEST(SkipGram, DrawsTheRadiusFromOneToTheWindow) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "w" + std::to_string(i) + " ";
  const LoadedData data = Load(text, {{"min_count", 1}, {"window", 3}, {"subsample", 0.0}});
  std::vector<int> rows(7);
  for (int64_t i = 3; i < 2997; ++i)
    ++rows[data.train.labels.offsets[i + 1] - data.train.labels.offsets[i]];
  EXPECT_EQ(rows[2] + rows[4] + rows[6], 2994);
  for (const int width : {2, 4, 6}) EXPECT_NEAR(rows[width], 998, 120) << width;
}

TEST(SkipGram, SubsamplesFrequentWords) {
  constexpr double kShare = 0.01, kFrequency = 0.9;
  const LoadedData data =
      Load(FrequentThe(20000), {{"min_count", 1}, {"window", 1}, {"subsample", kShare}});
  const auto ids = data.train.sparse.ids.span();
  const auto the = std::count(ids.begin(), ids.end(), 0);
  EXPECT_NEAR(double(the), 18000 * std::sqrt(kShare / kFrequency), 150);
  EXPECT_NEAR(double(data.train.size - the), 2000, 1);  // their frequency is the share itself
}

TEST(SkipGram, DrawsBySeed) {
  const std::string text = FrequentThe(3000);
  auto labels = [&](int seed) {
    const LoadedData data = Load(text, {{"subsample", 0.01}, {"seed", seed}});
    const auto ids = data.train.labels.ids.span();
    return std::vector<int32_t>(ids.begin(), ids.end());
  };
  EXPECT_EQ(labels(1), labels(1));
  EXPECT_NE(labels(1), labels(2));
}

TEST(SkipGram, TestTextHasTheWordsOfTheTrainingText) {
  LoadCase load = TrainCase("skip-gram", kText, Plain());
  load.content["test"] = "d x a\n";
  load.files.test = {"test"};
  const LoadedData data = LoadMemory(load);
  ASSERT_EQ(data.test.size, 2);  // x is unknown: d and a are neighbours
  EXPECT_THAT(data.test.sparse.ids.span(), ElementsAre(3, 1));
  EXPECT_EQ(RowText(data.test.labels, 0), "1:1");
  load.content["test"] = "x a y\n";
  EXPECT_THAT(LoadError(load), StartsWith("test: fewer than two words are left"));
}

TEST(SkipGram, ReadsTextLikeThatOfACheckpoint) {
  const Table options = {{"subsample", 0.01}};
  const std::string text = FrequentThe(3000);
  const LoadedData trained = Load(text, options);
  LoadCase like{.format = "skip-gram", .options = options, .content = {{"test", text}}};
  like.files.test = {"test"};
  like.files.like = &trained.info;
  const LoadedData again = LoadMemory(like);  // a test share is split off these
  EXPECT_EQ(again.info.label_names, trained.info.label_names);
  EXPECT_TRUE(std::ranges::equal(again.test.labels.ids.span(), trained.train.labels.ids.span()));

  like.files.labels_optional = true;  // predict
  like.content["test"] = "rare3 the rare3\n";
  const LoadedData words = LoadMemory(like);
  EXPECT_FALSE(words.info.labelled);
  EXPECT_EQ(words.test.size, 3);
  like.content["test"] = "the\nnone";
  EXPECT_EQ(LoadError(like), "test:2: 'none' is none of the 11 words that the model knows");
}

TEST(SkipGram, RefusesFeatures) {
  EXPECT_THAT(Error(kText, Plain({{"features", 9}})),
              HasSubstr("data.features has no effect here"));
}

}  // namespace yoke::testing_support::skip_gram_test
