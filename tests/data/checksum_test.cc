// Checksums of data: equal sets have equal sums, and each of what can differ changes its own.
#include "data/checksum.h"

#include <gtest/gtest.h>

namespace yoke::checksum_test {

constexpr int64_t kExamples = 200, kFeatures = 3;

DataInfo Dense() { return {.input = Shape({kFeatures}), .outputs = 2, .label_names = {"a", "b"}}; }

MemoryData Numbers() {
  MemoryData data;
  data.size = kExamples;
  for (int64_t i = 0; i < kExamples * kFeatures; ++i) data.numbers.push_back(float(i));
  for (int64_t i = 0; i < kExamples; ++i) data.classes.push_back(int32_t(i % 2));
  return data;
}

DataInfo Sparse() {
  return {.input = Shape({9}), .sparse = true, .multi_label = true, .outputs = 5};
}

MemoryData Rows(int32_t label, int32_t feature, float value) {
  MemoryData data;
  data.size = 2;
  for (const int32_t id : {1, feature}) {
    data.sparse.ids.push_back(id);
    data.sparse.values.push_back(value);
    data.sparse.EndRow();
    data.labels.ids.push_back(label);
    data.labels.EndRow();
  }
  return data;
}

TEST(DataChecksum, EveryLabelCounts) {
  const DataChecksum sum = ChecksumOf(Dense(), Numbers());
  for (const int64_t at : {int64_t{0}, int64_t{101}, kExamples - 1}) {
    MemoryData data = Numbers();
    data.classes[at] = 7;
    const DataChecksum other = ChecksumOf(Dense(), data);
    EXPECT_NE(other.labels, sum.labels);
    EXPECT_EQ(other.inputs, sum.inputs);
  }
}

TEST(DataChecksum, TheFirstAndTheLastExampleCountAndSomeBetween) {
  const DataChecksum sum = ChecksumOf(Dense(), Numbers());
  for (const int64_t at : {int64_t{0}, kExamples * kFeatures - 1}) {
    MemoryData data = Numbers();
    data.numbers[at] += 1;
    const DataChecksum other = ChecksumOf(Dense(), data);
    EXPECT_EQ(other.labels, sum.labels);
    EXPECT_NE(other.inputs, sum.inputs);
  }
  MemoryData shifted = Numbers();
  for (int64_t i = 10 * kFeatures; i < (kExamples - 10) * kFeatures; ++i) shifted.numbers[i] += 1;
  EXPECT_NE(ChecksumOf(Dense(), shifted).inputs, sum.inputs);
}

TEST(DataChecksum, OfSparseRowsFeaturesValuesAndLabelsCount) {
  const DataChecksum sum = ChecksumOf(Sparse(), Rows(3, 4, 0.5F));
  const DataChecksum same = ChecksumOf(Sparse(), Rows(3, 4, 0.5F));
  EXPECT_EQ(same.labels, sum.labels);
  EXPECT_EQ(same.inputs, sum.inputs);
  EXPECT_NE(ChecksumOf(Sparse(), Rows(2, 4, 0.5F)).labels, sum.labels);
  EXPECT_NE(ChecksumOf(Sparse(), Rows(3, 5, 0.5F)).inputs, sum.inputs);
  EXPECT_NE(ChecksumOf(Sparse(), Rows(3, 4, 0.6F)).inputs, sum.inputs);
}

TEST(DataChecksum, AnEmptySetHasOneToo) {
  const DataChecksum sum = ChecksumOf(Dense(), MemoryData());
  EXPECT_EQ(sum.inputs, ChecksumOf(Dense(), MemoryData()).inputs);
  EXPECT_NE(ChecksumOf(Dense(), Numbers()).inputs, sum.inputs);
}

}  // namespace yoke::checksum_test
