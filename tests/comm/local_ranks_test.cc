// LocalRanks: who is missing, in words; and that the processes of a launcher are found.
#include "comm/local_ranks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace yoke::local_ranks_test {

Launch Ranks(int size, int local_size) {
  return {.rank = 0, .size = size, .rank_variable = "PMI_RANK", .local_size = local_size};
}
LocalRankStatus Waiting(int rank) { return {.rank = rank, .process = 70 + rank, .joining = true}; }

TEST(LocalRanks, WhoIsMissingIsNamed) {
  const std::vector<LocalRankStatus> some = {
      Waiting(0),
      {.rank = 1, .process = 71, .joining = true, .stopped = true},
      {.rank = 3, .process = 73}};
  EXPECT_EQ(NameMissing(Ranks(4, 4), some),
            "rank 1 (process 71) is stopped, rank 3 (process 73) has not joined yet, rank 2 has "
            "ended");
  EXPECT_TRUE(OneHasEnded(Ranks(4, 4), some));
}

TEST(LocalRanks, OfOtherMachinesTheNumberIsKnown) {
  EXPECT_EQ(NameMissing(Ranks(4, 2), {Waiting(0), Waiting(2)}),
            "the 2 of this machine are here, so one of another machine is missing");
  EXPECT_EQ(NameMissing(Ranks(4, 2), {Waiting(0)}), "1 of the 2 ranks of this machine has ended");
  EXPECT_FALSE(OneHasEnded(Ranks(4, 2), {Waiting(0)}));
}

TEST(LocalRanks, WhereNobodyIsSeenNobodyIsNamed) {
  EXPECT_EQ(NameMissing(Ranks(2, 2), {}), "");
  EXPECT_FALSE(OneHasEnded(Ranks(2, 2), {}));
}

TEST(LocalRanks, TheLowestThatWaitsSpeaks) {
  const Launch second = {.rank = 1, .size = 3, .rank_variable = "PMI_RANK", .local_size = 3};
  EXPECT_FALSE(IsFirstToJoin(second, {Waiting(0), Waiting(1)}));
  EXPECT_TRUE(IsFirstToJoin(second, {{.rank = 0, .process = 70}, Waiting(1)}));
  EXPECT_TRUE(IsFirstToJoin(second, {{.rank = 0, .joining = true, .stopped = true}, Waiting(1)}));
}

/// A process whose environment makes it a rank.
int StartRank(int rank, const char* script) {
  const int process = fork();
  if (process != 0) return process;
  setenv("YOKE_TEST_RANK", std::to_string(rank).c_str(), 1);
  execl("/bin/sh", "sh", "-c", script, nullptr);
  _exit(127);
}

TEST(LocalRanks, RanksOfTheSameLauncherAreFound) {
  const int first = StartRank(0, "exec sleep 30"), second = StartRank(1, "kill -STOP $$");
  const Launch launch = {.rank = 0, .size = 3, .rank_variable = "YOKE_TEST_RANK", .local_size = 3};
  std::vector<LocalRankStatus> found;
  for (int look = 0; look < 200; ++look) {
    found = FindLocalRanks(launch, first);
    if (found.size() == 2 && found[1].stopped) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].rank, 0);
  EXPECT_FALSE(found[0].stopped);
  EXPECT_FALSE(found[0].joining);
  EXPECT_EQ(found[1].process, second);
  EXPECT_TRUE(found[1].stopped);
  EXPECT_TRUE(OneHasEnded(launch, found));
  for (const int process : {first, second}) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
}

}  // namespace yoke::local_ranks_test
