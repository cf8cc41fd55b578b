// Rounds: every step of a round is dealt once, to those that train; those that serve hear of them.
#include "train/rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/check.h"
#include "comm/simulated.h"

namespace yoke::rounds_test {

struct Dealt {
  std::vector<std::vector<int64_t>> steps;  ///< By rank.
  std::vector<StepTotals> told = {};        ///< To rank 0; `dealt` is how far the round was.
  std::vector<StepTotals> met = {};
  double seconds = 0;
};

struct Round {
  int ranks = 2;
  int servers = 0;
  int team = 1;
  int64_t first = 0, last = 1;
  double seconds = 1;  ///< Of a step of the first team; each next one takes half as long more.
  double latency = 0;
  double apart = 0;  ///< Seconds by which each rank's steps are longer than the last one's.
};

/// A round in virtual time, in which no wait may last for more than 20 s. A step's loss is 2.
Dealt Deal(const Round& round) {
  Dealt dealt{.steps = decltype(dealt.steps)(round.ranks)};
  const SimulatedRanks cluster = {.ranks = round.ranks, .timeout = 20, .latency = round.latency};
  Simulate(cluster, [&](const Communicator& world) {
    const int rank = world.rank();
    Rounds rounds(world, {.servers = round.servers,
                          .team = round.team,
                          .told = [&](int64_t so_far, const StepTotals& of_all) {
                            EXPECT_EQ(rank, 0);
                            dealt.told.push_back(of_all);
                            dealt.told.back().dealt = so_far;
                          }});
    const auto hear = [&](const Order& given) {
      if (rank == 0) return rounds.Give(given);
      EXPECT_EQ(rounds.Await().kind, given.kind);
    };
    hear({.kind = Order::kTrain, .first = round.first, .last = round.last});
    StepTotals totals;
    for (StepRange range; !(range = rounds.Next(totals)).empty();)
      for (int64_t s = range.begin; s < range.end; ++s) {
        const int team = (rank - round.servers) / round.team;
        world.Sleep(round.seconds * (1 + team / 2.0) + round.apart * rank);
        dealt.steps[rank].push_back(s);
        totals.loss_sum += 2;
        ++totals.examples;
      }
    const std::vector<StepTotals> met = rounds.Meet(totals);
    if (rank == 0) dealt.met = met, dealt.seconds = rounds.met_at();
    hear({.kind = Order::kEnd});
  });
  return dealt;
}

/// The steps of every `team`-th rank from `servers` on, in order.
std::vector<int64_t> OfAllTeams(const Dealt& dealt, const Round& round) {
  std::vector<int64_t> steps;
  for (int rank = round.servers; rank < round.ranks; rank += round.team)
    steps.insert(steps.end(), dealt.steps[rank].begin(), dealt.steps[rank].end());
  std::ranges::sort(steps);
  return steps;
}

std::vector<int64_t> All(const Round& round) {
  std::vector<int64_t> steps;
  for (int64_t s = round.first; s < round.last; ++s) steps.push_back(s);
  return steps;
}

TEST(Rounds, DealEveryStepToOneTeam) {
  for (const Round& round : {Round{.ranks = 3, .team = 1, .first = 7, .last = 60},
                             Round{.ranks = 3, .team = 3, .first = 7, .last = 60},
                             Round{.ranks = 4, .team = 2, .first = 0, .last = 33}}) {
    const Dealt dealt = Deal(round);
    EXPECT_EQ(OfAllTeams(dealt, round), All(round));
    EXPECT_EQ(dealt.met[0].dealt, round.last);
    EXPECT_TRUE(dealt.told.empty());
    for (int rank = 0; rank < round.ranks; ++rank)
      EXPECT_EQ(dealt.steps[rank], dealt.steps[rank - rank % round.team]) << rank;
  }
}

TEST(Rounds, DealNothingToThoseThatServe) {
  for (const Round& round : {Round{.ranks = 2, .servers = 1, .team = 1, .first = 7, .last = 60},
                             Round{.ranks = 4, .servers = 1, .team = 1, .first = 0, .last = 60},
                             Round{.ranks = 4, .servers = 1, .team = 3, .first = 0, .last = 60},
                             Round{.ranks = 5, .servers = 1, .team = 2, .first = 0, .last = 33},
                             Round{.ranks = 4, .servers = 1, .team = 1, .first = 5, .last = 6}}) {
    const Dealt dealt = Deal(round);
    EXPECT_TRUE(dealt.steps[0].empty());
    EXPECT_EQ(OfAllTeams(dealt, round), All(round));
    EXPECT_EQ(dealt.met[0].dealt, round.last);
    EXPECT_EQ(dealt.met[0].examples, 0);
  }
}

/// A request and its answer take longer than a step: ranks ask for several steps ahead.
TEST(Rounds, DealAheadOverASlowLink) {
  const Round round = {.ranks = 3, .last = 400, .seconds = 0.01, .latency = 0.012};
  const Dealt dealt = Deal(round);
  EXPECT_EQ(OfAllTeams(dealt, round), All(round));
  const double ideal = 0.01 * 400 / (1 + 1 / 1.5 + 1 / 2.0);  // the teams' steps differ
  EXPECT_LT(dealt.seconds, 1.15 * ideal);
}

/// A round is longer than the longest wait: who serves hears of it all the time.
TEST(Rounds, TellThoseThatServe) {
  const Dealt dealt = Deal({.ranks = 3, .servers = 1, .first = 0, .last = 50, .seconds = 3});
  ASSERT_GT(dealt.told.size(), 20U);
  for (size_t i = 1; i < dealt.told.size(); ++i) {
    EXPECT_GE(dealt.told[i].dealt, dealt.told[i - 1].dealt);
    EXPECT_GE(dealt.told[i].examples, dealt.told[i - 1].examples);
    EXPECT_EQ(dealt.told[i].loss_sum, 2 * static_cast<double>(dealt.told[i].examples));
  }
  EXPECT_EQ(dealt.told.back().examples, 50);
  EXPECT_EQ(dealt.told.back().dealt, 50);
}

/// Ranks of one team take longer than the longest wait, all of them, and end a little apart.
TEST(Rounds, WaitForStepsThatAreLongForAll) {
  const Round round = {.ranks = 3, .team = 3, .last = 6, .seconds = 100, .apart = 0.5};
  EXPECT_EQ(OfAllTeams(Deal(round), round), All(round));
}

TEST(Rounds, NameTheOneWorkerThatStandsStill) {
  try {
    Deal({.ranks = 2, .servers = 1, .first = 0, .last = 6, .seconds = 100});
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("for rank 1 to end its steps"), std::string::npos)
        << error.what();
  }
}

}  // namespace yoke::rounds_test
