// ForEachOnTeam: every index once, kernels alone on their thread, errors carried out.
#include "kernels/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(ForEachOnTeam, GivesFewIndicesTheWholeTeamInOrder) {
  const Threads threads(3);
  std::vector<int64_t> order;
  ForEachOnTeam(2, [&](int64_t i) {
    order.push_back(i);
    EXPECT_EQ(KernelThreads(), threads.team());
    EXPECT_EQ(TeamThread(), 0);
  });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1}));
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
