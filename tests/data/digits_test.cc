// Digits: the same key gives the same image, keys are independent, and images look like writing.
#include "data/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <vector>

namespace yoke::digits_test {

using Image = std::array<uint8_t, kDigitPixels>;

std::pair<int, Image> Drawn(const DigitKey& key) {
  Image image;
  image.fill(7);  // every pixel must be written
  const int digit = DrawDigit(key, image.data());
  return {digit, image};
}

TEST(Digits, SameKeySameImage) {
  const DigitKey key = {.seed = 3, .test = true, .index = 12};
  EXPECT_EQ(Drawn(key), Drawn(key));
}

TEST(Digits, SeedSetAndIndexEachChangeTheImage) {
  const std::vector<DigitKey> keys = {{1, false, 0}, {2, false, 0}, {1, true, 0}, {1, false, 1}};
  std::set<Image> images;
  for (const DigitKey& key : keys) images.insert(Drawn(key).second);
  EXPECT_EQ(images.size(), keys.size());
}

// A checkpoint trained on these images must find the same ones next year.
TEST(Digits, DrawsStayWhatTheyWere) {
  std::vector<int> digits;
  for (int64_t i = 0; i < 12; ++i) digits.push_back(Drawn({.seed = 1, .index = i}).first);
  EXPECT_EQ(digits, (std::vector<int>{1, 6, 4, 7, 7, 0, 9, 0, 2, 7, 5, 3}));
}

TEST(Digits, AllDigitsAreAboutEquallyFrequent) {
  std::array<int, 10> counts{};
  for (int64_t i = 0; i < 5000; ++i) ++counts.at(Drawn({.seed = 5, .index = i}).first);
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 400);
  EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 600);
}

TEST(Digits, InkIsInTheMiddleAndPaperAround) {
  std::vector<double> mean(kDigitPixels);
  const int64_t n = 1000;
  for (int64_t i = 0; i < n; ++i) {
    const Image image = Drawn({.seed = 7, .index = i}).second;
    EXPECT_GT(*std::max_element(image.begin(), image.end()), 150) << i;
    for (int p = 0; p < kDigitPixels; ++p) mean[p] += image[p] / static_cast<double>(n);
  }
  const double all = std::accumulate(mean.begin(), mean.end(), 0.0) / kDigitPixels;
  EXPECT_GT(all, 15);
  EXPECT_LT(all, 60);
  EXPECT_LT(mean[0], 8);
  EXPECT_LT(mean[kDigitPixels - 1], 8);
  EXPECT_GT(mean[14 * kDigitSide + 14], 50);
}

TEST(DigitStrokes, EveryDigitHasSeveralGlyphsInsideTheBox) {
  for (int digit = 0; digit < 10; ++digit) {
    EXPECT_GE(GlyphsOf(digit).size(), 3U);
    for (const Glyph& glyph : GlyphsOf(digit))
      for (const Stroke& stroke : glyph) {
        EXPECT_GE(stroke.size(), 2U);
        for (const StrokePoint& point : stroke) {
          EXPECT_TRUE(point.x >= 0 && point.x <= 100 && point.y >= 0 && point.y <= 100) << digit;
        }
      }
  }
}

}  // namespace yoke::digits_test
