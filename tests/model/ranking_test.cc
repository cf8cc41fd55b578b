// Scorer: a device's scores are the CPU's.
#include "model/ranking.h"

#include <gtest/gtest.h>

#include "kernels/normalize.h"
#include "model/support/model.h"
#include "tensor/emulated.h"

namespace yoke::ranking_test {

using testing_support::LayerTable;
using testing_support::Linear;
using testing_support::Model;

std::vector<float> Copied(std::span<const float> scores) { return {scores.begin(), scores.end()}; }

TEST(Scorer, GivesADevicesScoresToTheHost) {
  const auto device = NewEmulatedDevice(0, {});
  for (const DType type : {DType::kF32, DType::kBf16}) {
    Model m({Linear(5), LayerTable("tanh"), Linear(3)});
    ParamStore values(m.graph.layout(), *device);
    Scorer here(m.graph, {.batch = 4, .arithmetic = type});
    Scorer there(m.graph, {.batch = 4, .arithmetic = type, .target = {.device = device.get()}});
    for (int round = 0; round < 2; ++round) {
      Copy(values.values(), m.params.values());
      const std::vector<float> expected = Copied(here.Forward(m.batch, m.params.View()));
      EXPECT_EQ(Copied(there.Forward(m.batch, values.View())), expected);
      EXPECT_EQ(there.Loss(), here.Loss());
      m.params.values().Host()[0] += 1;
    }
  }
}

TEST(Scorer, MakesInputOfBytes) {
  const auto device = NewEmulatedDevice(0, {});
  Model m({Linear(5), LayerTable("tanh"), Linear(3)});
  ParamStore values(m.graph.layout(), *device);
  Copy(values.values(), m.params.values());
  Batch bytes;
  bytes.size = 4;
  bytes.ResizeDense({6}, DType::kU8);
  auto* const stored = bytes.dense.As<uint8_t>();
  for (int i = 0; i < 24; ++i) stored[i] = static_cast<uint8_t>(10 * i);
  bytes.classes = m.batch.classes;
  Scorer here(m.graph, {.batch = 4});
  Scorer there(m.graph, {.batch = 4, .target = {.device = device.get()}});
  for (const float factor : {0.01F, 0.02F}) {
    bytes.scales = {factor, -1, 0};
    NormalizeExample(stored, {24}, {1, bytes.scales.data()}, nullptr, m.batch.dense.As<float>());
    const std::vector<float> expected = Copied(here.Forward(m.batch, m.params.View()));
    EXPECT_EQ(Copied(here.Forward(bytes, m.params.View())), expected);
    EXPECT_EQ(Copied(there.Forward(bytes, values.View())), expected);
  }
}

}  // namespace yoke::ranking_test
