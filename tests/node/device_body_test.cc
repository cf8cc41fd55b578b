// DeviceBody: parts are computed while the host has the activations of earlier ones.
#include "node/device_body.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::device_body_test {

using testing_support::DrawnSparseBatch;

const ModelTask kTask = {.input = {.shape = {40}, .sparse = true}, .outputs = 10};

Graph MakeGraph(int64_t hidden) {
  return Graph({Table{{"type", "sparse_linear"}, {"outputs", hidden}},
                Table{{"type", "linear"}, {"outputs", hidden}},
                Table{{"type", "lsh_linear"}, {"outputs", 10}}},
               kTask);
}

/// A graph with values, and a body on a device.
struct OnDevice {
  OnDevice(Device& device, int64_t hidden, int64_t batch)
      : graph(MakeGraph(hidden)),
        context{.graph = graph, .batch = batch},
        params(graph.layout(), Cpu()),
        gradients(graph.layout(), Cpu()),
        body(context, device, graph.Cut(CutAt::kHashed).value(),
             std::vector<int64_t>{0, batch / 2, batch}) {
    Initialize(params, 1);
  }
  ParamView View() { return params.View(&gradients); }

  Graph graph;
  ExecutorContext context;
  ParamStore params;
  Gradients gradients;
  DeviceBody body;
};

TEST(DeviceBody, WorksWhileTheHostHasActivations) {
  const auto device = NewEmulatedDevice(0, {.slowdown = 500});
  constexpr int64_t kBatch = 256, kHidden = 64;
  OnDevice it(*device, kHidden, kBatch);
  const Batch batch = DrawnSparseBatch(kBatch, 0);
  const auto works = [&] { return !device->stream().WaitFor(0); };
  it.body.Begin(batch, it.View(), std::vector<int64_t>{0, kBatch / 2, kBatch});
  const Batch& first = it.body.Activations(0);
  EXPECT_TRUE(works());  // forward of the second
  EXPECT_EQ(first.dense.shape, (Shape{kBatch / 2, kHidden}));
  EXPECT_EQ(first.classes[1], batch.classes[1]);
  std::fill_n(it.body.Gradient(0), kBatch / 2 * kHidden, 1.0F);
  it.body.Backward(0);
  EXPECT_EQ(it.body.Activations(1).classes[0], batch.classes[kBatch / 2]);
  EXPECT_TRUE(works());  // backward of the first
  std::fill_n(it.body.Gradient(1), kBatch / 2 * kHidden, 1.0F);
  it.body.Backward(1);
  it.body.Finish(it.View());
  EXPECT_FALSE(works());
}

/// The device has the rows of a batch alone, under other numbers.
TEST(DeviceBody, SendsTheRowsThatABatchReads) {
  const auto device = NewEmulatedDevice(0, {});
  OnDevice it(*device, 3, 4);
  Batch batch = DrawnSparseBatch(4, 0);
  batch.sparse.offsets = {0, 2, 3, 3, 4};
  batch.sparse.ids = {7, 30, 7, 12};
  batch.sparse.values = {1, 2, 3, 4};
  it.body.Begin(batch, it.View(), std::vector<int64_t>{0, 2, 4});
  for (const size_t part : {0, 1}) {
    it.body.Activations(part);
    std::fill_n(it.body.Gradient(part), 2 * 3, 1.0F);
    it.body.Backward(part);
  }
  it.body.Finish(it.View());
  EXPECT_EQ(it.body.rows(), 3);
  using Ids = std::vector<int32_t>;
  const auto ids = [&](size_t part) {
    const RowBlock block = it.body.Rows(part, 0);
    EXPECT_EQ(block.stride, 3);
    return Ids(block.rows.begin(), block.rows.end());
  };
  EXPECT_EQ(ids(0), (Ids{7, 30}));
  EXPECT_EQ(ids(1), Ids{12});
  // Of feature 7 in the first part: the column sums of the linear layer's weight times 1 + 3.
  const std::span<const float> weight = it.params.values(2).Host();
  for (int h = 0; h < 3; ++h)
    EXPECT_NEAR(it.body.Rows(0, 0).values[h], 4 * (weight[h] + weight[3 + h] + weight[6 + h]),
                1e-5);
}

}  // namespace yoke::device_body_test
