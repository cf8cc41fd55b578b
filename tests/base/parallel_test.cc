// ParallelFor covers its range once, passes on exceptions; cores are counted by affinity.
#include "base/parallel.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace yoke::parallel_test {

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

TEST(UsableCores, FollowsTheAffinityMask) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(UsableCores(), 1);
  sched_setaffinity(0, sizeof all, &all);
}

}  // namespace yoke::parallel_test
