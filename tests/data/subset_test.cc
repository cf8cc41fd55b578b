// A subset renumbers examples, also of another subset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "data/memory_reader.h"

namespace yoke::subset_test {

std::shared_ptr<const Reader> Numbers() {
  MemoryData data;
  data.size = 10;
  for (int32_t i = 0; i < 10; ++i)
    data.floats.push_back(static_cast<float>(i)), data.classes.push_back(i);
  return std::make_shared<MemoryReader>(DataInfo{.input = {1}, .outputs = 10}, std::move(data));
}

TEST(Subset, RenumbersExamples) {
  const std::shared_ptr<const Reader> even = Subset(Numbers(), {0, 2, 4, 6, 8});
  const auto nested = Subset(even, {4, 1});
  EXPECT_EQ(nested->Size(), 2);
  Batch batch;
  const std::vector<int64_t> examples = {0, 1, 0};
  for (int repeat = 0; repeat < 2; ++repeat) {
    nested->Read({.examples = examples}, batch);
    EXPECT_THAT(batch.classes, ::testing::ElementsAre(8, 2, 8));
    EXPECT_EQ(batch.examples, examples);
  }
  const std::vector<int64_t> outside = {2};
  EXPECT_THROW(nested->Read({.examples = outside}, batch), Error);
}

}  // namespace yoke::subset_test
