// easgd_async_momentum: sgd becomes momentum, whose velocity sums steps.
#include <gtest/gtest.h>

#include "base/registry.h"
#include "strategy/strategy.h"

namespace yoke::easgd_async_momentum_test {

TEST(EasgdAsyncMomentum, AsksForMomentum) {
  EXPECT_TRUE(FindEntry(strategies(), "strategy", "easgd_async_momentum").forces_momentum);
  EXPECT_FALSE(FindEntry(strategies(), "strategy", "easgd_async").forces_momentum);
  EXPECT_TRUE(FindEntry(strategies(), "strategy", "easgd_async_momentum").sums_steps({}));
  EXPECT_FALSE(FindEntry(strategies(), "strategy", "easgd_async").sums_steps({}));
}

}  // namespace yoke::easgd_async_momentum_test
