// synthetic-digits: sizes, seeds and independence of threads, through the list of formats.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/registry.h"
#include "data/digits.h"
#include "data/memory_reader.h"

namespace yoke::synthetic_digits_test {

LoadedData Load(const Table& table, const DataInfo* like = nullptr) {
  const FormatEntry& format = FindEntry(formats(), "format", "synthetic-digits");
  ReadFiles files;
  files.like = like;
  return format.load(Options("data", table, format.options), files);
}

bool Equal(const GrowingArray<uint8_t>& a, const GrowingArray<uint8_t>& b) {
  return std::ranges::equal(a.span(), b.span());
}

TEST(SyntheticDigits, SizesAndInfo) {
  const LoadedData data = Load({{"train_size", 30}, {"test_size", 7}});
  EXPECT_EQ(data.info.input, (Shape{1, 28, 28}));
  EXPECT_EQ(data.info.outputs, 10);
  EXPECT_EQ(data.info.label_names.at(3), "3");
  EXPECT_DOUBLE_EQ(data.info.normalization.scale, 1.0 / 255);
  EXPECT_EQ(data.train.size, 30);
  EXPECT_EQ(data.train.bytes.size(), 30 * 784);
  EXPECT_EQ(data.train.classes.size(), 30);
  EXPECT_EQ(data.test.size, 7);
}

TEST(SyntheticDigits, ExampleIsItsOwnDraw) {
  const LoadedData data = Load({{"train_size", 30}, {"test_size", 7}, {"seed", 4}});
  std::vector<uint8_t> image(kDigitPixels);
  EXPECT_EQ(DrawDigit({.seed = 4, .test = false, .index = 29}, image.data()),
            data.train.classes[29]);
  EXPECT_TRUE(std::ranges::equal(image, data.train.bytes.span().last(kDigitPixels)));
  EXPECT_EQ(DrawDigit({.seed = 4, .test = true, .index = 6}, image.data()), data.test.classes[6]);
  EXPECT_TRUE(std::ranges::equal(image, data.test.bytes.span().last(kDigitPixels)));
}

TEST(SyntheticDigits, SeedChangesImagesAndLikeDoesNot) {
  const Table table = {{"train_size", 20}, {"test_size", 0}};
  const LoadedData one = Load(table);
  EXPECT_EQ(one.test.size, 0);
  EXPECT_TRUE(Equal(one.train.bytes, Load(table, &one.info).train.bytes));
  EXPECT_FALSE(Equal(one.train.bytes, Load({{"train_size", 20}, {"seed", 2}}).train.bytes));
}

TEST(SyntheticDigits, RefusesBadSizes) {
  EXPECT_THROW(Load({{"train_size", 0}}), UserError);
  EXPECT_THROW(Load({{"test_size", -1}}), UserError);
  EXPECT_THROW(Load({{"seed", -1}}), UserError);
}

}  // namespace yoke::synthetic_digits_test
