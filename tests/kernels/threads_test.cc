// ForEachOnTeam: every index once, kernels alone on their thread, errors carried out. FlushScope
// gives a thread and its team back as they were.
#include "kernels/threads.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/check.h"
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

TEST(FlushScope, GivesBackOpenMPsSetting) {
  std::thread([] {
    omp_set_dynamic(1);
    { const FlushScope flush; }
    EXPECT_EQ(omp_get_dynamic(), 1);
  }).join();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// Exits with 0 if a thread is given back after the system has refused its team: no address space
/// is left for a further thread's stack.
[[noreturn]] void BeRefused() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * getpagesize() + (1 << 20));
  const rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  omp_set_dynamic(1);
  omp_set_num_threads(2);
  try {
    const FlushScope flush;
  } catch (const Error&) {
    _exit(!FlushesDenormals() && omp_get_dynamic() == 1 ? 0 : 1);
  }
  _exit(2);
}

TEST(FlushScope, GivesTheThreadBackWhereItsTeamIsRefused) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(BeRefused(), testing::ExitedWithCode(0), "");
}
#endif

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
