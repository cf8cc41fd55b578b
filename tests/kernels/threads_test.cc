// ForEachOnTeam: every index once, kernels alone on their thread, errors carried out.
#include "kernels/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/thread.h"
#include "kernels/support/threads.h"

namespace yoke::threads_test {

/// Members of the team of this size that flush denormals.
int Flushing(int team) {
  std::atomic<int> count = 0;
#pragma omp parallel num_threads(team)
  count += FlushesDenormals() ? 1 : 0;
  return count;
}

TEST(FlushScope, LetsTheTeamFlushAndGivesItBack) {
  const Threads threads(3);
  const int team = threads.team();
  EXPECT_EQ(Flushing(team), 0);
  {
    const FlushScope flush;
    EXPECT_EQ(Flushing(team), team) << "a team that was there before";
    const Threads fewer(2);
    EXPECT_EQ(Flushing(fewer.team()), fewer.team()) << "a team that began later";
    const FlushScope inner;
  }
  SetKernelThreads(3);
  EXPECT_EQ(Flushing(team), 0);
  EXPECT_FALSE(FlushesDenormals());
}

TEST(FlushScope, LetsATeamFlushThatNobodySet) {
  std::thread([] {
    const int team = KernelThreads();
    EXPECT_EQ(Flushing(team), 0);
    {
      const FlushScope flush;
      EXPECT_EQ(Flushing(team), team);
    }
    EXPECT_EQ(Flushing(team), 0);
  }).join();
}

TEST(ForEachOnTeam, CallsEachIndexOnceWithKernelsOfOneThread) {
  const Threads threads(2);
  std::vector<std::atomic<int>> calls(50);
  std::atomic<int> widest = 0, highest = 0;
  ForEachOnTeam(50, [&](int64_t i) {
    ++calls[static_cast<size_t>(i)];
    widest = std::max(widest.load(), KernelThreads());
    highest = std::max(highest.load(), TeamThread());
  });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
  EXPECT_EQ(widest, 1);
  EXPECT_LT(highest, threads.team());
  EXPECT_EQ(KernelThreads(), threads.team()) << "the caller's threads are as before";
}

TEST(ForEachOnTeam, GivesFewIndicesAThreadEachToo) {
  const Threads threads(3);
  std::array<std::atomic<int>, 2> calls = {};
  ForEachOnTeam(2, [&](int64_t i) {
    ++calls[static_cast<size_t>(i)];
    EXPECT_EQ(KernelThreads(), 1);
  });
  for (const auto& count : calls) EXPECT_EQ(count, 1);
}

TEST(WaitsFor, IsTrueWhereMuchOfATeamWouldWait) {
  const auto waits = [](int64_t count, int threads) {
    const Threads scope(threads);
    return WaitsFor(count);
  };
  if (Threads(16).team() < 16) GTEST_SKIP() << "teams are smaller here";
  EXPECT_FALSE(waits(0, 4));
  EXPECT_FALSE(waits(1, 1));
  EXPECT_FALSE(waits(3, 2));
  EXPECT_TRUE(waits(1, 2));
  EXPECT_TRUE(waits(2, 3));
  EXPECT_TRUE(waits(4, 16));
  EXPECT_FALSE(waits(15, 16));
  EXPECT_TRUE(waits(17, 16));
  EXPECT_FALSE(waits(40, 16));
}

TEST(ForEachOnTeam, ThrowsWhatABodyThrew) {
  for (const int64_t count : {1, 8}) {
    const Threads threads(2);
    EXPECT_THROW(ForEachOnTeam(count,
                               [](int64_t i) {
                                 if (i == 0) throw std::runtime_error("x");
                               }),
                 std::runtime_error);
    EXPECT_EQ(KernelThreads(), threads.team());
  }
}

}  // namespace yoke::threads_test
