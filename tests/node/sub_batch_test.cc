// TakeSubBatch: a range of examples with their rows and labels.
#include "node/sub_batch.h"

#include <gtest/gtest.h>

#include "node/support/job.h"

namespace yoke::sub_batch_test {

TEST(TakeSubBatch, OfDenseRowsIsAWindow) {
  const Batch batch = testing_support::DrawnBatch(5, 0);
  Batch share;
  TakeSubBatch(batch, 2, 4, share);
  EXPECT_EQ(share.size, 2);
  EXPECT_EQ(share.dense.shape, (Shape{2, 1, 28, 28}));
  EXPECT_EQ(share.dense.As<float>(), batch.dense.As<float>() + 2 * 784);
  EXPECT_EQ(share.examples, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(share.classes, (std::vector<int32_t>{batch.classes[2], batch.classes[3]}));
}

TEST(TakeSubBatch, OfBytesTakesScalesAndCropsAlong) {
  Batch batch;
  batch.size = 3;
  batch.ResizeDense({1, 2, 2}, DType::kU8);
  batch.scales = {0.5, 1, 0};
  for (int32_t top : {0, 1, 2}) batch.crops.push_back({.top = top, .height = 2, .width = 2});
  Batch share;
  TakeSubBatch(batch, 1, 3, share);
  EXPECT_EQ(share.dense.type, DType::kU8);
  EXPECT_EQ(share.dense.As<uint8_t>(), batch.dense.As<uint8_t>() + 4);
  EXPECT_EQ(share.scales, batch.scales);
  EXPECT_EQ(share.crops, (std::vector<ImageCrop>{batch.crops[1], batch.crops[2]}));
}

TEST(TakeSubBatch, OfSparseRowsAndLabelsCountsOffsetsFromZero) {
  Batch batch;
  batch.size = 3;
  batch.is_sparse = true;
  batch.sparse = {.width = 9, .offsets = {0, 2, 2, 5}, .ids = {1, 2, 3, 4, 5}, .values = {}};
  batch.labels = {.width = 7, .offsets = {0, 1, 3, 3}, .ids = {6, 0, 1}, .values = {}};
  batch.sparse.values = {.1F, .2F, .3F, .4F, .5F};
  Batch share;
  TakeSubBatch(batch, 1, 3, share);
  EXPECT_EQ(share.sparse.offsets, (std::vector<int64_t>{0, 0, 3}));
  EXPECT_EQ(share.sparse.ids, (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(share.sparse.values, (std::vector<float>{.3F, .4F, .5F}));
  EXPECT_EQ(share.sparse.width, 9);
  EXPECT_EQ(share.labels.offsets, (std::vector<int64_t>{0, 2, 2}));
  EXPECT_EQ(share.labels.ids, (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(share.dense.data, nullptr);
  TakeSubBatch(batch, 1, 1, share);
  EXPECT_EQ(share.size, 0);
  EXPECT_TRUE(share.sparse.ids.empty());
}

TEST(TakeSubBatch, LeavesOutWhatABatchDoesNotHave) {
  const Batch batch = testing_support::DrawnBatch(4, 0);
  Batch share;
  share.labels.offsets = {0, 1};
  TakeSubBatch(batch, 0, 1, share);
  EXPECT_TRUE(share.labels.offsets.empty()) << "else they would count as the example's labels";
}

}  // namespace yoke::sub_batch_test
