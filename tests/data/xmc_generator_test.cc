// GenerateXmc: shape of the rows, independence of sizes and threads, Zipf laws, and that labels can
// be learned.
#include "data/xmc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "base/registry.h"

namespace yoke::xmc_generator_test {

MemoryData Generated(const XmcShape& shape, bool test, int64_t size) {
  MemoryData data;
  GenerateXmc(shape, test, size, data);
  return data;
}

template <typename T>
std::span<const T> Row(const SparseArrays& rows, const GrowingArray<T>& array, int64_t i) {
  return array.span().subspan(rows.offsets[i], rows.offsets[i + 1] - rows.offsets[i]);
}

bool IsAscending(std::span<const int32_t> ids) {
  return std::ranges::adjacent_find(ids, std::ranges::greater_equal()) == ids.end();
}

TEST(XmcGenerator, RowsAreAscendingInRangeAndOfLengthOne) {
  const XmcShape shape = {.features = 977, .labels = 50};
  const MemoryData data = Generated(shape, false, 300);
  ASSERT_EQ(data.sparse.rows(), 300);
  ASSERT_EQ(data.labels.rows(), 300);
  for (int64_t i = 0; i < 300; ++i) {
    const auto ids = Row(data.sparse, data.sparse.ids, i);
    const auto values = Row(data.sparse, data.sparse.values, i);
    const auto labels = Row(data.labels, data.labels.ids, i);
    ASSERT_FALSE(ids.empty() || labels.empty());
    EXPECT_TRUE(IsAscending(ids) && ids.front() >= 0 && ids.back() < shape.features);
    EXPECT_TRUE(IsAscending(labels) && labels.front() >= 0 && labels.back() < shape.labels);
    EXPECT_NEAR(std::inner_product(values.begin(), values.end(), values.begin(), 0.0), 1, 1e-5);
  }
}

TEST(XmcGenerator, SmallerSetIsTheBeginningOfALargerOne) {
  const MemoryData large = Generated({}, false, 1500), small = Generated({}, false, 700);
  EXPECT_TRUE(std::ranges::equal(small.sparse.ids.span(),
                                 large.sparse.ids.span().first(small.sparse.ids.size())));
  EXPECT_TRUE(
      std::ranges::equal(small.labels.offsets.span(), large.labels.offsets.span().first(701)));
}

// More than are drawn at once on all cores.
TEST(XmcGenerator, NoRoundRepeatsTheOneBefore) {
  constexpr int64_t kSize = 33000;
  const MemoryData data = Generated({.nonzeros = 8, .labels_per_example = 2}, false, kSize);
  ASSERT_EQ(data.size, kSize);
  std::set<std::vector<int32_t>> rows;
  for (int64_t i = 0; i < kSize; ++i) {
    const auto ids = Row(data.sparse, data.sparse.ids, i);
    rows.emplace(ids.begin(), ids.end());
  }
  EXPECT_GT(rows.size(), kSize - 100U);
}

TEST(XmcGenerator, SeedAndSetChangeTheDraws) {
  const MemoryData train = Generated({}, false, 20);
  EXPECT_FALSE(
      std::ranges::equal(train.sparse.ids.span(), Generated({}, true, 20).sparse.ids.span()));
  EXPECT_FALSE(std::ranges::equal(train.sparse.ids.span(),
                                  Generated({.seed = 2}, false, 20).sparse.ids.span()));
}

std::vector<int64_t> SortedCounts(std::span<const int32_t> ids, int64_t n) {
  std::vector<int64_t> counts(n);
  for (const int32_t id : ids) ++counts[id];
  std::sort(counts.rbegin(), counts.rend());
  return counts;
}

TEST(XmcGenerator, LabelsAndFeaturesHaveAHeadAndATail) {
  const MemoryData data = Generated({.features = 5000, .labels = 500}, false, 3000);
  const auto labels = SortedCounts(data.labels.ids.span(), 500);
  EXPECT_GT(labels[0], 20 * labels[250]);
  EXPECT_GT(labels[400], 0);
  const auto features = SortedCounts(data.sparse.ids.span(), 5000);
  EXPECT_GT(features[0], 20 * std::max<int64_t>(features[2500], 1));
}

TEST(XmcGenerator, MeansAreAboutWhatWasAsked) {
  const MemoryData data =
      Generated({.features = 1000000, .labels = 300000, .nonzeros = 40, .labels_per_example = 3},
                false, 2000);
  EXPECT_NEAR(static_cast<double>(data.labels.ids.size()) / 2000, 3, 0.3);
  EXPECT_NEAR(static_cast<double>(data.sparse.ids.size()) / 2000, 33, 7);  // equal ones merged
}

/// A label's centroid: the mean of its examples' rows.
std::vector<std::vector<float>> Centroids(const MemoryData& data, const XmcShape& shape) {
  std::vector<std::vector<float>> centroids(shape.labels, std::vector<float>(shape.features));
  std::vector<int> counts(shape.labels);
  for (int64_t i = 0; i < data.size; ++i) {
    for (const int32_t label : Row(data.labels, data.labels.ids, i)) {
      ++counts[label];
      for (int64_t j = data.sparse.offsets[i]; j < data.sparse.offsets[i + 1]; ++j)
        centroids[label][data.sparse.ids[j]] += data.sparse.values[j];
    }
  }
  for (int64_t l = 0; l < shape.labels; ++l)
    for (float& value : centroids[l]) value /= static_cast<float>(std::max(counts[l], 5));
  return centroids;
}

TEST(XmcGenerator, NearestCentroidFindsALabelOfMostTestExamples) {
  const XmcShape shape = {.features = 2000, .labels = 100};
  const auto centroids = Centroids(Generated(shape, false, 2000), shape);
  const MemoryData test = Generated(shape, true, 300);
  int hits = 0;
  for (int64_t i = 0; i < test.size; ++i) {
    std::vector<double> scores(shape.labels);
    for (int64_t l = 0; l < shape.labels; ++l)
      for (int64_t j = test.sparse.offsets[i]; j < test.sparse.offsets[i + 1]; ++j)
        scores[l] += test.sparse.values[j] * centroids[l][test.sparse.ids[j]];
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    hits += std::ranges::binary_search(Row(test.labels, test.labels.ids, i), best);
  }
  EXPECT_GT(hits, 240);
}

}  // namespace yoke::xmc_generator_test
