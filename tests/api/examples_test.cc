// Arrays of a program: adopted where they are, refused with a sentence.
#include "api/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/check.h"

namespace yoke::examples_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

const std::vector<float> kNumbers = {1, 2, 3, 4, 5, 6};

TEST(Examples, UsesNumbersWhereTheyAre) {
  Examples examples(kNumbers, Shape{3}, nullptr);
  EXPECT_EQ(examples.size(), 2);
  EXPECT_EQ(examples.Take().floats.data(), kNumbers.data());
}

TEST(Examples, RefusesNumbersThatAreNotFinite) {
  const std::vector<float> numbers = {1, 2, 3, NAN};
  EXPECT_THAT(ErrorOf([&] { Examples(numbers, Shape{2}, nullptr); }),
              HasSubstr("example 1 has a value of nan"));
}

TEST(Examples, RefusesRowsThatAreNone) {
  const std::vector<int64_t> offsets = {0, 2};
  const std::vector<float> values = {1, 1};
  for (const auto& [ids, sentence] :
       {std::pair(std::vector<int32_t>{1, 1}, "do not ascend"), {{0, 4}, "expected 0 to 3"}})
    EXPECT_THAT(ErrorOf([&, &ids = ids] {
                  Examples({.offsets = offsets, .ids = ids, .values = values, .width = 4});
                }),
                HasSubstr(sentence));
}

TEST(Examples, RefusesClassesThatDoNotFit) {
  Examples examples(kNumbers, Shape{3}, nullptr);
  const std::vector<int32_t> three = {0, 1, 0}, high = {0, 2};
  EXPECT_THAT(ErrorOf([&] {
                examples.SetClasses(three, {"a", "b"}, nullptr);
              }),
              HasSubstr("3 classes of 2 examples"));
  EXPECT_THAT(ErrorOf([&] {
                examples.SetClasses(high, {"a", "b"}, nullptr);
              }),
              HasSubstr("example 1 is of class 2"));
}

TEST(Examples, OfImagesInBytesAreScaled) {
  const std::vector<uint8_t> bytes = {0, 255, 0, 51};
  const std::vector<int32_t> classes = {0, 1};
  Examples examples(bytes, Shape{1, 1, 2}, nullptr);
  examples.SetClasses(classes, {"a", "b"}, nullptr);
  EXPECT_FLOAT_EQ(LoadedFrom(std::move(examples), nullptr).info.normalization.scale, 1.0 / 255);
}

TEST(Examples, AreReadAsTheModelsDataWere) {
  const DataInfo like = {.input = {1, 1, 3}, .outputs = 2, .normalization = {.scale = 0.5}};
  const auto reader = ReaderOf(Examples(kNumbers, Shape{3}, nullptr), like);
  Batch batch;
  const std::vector<int64_t> second = {1};
  reader->Read({.examples = second}, batch);
  EXPECT_EQ(batch.dense.shape, (Shape{1, 1, 1, 3}));
  EXPECT_THAT(std::vector<float>(batch.dense.As<float>(), batch.dense.As<float>() + 3),
              ElementsAre(2, 2.5, 3));
  EXPECT_THAT(ErrorOf([&] { ReaderOf(Examples(kNumbers, Shape{2}, nullptr), like); }),
              HasSubstr("the examples are 2; expected 1x1x3"));
}

TEST(Examples, GrowByBatchesOfOneKind) {
  Examples all(int64_t{1} << 20);
  all.Append(Examples(kNumbers, Shape{3}, nullptr));
  all.Append(Examples(kNumbers, Shape{3}, nullptr));
  EXPECT_EQ(all.size(), 4);
  EXPECT_THAT(ErrorOf([&] { all.Append(Examples(kNumbers, Shape{2}, nullptr)); }),
              HasSubstr("the next examples are 2; expected 3"));
  const std::vector<uint8_t> bytes = {1, 2, 3};
  EXPECT_THAT(ErrorOf([&] { all.Append(Examples(bytes, Shape{3}, nullptr)); }),
              HasSubstr("the next examples are bytes; expected floats"));
  const MemoryData data = all.Take();
  EXPECT_THAT(std::vector<float>(data.floats.data(), data.floats.data() + 12),
              ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
}

TEST(Examples, GrowByBatchesOfRows) {
  const std::vector<int64_t> offsets = {0, 2, 3};
  const std::vector<int32_t> ids = {0, 3, 1};
  const std::vector<float> values = {1, 2, 3};
  const CsrRows rows = {.offsets = offsets, .ids = ids, .values = values, .width = 4};
  Examples all(/*memory_limit=*/0);  // in a file
  all.Append(Examples(rows));
  all.Append(Examples(rows));
  const MemoryData data = all.Take();
  const auto& read = data.sparse;
  EXPECT_THAT(std::vector<int64_t>(read.offsets.span().begin(), read.offsets.span().end()),
              ElementsAre(0, 2, 3, 5, 6));
  EXPECT_THAT(std::vector<int32_t>(read.ids.span().begin(), read.ids.span().end()),
              ElementsAre(0, 3, 1, 0, 3, 1));
  EXPECT_TRUE(read.ids.in_file());
}

TEST(Examples, KeepTheUnitOfTheirTargets) {
  const std::vector<double> targets = {10, 20};
  Examples examples(kNumbers, Shape{3}, nullptr);
  examples.SetTargets(targets, 1, nullptr);
  EXPECT_THAT(ErrorOf([&] { examples.SetTargetUnit({1, 2}, {1, 1}); }), HasSubstr("expected 1"));
  examples.SetTargetUnit({5}, {2});
  const DataSets sets = OpenMemory(Table{{"format", "memory"}, {"task", "regression"}},
                                   LoadedFrom(std::move(examples), nullptr), 1);
  EXPECT_THAT(sets.train->Info().target_mean, ElementsAre(5));
  Batch batch;
  const std::vector<int64_t> both = {0, 1};
  sets.train->Read({.examples = both}, batch);
  EXPECT_THAT(batch.targets, ElementsAre(2.5, 7.5));
}

}  // namespace yoke::examples_test
