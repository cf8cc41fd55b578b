// Threads: they run, there are as many as were asked for, and they flush denormals; ParallelFor
// covers its range once and passes on exceptions. What the program says where the system refuses
// some is in tests/cli/limits_test.py.
#include "base/thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/check.h"

namespace yoke::thread_test {

TEST(Thread, RunsItsWork) {
  int done = 0;
  StartThread([&done] { done = 1; }).join();
  EXPECT_EQ(done, 1);
}

TEST(Thread, SeveralCanRunAtOnce) {
  RequireThreads(0);
  RequireThreads(20);
}

TEST(Thread, ARefusalSaysHowManyAndWhatToDo) {
  try {
    RefuseThreads(3, 7);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("3 of 7 additional threads"), said.npos) << said;
    EXPECT_NE(said.find("ulimit -u"), said.npos) << said;
    EXPECT_EQ(error.exit_status(), 1);
  }
}

TEST(ParallelFor, CoversEveryIndexOnce) {
  for (int64_t n : {0, 1, 5, 1000}) {
    std::vector<std::atomic<int>> hits(n);
    ParallelFor(n, 3, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) ++hits[i];
    });
    for (auto& hit : hits) EXPECT_EQ(hit, 1);
  }
}

TEST(ParallelFor, ThrowsWhatABodyThrew) {
  EXPECT_THROW(ParallelFor(8, 4,
                           [](int64_t b, int64_t) {
                             if (b > 0) throw std::out_of_range("x");
                           }),
               std::out_of_range);
}

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

}  // namespace yoke::thread_test
