// ChipParts: teams between one thread and all, and what the parts hold.
#include "node/chip_parts.h"

#include <gtest/gtest.h>

#include "base/registry.h"
#include "node/executor.h"
#include "node/speed_curve.h"
#include "node/support/job.h"

namespace yoke::chip_parts_test {

constexpr int kCores = 16;

/// Work is arithmetic, or with `near_bytes` bytes of memory.
SpeedCurve Chip(double near_bytes = 0) {
  return {.operations_per_second = near_bytes > 0 ? 1e30 : 1e9,
          .bytes_per_second = near_bytes > 0 ? 1e9 : 1e30,
          .threads = kCores,
          .team_loss = 0.1,
          .near_bytes = near_bytes,
          .far_bytes_per_second = 1e8};
}

double Seconds(const SpeedCurve& curve, const ChipParts& chip) {
  static const testing_support::Job job({.batch = 64, .widths = {32}});
  const auto seconds = [&](const Cost& cost, const WorkPlace& place) {
    return curve.Seconds(cost, place);
  };
  return SecondsInParts(seconds, job.graph(), 64, chip);
}

TEST(ChipParts, EachTeamLosesForItsFurtherCores) {
  const double whole = Seconds(Chip(), {});
  for (const int parts : {2, 4, 8, 16}) {
    const double team = 1 + 0.1 * (static_cast<double>(kCores) / parts - 1);
    EXPECT_NEAR(Seconds(Chip(), {.parts = parts}) / whole, team / (1 + 0.1 * (kCores - 1)), 0.06);
  }
}

TEST(ChipParts, WithoutALossPartsOnlyCost) {
  SpeedCurve chip = Chip();
  chip.team_loss = 0;
  EXPECT_GT(Seconds(chip, {.parts = 4}), Seconds(chip, {}));
  EXPECT_LT(Seconds(chip, {.parts = 4}), 1.1 * Seconds(chip, {}));
}

/// Four parts hold all data four times, and read from far memory what does not fit.
TEST(ChipParts, HoldTheirDataInNearMemoryOrReadItFromAfar) {
  constexpr double kData = 1e9;
  const double fits = Seconds(Chip(1e11), {.parts = 4, .data_bytes = kData});
  const double half = Seconds(Chip(2e9), {.parts = 4, .data_bytes = kData});
  EXPECT_NEAR(half / fits, 0.5 + 0.5 * 10, 0.5);
}

TEST(ChipParts, OnePartReadsFromAfarToo) {
  constexpr double kData = 1e9;
  const double fits = Seconds(Chip(1e11), {.data_bytes = kData});
  const double half = Seconds(Chip(kData / 2), {.data_bytes = kData});
  EXPECT_NEAR(half / fits, 0.5 + 0.5 * 10, 0.1);
}

/// `split` without parts and `single` are predicted as one part, from afar too.
TEST(ChipParts, APredictionPaysForFarMemory) {
  const testing_support::Job job({.batch = 64, .widths = {32}});
  const auto seconds = [&](const char* name, double near_bytes, const Table& node = {}) {
    const ExecutorEntry& entry = FindEntry(executors(), "executor", name);
    const EstimateRequest request{
        .graph = job.graph(), .batch = 64, .epoch = 1000000, .speeds = {{"cpu", Chip(near_bytes)}}};
    return entry.estimate(Options("node", node, entry.options), request).seconds_per_example;
  };
  const double data = ChipPartsOf({}, job.graph().task(), 1000000).data_bytes;
  EXPECT_EQ(data, 4.0 * 784 * 1000000);
  for (const char* name : {"single", "split"})
    EXPECT_NEAR(seconds(name, data / 2) / seconds(name, 1e11), 0.5 + 0.5 * 10, 0.1);
  EXPECT_NEAR(seconds("split", 2 * data, {{"parts", 4}}) / seconds("split", 1e11, {{"parts", 4}}),
              0.5 + 0.5 * 10, 0.5);
}

TEST(ChipParts, SparseDataCountAsNone) {
  ModelTask task{.input = {.shape = Shape{1000000}, .sparse = true}, .outputs = 10};
  EXPECT_EQ(ChipPartsOf({}, task, 1000).data_bytes, 0);
  task.input.sparse = false;
  EXPECT_EQ(ChipPartsOf({}, task, 1000).data_bytes, 4e9);
}

}  // namespace yoke::chip_parts_test
