// Checksums of data: equal sets have equal sums, and each of what can differ changes its own.
#include "data/memory_reader.h"

#include <gtest/gtest.h>

#include <utility>

namespace yoke::checksum_test {

constexpr int64_t kExamples = 200, kFeatures = 3;

DataInfo Dense() { return {.input = Shape({kFeatures}), .outputs = 2, .label_names = {"a", "b"}}; }

MemoryData Numbers() {
  MemoryData data;
  data.size = kExamples;
  for (int64_t i = 0; i < kExamples * kFeatures; ++i) data.floats.push_back(float(i));
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

TEST(DataChecksum, EveryInputCounts) {
  const DataChecksum sum = ChecksumOf(Dense(), Numbers());
  for (int64_t at = 0; at < kExamples * kFeatures; ++at) {
    MemoryData data = Numbers();
    data.floats[at] += 1;
    const DataChecksum other = ChecksumOf(Dense(), data);
    EXPECT_EQ(other.labels, sum.labels);
    EXPECT_NE(other.inputs, sum.inputs) << at;
  }
  for (int64_t row = 1; row < kExamples; ++row) {
    MemoryData swapped = Numbers();
    for (int64_t i = 0; i < kFeatures; ++i)
      std::swap(swapped.floats[i], swapped.floats[row * kFeatures + i]);
    EXPECT_NE(ChecksumOf(Dense(), swapped).inputs, sum.inputs) << row;
  }
}

TEST(DataChecksum, RowsOfZerosAndOnesThatChangePlacesCount) {
  constexpr int64_t kRow = 16, kRows = 2048;  // 512 rows are 2^15 bytes
  const DataInfo info = {.input = Shape({kRow}), .outputs = 2};
  const auto sum = [&](int64_t row) {
    MemoryData data;
    data.size = kRows;
    data.floats.Extend(kRow * kRows);
    data.floats[row * kRow + 1] = 1;
    return ChecksumOf(info, data).inputs;
  };
  for (int64_t row = 1; row < kRows; row *= 2) EXPECT_NE(sum(row), sum(0)) << row;
}

/// Above 1 GiB a sample is summed; the pages between are never touched.
TEST(DataChecksum, OfLargeInputsASampleCounts) {
  constexpr int64_t kRow = 1 << 20, kRows = 1025;
  const DataInfo info = {.input = Shape({kRow}), .outputs = 2};
  MemoryData data;
  data.size = kRows;
  data.bytes.Extend(kRow * kRows);
  const DataChecksum sum = ChecksumOf(info, data);
  data.bytes[kRow * 7] = 1;  // between samples
  EXPECT_EQ(ChecksumOf(info, data).inputs, sum.inputs);
  data.bytes[kRow * kRows - 1] = 1;
  EXPECT_NE(ChecksumOf(info, data).inputs, sum.inputs);
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
