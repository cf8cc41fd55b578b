// PlanThreads: which cores threads get, on machines that are written down here; and a binding.
#include "base/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <numeric>
#include <thread>

namespace yoke::topology_test {

/// Two memory nodes of `cores` cores, each core of two hardware threads: ids as Linux counts them,
/// the second threads of all cores behind the first ones.
Topology TwoNodes(int cores) {
  Topology machine{.allowed = 4 * cores, .cores = 2 * cores, .nodes = 2};
  for (int core = 0; core < 2 * cores; ++core)
    for (int sibling = 0; sibling < 2; ++sibling)
      machine.places.push_back(
          {.id = core + sibling * 2 * cores, .core = core, .node = core / cores});
  return machine;
}

std::vector<int> All(const Topology& machine) {
  std::vector<int> ids;
  for (const Place& place : machine.places) ids.push_back(place.id);
  return ids;
}

std::vector<int> Ids(const ThreadPlan& plan) {
  std::vector<int> ids;
  for (const Place& place : plan.places) ids.push_back(place.id);
  return ids;
}

using Integers = std::vector<int>;

TEST(PlanThreads, TakesPhysicalCoresFirst) {
  const Topology machine = TwoNodes(2);
  const ThreadPlan plan = PlanThreads(machine, {.mask = All(machine)}, {});
  EXPECT_EQ(plan.threads, 4);
  EXPECT_EQ(Ids(plan), (Integers{0, 1, 2, 3})) << plan.reason;
  const ThreadPlan more = PlanThreads(machine, {.mask = All(machine)}, {.threads = 6});
  EXPECT_EQ(Ids(more), (Integers{0, 4, 1, 5, 2, 3})) << "node by node, core by core";
}

/// Two nodes of eight cores, four to a cache, two hardware threads each.
TEST(PlanThreads, PutsNeighboursOnNeighbouringCores) {
  Topology machine = TwoNodes(8);
  for (Place& place : machine.places) place.cache = place.core / 4;
  const ThreadPlan plan = PlanThreads(machine, {.mask = All(machine)}, {});
  Integers cores(16);
  std::iota(cores.begin(), cores.end(), 0);
  EXPECT_EQ(Ids(plan), cores) << "so a static division of a loop keeps to nodes and caches";
  EXPECT_NE(plan.reason.find("share its memory node and last cache"), std::string::npos);
  const ThreadPlan all = PlanThreads(machine, {.mask = All(machine)}, {.threads = 32});
  EXPECT_EQ(all.places[1].id, 16) << "the first core's second hardware thread";
  EXPECT_EQ(all.places[16].node, 1);
  for (const ThreadPlan& team : Divide(plan, 4))
    for (const Place& place : team.places) EXPECT_EQ(place.cache, team.places[0].cache);
}

TEST(PlanThreads, LetsARanksThreadsUseItsWholeBlock) {
  const Topology machine = TwoNodes(4);
  const ThreadPlan plan =
      PlanThreads(machine, {.mask = All(machine), .rank = {.rank = 1, .size = 2}}, {.threads = 2});
  EXPECT_EQ(plan.threads, 2);
  EXPECT_EQ(Ids(plan), (Integers{4, 5, 6, 7})) << plan.reason;
  EXPECT_EQ(Ids(Divide(plan, 2)[1]), (Integers{6, 7}));
}

TEST(PlanThreads, StaysInsideTheMask) {
  const Topology machine = TwoNodes(2);
  const ThreadPlan plan = PlanThreads(machine, {.mask = {2, 7}}, {});
  EXPECT_EQ(plan.threads, 2);
  EXPECT_EQ(Ids(plan), (Integers{2, 7})) << "7 is the second hardware thread of core 3";
  EXPECT_EQ(PlanThreads(machine, {.mask = {3, 7}}, {}).threads, 1) << "one core";
}

TEST(PlanThreads, DealsAMaskToTheRanksThatShareIt) {
  const Topology machine = TwoNodes(4);
  for (int rank = 0; rank < 4; ++rank) {
    const ThreadPlan plan =
        PlanThreads(machine, {.mask = All(machine), .rank = {.rank = rank, .size = 4}}, {});
    EXPECT_EQ(plan.threads, 2);
    EXPECT_EQ(Ids(plan), (Integers{2 * rank, 2 * rank + 1})) << plan.reason;
  }
}

TEST(PlanThreads, KeepsTheMaskThatALauncherGaveARank) {
  const Topology machine = TwoNodes(4);
  const ThreadPlan plan =
      PlanThreads(machine, {.mask = {4, 5, 12, 13}, .rank = {.rank = 2, .size = 4}}, {});
  EXPECT_EQ(Ids(plan), (Integers{4, 5})) << plan.reason;
}

TEST(PlanThreads, IsNotPinnedWhereThreadsCouldMeet) {
  const Topology machine = TwoNodes(4);
  const Integers all = All(machine), first_node = {0, 1, 2, 3, 8, 9, 10, 11};
  struct Case {
    Allowance allowance;
    ThreadRequest request;
    int threads;
    const char* reason;
  };
  const Case cases[] = {
      {{.mask = all}, {.pin = false}, 8, "node.pin is false"},
      {{.mask = all}, {.threads = 17}, 17, "17 threads would share 16 processors"},
      {{.mask = all}, {.threads = 7}, 7, "7 threads leave 1 core free"},
      {{.mask = all, .quota = 3}, {}, 3, "a quota of 3 cores"},
      {{.mask = first_node, .rank = {.rank = 1, .size = 4}}, {}, 2, "2 ranks share these cores"},
      {{.mask = all, .rank = {.rank = 1, .size = 4}},
       {.threads = 5},
       5,
       "5 threads would share 4 processors"},
      {{.mask = all, .rank = {.rank = 20, .size = 32}}, {}, 1, "1 thread would share 0"},
      {{.mask = {}}, {}, 1, "does not report"}};
  for (const Case& c : cases) {
    const ThreadPlan plan = PlanThreads(machine, c.allowance, c.request);
    EXPECT_EQ(plan.threads, c.threads) << c.reason;
    EXPECT_TRUE(plan.places.empty()) << c.reason;
    EXPECT_NE(plan.reason.find(c.reason), std::string::npos) << plan.reason;
  }
}

TEST(PlanThreads, SharesAQuotaAmongRanks) {
  const Topology machine = TwoNodes(4);
  const Allowance allowance{.mask = All(machine), .quota = 4, .rank = {.rank = 0, .size = 2}};
  EXPECT_EQ(PlanThreads(machine, allowance, {}).threads, 2);
}

TEST(Divide, GivesEachTeamNeighbours) {
  const Topology machine = TwoNodes(2);
  const ThreadPlan plan = PlanThreads(machine, {.mask = All(machine)}, {});
  const std::vector<ThreadPlan> nodes = Divide(plan, 2);
  EXPECT_EQ(Ids(nodes[0]), (Integers{0, 1}));
  EXPECT_EQ(Ids(nodes[1]), (Integers{2, 3}));
  const std::vector<ThreadPlan> three = Divide(plan, 3);
  EXPECT_EQ(three[0].threads + three[1].threads + three[2].threads, 4);
  EXPECT_EQ(Ids(three[2]).size(), 2U);
  for (const ThreadPlan& team : Divide(plan, 6)) EXPECT_EQ(team.threads, 1);
}

/// Sets environment variables for a scope.
class Environment {
 public:
  struct Variable {
    const char* name;
    const char* value;
  };
  Environment(std::initializer_list<Variable> variables) : variables_(variables) {
    for (const Variable& variable : variables_) setenv(variable.name, variable.value, 1);
  }
  ~Environment() {
    for (const Variable& variable : variables_) unsetenv(variable.name);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<Variable> variables_;
};

TEST(FindLocalRank, ReadsWhatLaunchersSay) {
  EXPECT_EQ(FindLocalRank().size, 1);
  {
    const Environment open_mpi(
        {{"OMPI_COMM_WORLD_LOCAL_RANK", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
    EXPECT_EQ(FindLocalRank().rank, 3);
    EXPECT_EQ(FindLocalRank().size, 4);
  }
  {
    const Environment mpich({{"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}});
    EXPECT_EQ(FindLocalRank().rank, 1);
  }
  {
    const Environment slurm({{"SLURM_LOCALID", "5"}, {"SLURM_STEP_TASKS_PER_NODE", "8(x2),3"}});
    EXPECT_EQ(FindLocalRank().rank, 5);
    EXPECT_EQ(FindLocalRank().size, 8);
    EXPECT_EQ(OnThisMachine({.rank = 1, .size = 2}).rank, 11);
    EXPECT_EQ(OnThisMachine({.rank = 1, .size = 2}).size, 16);
  }
  const Environment batch_script({{"SLURM_LOCALID", "0"}});
  EXPECT_EQ(FindLocalRank().size, 1);
}

int MaskSize() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

TEST(Binding, HoldsForAScopeAndForThreadsStartedInIt) {
  const Topology machine = FindTopology();
  ASSERT_FALSE(machine.places.empty());
  const Allowance allowance = FindAllowance();
  const int before = MaskSize();
  ThreadPlan plan;
  for (const Place& place : machine.places)
    if (place.id == allowance.mask.back()) plan.places.push_back(place);
  ASSERT_EQ(plan.places.size(), 1U);
  {
    const Binding binding(plan);
    EXPECT_EQ(sched_getcpu(), allowance.mask.back());
    int inside = 0;
    std::thread([&] { inside = MaskSize(); }).join();
    EXPECT_EQ(inside, 1);
  }
  EXPECT_EQ(MaskSize(), before);
}

TEST(FindTopology, CountsThisMachine) {
  const Topology machine = FindTopology();
  EXPECT_GE(machine.cores, 1);
  EXPECT_GE(machine.nodes, 1);
  EXPECT_GE(machine.allowed, MaskSize());
  EXPECT_GE(static_cast<int>(machine.places.size()), machine.allowed);
}

}  // namespace yoke::topology_test
