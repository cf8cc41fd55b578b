// WorkerThreads: each member is called once a run, with kernel threads of its own; errors come
// back.
#include "node/worker_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>

#include "kernels/threads.h"

namespace yoke::worker_threads_test {

TEST(WorkerThreads, CallsEachMemberOnceARun) {
  WorkerThreads workers({{.threads = 1}, {.threads = 1}, {.threads = 1}});
  std::vector<int> calls(3, 0);
  for (int run = 0; run < 100; ++run) workers.Run([&](int i) { ++calls[i]; });
  EXPECT_EQ(calls, (std::vector<int>{100, 100, 100}));
}

TEST(WorkerThreads, MembersKeepTheirThreads) {
  WorkerThreads workers({{.threads = 1}, {.threads = 2}});
  std::vector<int> threads(2, 0);
  std::vector<std::thread::id> first(2), second(2);
  workers.Run([&](int i) { threads[i] = KernelThreads(), first[i] = std::this_thread::get_id(); });
  workers.Run([&](int i) { second[i] = std::this_thread::get_id(); });
  EXPECT_EQ(threads[0], 1);
  EXPECT_LE(threads[1], 2);
  EXPECT_EQ(first, second);
  EXPECT_NE(first[0], first[1]);
}

TEST(WorkerThreads, ThrowsWhatAMemberThrewAndGoesOn) {
  WorkerThreads workers({{.threads = 1}, {.threads = 1}});
  EXPECT_THROW(workers.Run([](int i) {
    if (i == 1) throw std::runtime_error("x");
  }),
               std::runtime_error);
  std::atomic<int> calls = 0;
  workers.Run([&](int) { ++calls; });
  EXPECT_EQ(calls, 2);
}

}  // namespace yoke::worker_threads_test
