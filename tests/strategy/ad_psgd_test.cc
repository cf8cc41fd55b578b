// ad_psgd: what averaging keeps, and pauses.
#include <gtest/gtest.h>

#include <numeric>

#include "strategy/support/lab.h"
#include "strategy/support/small_part.h"
#include "strategy/support/worlds.h"

namespace yoke::ad_psgd_test {

using test::kCount;
using test::Lab;

class AdPsgd : public testing::TestWithParam<test::WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, AdPsgd, test::Worlds(),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(AdPsgdAlone, IsTheRule) {
  RunThreads({.ranks = 1}, [](const Communicator& world) {
    Lab none(world, {.rule = "momentum", .steps = 4, .gradient = test::PullToRank});
    Lab alone(
        world,
        {.strategy = "ad_psgd", .rule = "momentum", .steps = 4, .gradient = test::PullToRank});
    none.Steps();
    alone.Steps();
    EXPECT_EQ(none.Model(), alone.Model());
  });
}

TEST_P(AdPsgd, AveragingKeepsTheSumAndBringsReplicasTogether) {
  const bool simulated = GetParam().name == test::kSimulated.name;
  for (int ranks : {2, 3, 4, 5})
    GetParam().run(ranks, [simulated](const Communicator& world) {
      Lab lab(world, {.strategy = "ad_psgd", .rate = 0, .steps = 40, .gradient = test::PullToRank});
      for (int64_t i = 0; i < kCount; ++i)
        lab.params.values().Host()[i] += static_cast<float>(world.rank() * (i % 3 - 1));
      const auto moments = [&world](const std::vector<float>& values) {
        std::vector<float> sum = values, square(kCount);
        for (int64_t i = 0; i < kCount; ++i) square[i] = values[i] * values[i];
        world.AllReduce(sum);
        world.AllReduce(square);
        for (int64_t i = 0; i < kCount; ++i)
          square[i] -= sum[i] * sum[i] / static_cast<float>(world.size());
        return std::pair(sum, std::accumulate(square.begin(), square.end(), 0.0));
      };
      const auto before = moments(lab.Values());
      lab.Steps();
      lab.strategy->Quiesce();
      const auto after = moments(lab.Values());
      for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(after.first[i], before.first[i], 1e-5);
      // Over threads one rank may take all its steps before another begins.
      if (simulated) {
        EXPECT_LT(after.second, 0.01 * before.second);
      }
      lab.strategy->Finish();
    });
}

TEST_P(AdPsgd, UpdatesThatLandWhileSnapshotsTravelAreKept) {
  GetParam().run(4, [](const Communicator& world) {
    const auto constant = [](const test::Asked& asked) {
      for (int64_t i = 0; i < kCount; ++i)
        asked.gradient[i] = Lab::Padding(i) ? 0 : static_cast<float>(asked.rank + 1);
    };
    Lab lab(world, {.strategy = "ad_psgd",
                    .steps = 20,
                    .gradient = constant,
                    .seconds_of_gradient =
                        2e5});  // virtual time: longer than an order, shorter than an answer
    std::vector<float> before = lab.Values();
    world.AllReduce(before);
    lab.Steps();
    lab.strategy->Quiesce();
    std::vector<float> after = lab.Values();
    world.AllReduce(after);
    for (int64_t i = 0; i < kCount; ++i)
      if (!Lab::Padding(i)) {
        EXPECT_NEAR(after[i], before[i] - 0.1 * 20 * (1 + 2 + 3 + 4), 1e-4);
      }
    lab.strategy->Finish();
  });
}

TEST_P(AdPsgd, TheModelIsTheMeanAndReplicasStay) {
  GetParam().run(3, [](const Communicator& world) {
    Lab lab(world, {.strategy = "ad_psgd", .steps = 7, .gradient = test::PullToRank});
    lab.Steps();
    const std::vector<float> model = lab.Model();
    std::vector<float> sum = lab.Values();
    const std::vector<float> values = sum;
    lab.strategy->Quiesce();
    EXPECT_EQ(lab.Values(), values);
    world.AllReduce(sum);
    for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(3 * model[i], sum[i], 1e-5);
    lab.strategy->Finish();
  });
}

TEST_P(AdPsgd, QuiescesWhereRanksHaveTakenDifferentNumbersOfSteps) {
  GetParam().run(4, [](const Communicator& world) {
    Lab lab(world, {.strategy = "ad_psgd", .gradient = test::PullToRank});
    for (int round = 0; round < 5; ++round) {
      for (int step = 0; step < (world.rank() + round) % 4; ++step) lab.Step();  // 0 for one
      lab.strategy->Quiesce();
      const std::vector<float> values = lab.Values();
      world.Sleep(2e-3);
      EXPECT_EQ(lab.Values(), values);
      world.Barrier();  // before anybody goes on
    }
    lab.strategy->Finish();
  });
}

TEST_P(AdPsgd, GoesOnFromACheckpointWithTheSameNeighbours) {
  GetParam().run(2, [](const Communicator& world) {
    const test::LabSettings settings = {.strategy = "ad_psgd", .gradient = test::PullToRank};
    Lab lab(world, settings);
    for (int step = 0; step < 3; ++step) lab.Step();
    std::vector<test::SavedLab> saved(2);
    saved[world.rank()] = lab.Save();
    EXPECT_EQ(*saved[world.rank()].state.Find("averagings")->AsInt(), world.rank() == 0 ? 3 : 0);
    test::LabSettings again = settings;
    again.from = &saved;
    Lab other(world, again);
    EXPECT_EQ(other.Model(), lab.Model());
    other.Step();
    other.strategy->Finish();
    lab.strategy->Finish();
  });
}

TEST(AdPsgdStatistics, KeepWhatTheGradientsComputationAdded) {
  Simulate({.ranks = 2, .latency = 1}, [](const Communicator& world) {
    test::SmallPart part(world, {.strategy = "ad_psgd"});
    const ParamView view = part.strategy->View({.examples = 1});
    view.writable.Host()[16] += 3;  // as a layer moves its running mean
    world.Sleep(10);                // rank 0 and rank 1 average: 0 and 10 become 5
    EXPECT_EQ(view.values.Host()[0], static_cast<float>(world.rank()));  // the gradient's stay
    part.strategy->Step({.learning_rate = 0.1, .examples = 1});
    part.strategy->Quiesce();
    EXPECT_EQ(part.params.values(1).Host()[0], 8);
    EXPECT_EQ(part.params.values(0).Host()[0], 0.5);
    part.strategy->Finish();
  });
}

TEST_P(AdPsgd, SendsTwoMessagesAnAveraging) {
  GetParam().run(5, [](const Communicator& world) {
    Lab lab(world, {.strategy = "ad_psgd",
                    .options = {{"period", 2}},
                    .steps = 8,
                    .gradient = test::PullToRank});
    lab.Steps();
    lab.strategy->Quiesce();
    const Traffic barriers = [&] {
      const int64_t before = lab.strategy->Counts().traffic.messages_sent;
      lab.strategy->Quiesce();
      return Traffic{.messages_sent = lab.strategy->Counts().traffic.messages_sent - before};
    }();
    std::vector<float> sent = {static_cast<float>(lab.strategy->Counts().traffic.messages_sent -
                                                  2 * barriers.messages_sent)};
    world.AllReduce(sent);
    EXPECT_EQ(sent[0], 3 * 4 * 2);  // three active ranks, four averagings each
    lab.strategy->Finish();
  });
}

}  // namespace yoke::ad_psgd_test
