// Places of teams' threads: those that share a cache with their own one, for every thread that
// OpenMP's library starts, until the binding ends.
#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <memory>
#include <thread>
#include <vector>

#include "base/topology.h"
#include "kernels/support/threads.h"
#include "kernels/threads.h"

namespace yoke::team_hooks_test {

using Mask = std::vector<int>;

Mask ThisMask() {
  Mask ids;
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  for (int id = 0; id < CPU_SETSIZE; ++id)
    if (CPU_ISSET(id, &set)) ids.push_back(id);
  return ids;
}

std::vector<Mask> MasksOfTeam(int threads) {
  std::vector<Mask> masks(threads);
#pragma omp parallel num_threads(threads)
  masks[omp_get_thread_num()] = ThisMask();
  return masks;
}

/// Threads on the first two processors of this process in turn, which share no cache.
ThreadPlan PlanOf(int threads, const Mask& usable) {
  ThreadPlan plan{.threads = threads, .places = {}, .reason = {}};
  for (int i = 0; i < threads; ++i)
    plan.places.push_back({.id = usable[i % 2], .core = i, .cache = i % 2});
  return plan;
}

TEST(TeamPlaces, HoldForThreadsThatStartAgain) {
  const Mask before = ThisMask();
  const Threads threads(3);
  if (before.size() < 2 || threads.team() < 3) GTEST_SKIP() << "needs a team on two processors";
  const Mask both = {before[0], before[1]}, first = {before[0]}, second = {before[1]};
  {
    const Binding binding(PlanOf(3, before));
    EXPECT_EQ(MasksOfTeam(3), (std::vector{both, second, first})) << "the leader has all";
    EXPECT_EQ(MasksOfTeam(2), (std::vector{both, second})) << "a team that has shrunk";
    EXPECT_EQ(MasksOfTeam(3), (std::vector{both, second, first})) << "and grown";
    EXPECT_EQ(MasksOfTeam(4)[3], both) << "a thread beyond the plan";
    {
      const Binding inner(PlanOf(1, before));
      EXPECT_EQ(MasksOfTeam(3), std::vector(3, first)) << "a plan without neighbourhoods";
    }
    EXPECT_EQ(MasksOfTeam(3), (std::vector{both, second, first}));
    Mask of_reader;
    std::thread([&] { of_reader = ThisMask(); }).join();
    EXPECT_EQ(of_reader, both) << "a thread that the leader starts";
  }
  MasksOfTeam(1);  // the others wait, and have their places still
  EXPECT_EQ(MasksOfTeam(3), std::vector(3, before));
}

TEST(TeamPlaces, AreThoseOfEachTeam) {
  const Mask before = ThisMask();
  const Threads threads(2);
  if (before.size() < 2 || threads.team() < 2) GTEST_SKIP() << "needs a team on two processors";
  const std::vector<ThreadPlan> parts = Divide(PlanOf(4, before), 2);
  for (const ThreadPlan& part : parts)
    std::thread([&] {
      const Binding binding(part);
      SetKernelThreads(2);
      const Mask second = {part.places[1].id};
      EXPECT_EQ(MasksOfTeam(2)[1], second);
    }).join();
  EXPECT_EQ(MasksOfTeam(2), std::vector(2, before)) << "not bound";
}

TEST(TeamPlaces, AreNoneWhereThreadsShareThem) {
  const Mask before = ThisMask();
  const Threads threads(2);
  if (before.size() < 2 || threads.team() < 2) GTEST_SKIP() << "needs a team on two processors";
  ThreadPlan plan = PlanOf(2, before);
  plan.places.push_back(plan.places[0]);
  const Binding binding(plan);
  EXPECT_EQ(MasksOfTeam(2), std::vector(2, Mask{before[0], before[1]}));
}

TEST(Binding, MayEndInAnyOrder) {
  const Mask before = ThisMask();
  if (before.size() < 2) GTEST_SKIP() << "needs two processors";
  std::thread([&] {
    auto first = std::make_unique<Binding>(PlanOf(2, before));
    auto second = std::make_unique<Binding>(PlanOf(2, before));
    first.reset();
    EXPECT_NE(Binding::OfTeam(), nullptr);
    second.reset();
    EXPECT_EQ(Binding::OfTeam(), nullptr);
  }).join();
}

}  // namespace yoke::team_hooks_test
