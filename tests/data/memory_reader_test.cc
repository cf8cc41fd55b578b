// Examples in memory come out as batches, normalized.
#include "data/memory_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"

namespace yoke::memory_reader_test {

using ::testing::ElementsAre;

std::vector<float> Values(const Batch& batch) {
  const auto* data = batch.dense.As<float>();
  return {data, data + batch.dense.Count()};
}

// Two images of two channels and two pixels each: 0 1 2 3 and 4 5 6 7.
MemoryReader Images(const Normalization& normalization) {
  MemoryData data;
  data.size = 2;
  for (uint8_t i = 0; i < 8; ++i) data.bytes.push_back(i);
  for (int32_t c : {1, 0}) data.classes.push_back(c);
  return MemoryReader({.input = {2, 1, 2}, .outputs = 2, .normalization = normalization},
                      std::move(data));
}

TEST(MemoryReader, GathersDenseExamples) {
  const MemoryReader reader = Images({});
  Batch batch;
  const std::vector<int64_t> examples = {1, 0, 1};
  reader.Read({.examples = examples, .seed = 5, .epoch = 3}, batch);
  EXPECT_EQ(batch.size, 3);
  EXPECT_EQ(batch.seed, 5U);
  EXPECT_EQ(batch.epoch, 3);
  EXPECT_EQ(batch.dense.shape, (Shape{3, 2, 1, 2}));
  EXPECT_THAT(Values(batch), ElementsAre(4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(batch.classes, ElementsAre(0, 1, 0));
  EXPECT_EQ(batch.examples, examples);
}

TEST(MemoryReader, NormalizesByChannel) {
  const MemoryReader reader = Images({.scale = 0.5, .mean = {1, 2}, .deviation = {2, 4}});
  Batch batch;
  const std::vector<int64_t> examples = {0};
  reader.Read({.examples = examples}, batch);
  EXPECT_THAT(Values(batch), ElementsAre(-0.5, -0.25, -0.25, -0.125));
}

TEST(MemoryReader, LeavesBytesAsStoredIfAsked) {
  const MemoryReader reader = Images({.scale = 0.5, .mean = {1, 2}, .deviation = {2, 4}});
  Batch batch;
  const std::vector<int64_t> examples = {1};
  reader.Read({.examples = examples, .as_stored = true}, batch);
  ASSERT_EQ(batch.dense.type, DType::kU8);
  const auto* bytes = batch.dense.As<uint8_t>();
  EXPECT_THAT(std::vector<int>(bytes, bytes + 4), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(batch.scales, ElementsAre(0.25, 0.125, -0.5, -0.5, -0.5, -0.5));
  EXPECT_TRUE(batch.crops.empty());
  reader.Read({.examples = examples}, batch);
  EXPECT_THAT(Values(batch), ElementsAre(0.5, 0.75, 0.25, 0.375));
}

TEST(MemoryReader, NormalizesVectorsByFeature) {
  MemoryData data;
  data.size = 1;
  for (float x : {1.0F, 2.0F, 3.0F}) data.floats.push_back(x);
  const MemoryReader reader({.input = {3},
                             .labelled = false,
                             .normalization = {.mean = {1, 1, 1}, .deviation = {1, 2, 4}}},
                            std::move(data));
  Batch batch;
  const std::vector<int64_t> examples = {0};
  reader.Read({.examples = examples, .as_stored = true}, batch);  // not stored in bytes
  EXPECT_THAT(Values(batch), ElementsAre(0, 0.5, 0.5));
  EXPECT_TRUE(batch.classes.empty());
}

TEST(MemoryReader, RefusesTheNormalizationOfOtherData) {
  for (const Normalization& other :
       {Normalization{.mean = {1, 2, 3}}, Normalization{.deviation = {1, 2, 3}},
        Normalization{.rescaling = {.origin = {1, 2, 3}, .unit = {1, 1, 1}}}})
    EXPECT_THROW(Images(other), UserError);
}

TEST(MemoryReader, GathersSparseRowsAndLabelSets) {
  MemoryData data;
  data.size = 2;
  for (int32_t id : {0, 4, 2})
    data.sparse.ids.push_back(id), data.sparse.values.push_back(static_cast<float>(id) + 1);
  data.sparse.offsets.push_back(2), data.sparse.offsets.push_back(3);
  data.labels.ids.push_back(7);
  data.labels.offsets.push_back(0), data.labels.offsets.push_back(1);
  const MemoryReader reader({.input = {5}, .sparse = true, .multi_label = true, .outputs = 9},
                            std::move(data));
  Batch batch;
  const std::vector<int64_t> examples = {1, 0};
  reader.Read({.examples = examples}, batch);
  EXPECT_TRUE(batch.is_sparse);
  EXPECT_EQ(batch.sparse.width, 5);
  EXPECT_THAT(batch.sparse.offsets, ElementsAre(0, 1, 3));
  EXPECT_THAT(batch.sparse.ids, ElementsAre(2, 0, 4));
  EXPECT_THAT(batch.sparse.values, ElementsAre(3, 1, 5));
  EXPECT_EQ(batch.labels.width, 9);
  EXPECT_THAT(batch.labels.offsets, ElementsAre(0, 1, 1));
  EXPECT_THAT(batch.labels.ids, ElementsAre(7));
  EXPECT_EQ(batch.labels.View().values, nullptr);
}

TEST(MemoryReader, RefusesWhatDoesNotExist) {
  const MemoryReader reader = Images({});
  Batch batch;
  const std::vector<int64_t> examples = {2};
  EXPECT_THROW(reader.Read({.examples = examples}, batch), Error);
  MemoryData short_data;
  short_data.size = 3;
  EXPECT_THROW(MemoryReader({.input = {4}}, std::move(short_data)), Error);
}

TEST(MemoryReader, NormalizesTargetsByThoseMeasured) {
  MemoryData data;
  data.size = 3;
  for (float x : {1.0F, 2.0F, 3.0F}) data.floats.push_back(x);
  for (double t : {10.0, 5.0, 14.0, 5.0, 100.0, 5.0}) data.targets.push_back(t);
  for (float w : {0.5F, 1.5F, 1.0F}) data.weights.push_back(w);
  MemoryReader reader({.input = {1}, .regression = true, .outputs = 2}, std::move(data));
  const std::vector<int64_t> training = {0, 1}, all = {2, 0};
  reader.MeasureTargets(training);
  EXPECT_THAT(reader.Info().target_mean, ElementsAre(12, 5));
  EXPECT_THAT(reader.Info().target_deviation, ElementsAre(2, 1));
  Batch batch;
  reader.Read({.examples = all}, batch);
  EXPECT_THAT(batch.targets, ElementsAre(44, 0, -1, 0));
  EXPECT_THAT(batch.weights, ElementsAre(1, 0.5));
  EXPECT_TRUE(batch.classes.empty());
}

// The deviation that is measured of three targets.
double DeviationOf(const std::vector<double>& targets) {
  MemoryData data;
  data.size = 3;
  for (const double target : targets) data.floats.push_back(1), data.targets.push_back(target);
  MemoryReader reader({.input = {1}, .regression = true, .outputs = 1}, std::move(data));
  const std::vector<int64_t> all = {0, 1, 2};
  reader.MeasureTargets(all);
  return reader.Info().target_deviation[0];
}

TEST(MemoryReader, TakesTargetsThatDifferByRoundingForConstant) {
  EXPECT_EQ(DeviationOf({0.1, 0.1, 0.1}), 1);
  EXPECT_EQ(DeviationOf({0.3, 0.1 + 0.2, 0.3}), 1);
  EXPECT_NEAR(DeviationOf({1.7e9, 1.7e9 + 3, 1.7e9 + 6}), std::sqrt(6), 1e-6);
}

}  // namespace yoke::memory_reader_test
