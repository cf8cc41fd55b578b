// StepLoss: the mean, in the order of calls, and what stops.
#include "kernels/losses.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::step_loss_test {

struct Told {
  double loss = 0, stop = 0;
};

/// Of a model with as many losses.
Told Of(Device& device, const std::vector<std::vector<float>>& losses) {
  const Buffer loss(device.staging(), sizeof(double)), stop(device, sizeof(double));
  const auto kernel = MakeStepLoss({.device = &device, .stream = &device.stream()});
  for (const std::vector<float>& one : losses) {
    const Buffer there = CopyOn(device, one);
    kernel->Forward({.losses = there.As<float>(),
                     .count = static_cast<int64_t>(one.size()),
                     .first = &one == &losses.front(),
                     .last = &one == &losses.back(),
                     .loss = loss.As<double>(),
                     .stop = stop.As<double>()});
    device.stream().Wait();
  }
  return {*loss.As<double>(), ValuesOf(AllOf<double>(stop))[0]};
}

TEST(StepLoss, IsTheMeanAndStopsWhatIsNotPossible) {
  const auto emulated = NewEmulatedDevice(0, {});
  for (Device* device : {&Cpu(), emulated.get()}) {
    SCOPED_TRACE(device->name());
    EXPECT_EQ(Of(*device, {{1, 2, 6}}).loss, 3);
    EXPECT_EQ(Of(*device, {{1, 2}, {4, 7}}).loss, 7);
    EXPECT_EQ(Of(*device, {{1, -1e-4F}}).stop, 0);
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    for (const float bad : {-9.0F, kInfinite, std::numeric_limits<float>::quiet_NaN()})
      EXPECT_EQ(Of(*device, {{1, 1}, {bad, 1}}).stop, 1) << bad;
  }
}

}  // namespace yoke::step_loss_test
