// TeamRecord: spans of known work, by teams of more threads than there are cores.
#include "measure/team_record.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/check.h"
#include "kernels/support/threads.h"
#include "kernels/threads.h"
#include "measure/growth.h"

namespace yoke::team_record_test {

constexpr double kUnit = 0.01;  // seconds of CPU
constexpr int kTeam = 8;

void Work(double seconds) {
  for (const double until = ThreadCpuSeconds() + seconds; ThreadCpuSeconds() < until;) continue;
}

WorkTimes SumOf(const StepRecord& step) {
  WorkTimes sum;
  for (const auto& [work, times] : UsualStep({step})) sum += times;
  return sum;
}

TEST(SpanOf, IsThatOfTheLastThread) {
  EXPECT_EQ(SpanOf({{.fixed = 1}, {.fixed = 3}, {.fixed = 2}}), 3);
  EXPECT_EQ(SpanOf({{.fixed = 1}, {}}), 1);
}

TEST(SpanOf, GivesPiecesToWhoIsFreeInTheOrderOfTheLoop) {
  // One thread had them all, as on one core. Two: 4 | 1 2 2; in this order 1 | 2, then 2, then 4.
  const std::vector<LoopPiece> pieces = {{0, 1}, {1, 2}, {2, 2}, {3, 4}};
  EXPECT_EQ(SpanOf({{.pieces = pieces}, {}}), 6);
  EXPECT_EQ(SpanOf({{.pieces = {pieces[3], pieces[0]}}, {.pieces = {pieces[2], pieces[1]}}}), 6);
  EXPECT_EQ(SpanOf({{.pieces = pieces}, {}, {}, {}}), 4);
  EXPECT_EQ(SpanOf({{.fixed = 9, .pieces = pieces}, {}}), 9);
}

class TeamRecords : public testing::Test {
 protected:
  void SetUp() override {
    if (team_.team() < kTeam) GTEST_SKIP() << "the environment limits teams";
  }

  const Threads team_{kTeam};
};

TEST_F(TeamRecords, EvenWorkIsDoneInItsPart) {
  TeamRecord record;
#pragma omp parallel num_threads(kTeam)
  Work(kUnit);
  const StepRecord step = record.Take();
  EXPECT_NEAR(SumOf(step).busy, kTeam * kUnit, kUnit);
  EXPECT_NEAR(SumOf(step).span, kUnit, kUnit / 2);
  EXPECT_EQ(SumOf(step).meetings, 1);
}

TEST_F(TeamRecords, UnevenWorkIsDoneWithItsLastThread) {
  TeamRecord record;
#pragma omp parallel num_threads(kTeam)
  if (TeamThread() == kTeam - 1) Work(4 * kUnit);
  EXPECT_NEAR(SumOf(record.Take()).span, 4 * kUnit, kUnit);
}

TEST_F(TeamRecords, ABarrierEndsAPhase) {
  TeamRecord record;
#pragma omp parallel num_threads(kTeam)
  {
    if (TeamThread() == 0) Work(2 * kUnit);
#pragma omp barrier
    if (TeamThread() == 1) Work(3 * kUnit);
  }
  const StepRecord step = record.Take();
  EXPECT_NEAR(SumOf(step).span, 5 * kUnit, kUnit);
  EXPECT_EQ(SumOf(step).meetings, 2);
}

/// Whichever thread took the pieces here: eight would take one each.
TEST_F(TeamRecords, PiecesOfALoopAreDealtAnew) {
  TeamRecord record;
  ForEachOnTeam(kTeam, [](int64_t) { Work(kUnit); });
  EXPECT_NEAR(SumOf(record.Take()).span, kUnit, kUnit / 2);
  ForEachOnTeam(kTeam + 1, [](int64_t) { Work(kUnit); });
  EXPECT_NEAR(SumOf(record.Take()).span, 2 * kUnit, kUnit / 2);
}

TEST_F(TeamRecords, WorkOutsideIsOneThreads) {
  TeamRecord record;
  Work(kUnit);
#pragma omp parallel num_threads(kTeam)
  Work(kUnit);
  Work(kUnit);
  double alone = 0;
  for (const auto& [work, times] : UsualStep({record.Take()}))
    if (work.function.empty()) alone += times.span;
  EXPECT_NEAR(alone, 2 * kUnit, kUnit / 2);
}

TEST_F(TeamRecords, TimesBelongToTheLabel) {
  TeamRecord record;
  {
    const WorkLabel label({"linear1", "forward"});
    Work(kUnit);
  }
  {
    const WorkLabel label({"linear1", "backward"});
    Work(2 * kUnit);
  }
  Work(kUnit);
  const StepTimes step = UsualStep({record.Take()});
  EXPECT_NEAR(step.at({"linear1", "forward", ""}).span, kUnit, kUnit / 2);
  EXPECT_NEAR(step.at({"linear1", "backward", ""}).span, 2 * kUnit, kUnit / 2);
  EXPECT_NEAR(step.at({"", "", ""}).span, kUnit, kUnit / 2);
}

/// Code that a team calls has teams of one; their barriers are none of the outer team.
TEST_F(TeamRecords, ARegionInsideBelongsToTheOuterOne) {
  TeamRecord record;
#pragma omp parallel num_threads(kTeam)
  {
    Work(kUnit);
#pragma omp parallel num_threads(1)
    {
      Work(kUnit);
#pragma omp barrier
    }
  }
  const StepRecord step = record.Take();
  EXPECT_NEAR(SumOf(step).span, 2 * kUnit, kUnit);
  EXPECT_EQ(SumOf(step).meetings, 1);
}

TEST_F(TeamRecords, OtherThreadsAreNotRecorded) {
  TeamRecord record;
  std::thread([] {
    Work(2 * kUnit);
#pragma omp parallel num_threads(2)
    Work(kUnit);
  }).join();
  EXPECT_LT(SumOf(record.Take()).busy, kUnit);
}

TEST_F(TeamRecords, ARegionHasTheNameOfItsFunction) {
  TeamRecord record;
  ForEachOnTeam(2, [](int64_t) { Work(kUnit / 10); });
  bool named = false;
  for (const auto& [work, times] : record.Take()) named |= work.function == "ForEachOnTeam";
  EXPECT_TRUE(named);
}

}  // namespace yoke::team_record_test
