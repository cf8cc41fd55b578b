// FlushDenormals: what a thread computes, and that its own threads do the same.
#include "base/denormals.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "base/thread.h"

namespace yoke::denormals_test {

/// Half of the smallest normal number, or 0 where denormals are flushed.
float Half() {
  volatile float least = std::numeric_limits<float>::min();
  return least * 0.5F;
}

/// A denormal in memory, times 1e30: 0 where it is taken as 0.
float Raised() {
  volatile float denormal = std::numeric_limits<float>::denorm_min();
  return denormal * 1e30F;
}

TEST(Denormals, AreFlushedUntilTheThreadIsGivenBack) {
  EXPECT_GT(Half(), 0);
  EXPECT_GT(Raised(), 0);
  const uint32_t before = FlushDenormals();
  EXPECT_TRUE(FlushesDenormals());
  EXPECT_EQ(Half(), 0);
  EXPECT_EQ(Raised(), 0);
  ComputeAs(before);
  EXPECT_FALSE(FlushesDenormals());
  EXPECT_GT(Half(), 0);
  EXPECT_GT(Raised(), 0);
}

TEST(Denormals, AreFlushedByThreadsThatAreStarted) {
  bool flushes = false;
  StartThread([&] { flushes = FlushesDenormals(); }).join();
  EXPECT_TRUE(flushes);
  EXPECT_FALSE(FlushesDenormals());
}

}  // namespace yoke::denormals_test
