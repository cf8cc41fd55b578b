// FindGroupLimits: the least limit from a process's own group to the root of each hierarchy; cores
// are counted by affinity.
#include "base/resources.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/files.h"
#include "base/support/large.h"

namespace yoke::resources_test {

/// A folder that stands for the root of a file system.
class ControlGroupTest : public testing::Test {
 protected:
  /// Writes a line to a file, and makes its folders.
  void Write(const std::string& file, const std::string& line) {
    const std::filesystem::path path = std::filesystem::path(folder_.path()) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << line << "\n";
  }
  GroupLimits Find() { return FindGroupLimits(folder_.path()); }

 private:
  TemporaryFolder folder_{"yoke-groups"};
};

TEST_F(ControlGroupTest, WithoutGroupsNothingIsLimited) {
  EXPECT_TRUE(std::isinf(Find().cores));
  EXPECT_EQ(Find().memory, std::numeric_limits<int64_t>::max());
}

TEST_F(ControlGroupTest, Version2TakesTheLeastOnTheWay) {
  Write("proc/self/cgroup", "0::/batch.slice/job 1/step");
  Write("sys/fs/cgroup/cpu.max", "max 100000");
  Write("sys/fs/cgroup/batch.slice/cpu.max", "400000 100000");
  Write("sys/fs/cgroup/batch.slice/memory.max", "3000000000");
  Write("sys/fs/cgroup/batch.slice/job 1/cpu.max", "75000 50000");
  Write("sys/fs/cgroup/batch.slice/job 1/memory.max", "max");
  Write("sys/fs/cgroup/batch.slice/job 1/step/cpu.max", "max 100000");
  Write("sys/fs/cgroup/batch.slice/job 1/step/memory.max", "5000000000");
  Write("sys/fs/cgroup/batch.slice/job 2/memory.max", "1000");  // another's
  EXPECT_EQ(Find().cores, 1.5);
  EXPECT_EQ(Find().memory, 3000000000);
}

TEST_F(ControlGroupTest, Version1HasAHierarchyForEachController) {
  Write("proc/self/cgroup",
        "5:name=systemd:/\n4:memory:/service/own\n3:cpu,cpuacct:/service\n0::/none");
  Write("sys/fs/cgroup/cpu,cpuacct/service/cpu.cfs_quota_us", "250000");
  Write("sys/fs/cgroup/cpu,cpuacct/service/cpu.cfs_period_us", "100000");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  Write("sys/fs/cgroup/memory/service/memory.limit_in_bytes", "2147483648");
  Write("sys/fs/cgroup/memory/service/own/memory.limit_in_bytes", "9223372036854771712");
  EXPECT_EQ(Find().cores, 2.5);
  EXPECT_EQ(Find().memory, 2147483648);
}

TEST_F(ControlGroupTest, AContainerMaySeeItsOwnGroupAsTheRoot) {
  Write("proc/self/cgroup", "2:cpu:/docker/0a1b\n1:memory:/docker/0a1b");
  Write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000");
  Write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824");
  EXPECT_EQ(Find().cores, 0.5);
  EXPECT_EQ(Find().memory, 1073741824);
}

TEST_F(ControlGroupTest, BothVersionsSideBySide) {
  Write("proc/self/cgroup", "1:memory:/own\n0::/own");
  Write("sys/fs/cgroup/memory/own/memory.limit_in_bytes", "2000000000");
  Write("sys/fs/cgroup/unified/own/cpu.max", "100000 100000");
  EXPECT_EQ(Find().cores, 1);
  EXPECT_EQ(Find().memory, 2000000000);
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

TEST(Memory, ATestThatNeedsMoreIsSkippedWithAReason) {
  EXPECT_FALSE(LacksGibibytes(0));
  const auto why = LacksGibibytes(1e6);
  ASSERT_TRUE(why);
  EXPECT_NE(why->find("needs 1000000.0 GiB of memory"), why->npos) << *why;
}

}  // namespace yoke::resources_test
