// TouchFirst: each thread of the team takes its part of the pages, and the values stay zeros.

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "kernels/support/threads.h"
#include "optim/rule.h"

namespace yoke::first_touch_test {

long FaultsOfThisThread() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_minflt;
}

TEST(ThreadPart, DealsWholeLines) {
  EXPECT_EQ(ThreadPart(100, 0, 2), (std::pair<int64_t, int64_t>{0, 48}));
  EXPECT_EQ(ThreadPart(100, 1, 2), (std::pair<int64_t, int64_t>{48, 100}));
  EXPECT_EQ(ThreadPart(10, 1, 2), (std::pair<int64_t, int64_t>{0, 10})) << "the last has a rest";
}

TEST(TouchFirst, GivesEachThreadThePagesThatItUpdates) {
  const Threads threads(2);
  if (threads.team() < 2) GTEST_SKIP() << "this process may have no team";
  ParamLayout layout;
  for (const char* name : {"first", "second"})
    layout.Add({.name = name, .shape = {16 << 20}, .initializer = "zeros"});
  layout.Pack();
  const ParamStore params(layout, Cpu());
  std::vector<long> before(2), after(2);
#pragma omp parallel
  before[omp_get_thread_num()] = FaultsOfThisThread();
  TouchFirst(params);
#pragma omp parallel
  after[omp_get_thread_num()] = FaultsOfThisThread();
  // 128 MiB are 64 huge pages, half of them for each thread, or many small ones.
  for (int thread = 0; thread < 2; ++thread) EXPECT_GE(after[thread] - before[thread], 28);
  const std::span<const float> values = params.values().Host();
  EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return value == 0; }));
}

}  // namespace yoke::first_touch_test
