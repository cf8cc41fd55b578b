// easgd_sync3: the bits of easgd_sync1, with the exchange hidden behind the gradient.
#include <gtest/gtest.h>

#include <vector>

#include "strategy/support/lab.h"
#include "strategy/support/worlds.h"

namespace yoke::easgd_sync3_test {

using test::Lab;

class EasgdSync3 : public testing::TestWithParam<test::WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, EasgdSync3, test::Worlds(),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EasgdSync3, HasTheBitsOfTheFirst) {
  for (int ranks : {1, 2, 3, 5})
    GetParam().run(ranks, [](const Communicator& world) {
      const auto settings = [](const char* strategy) {
        return test::LabSettings{.strategy = strategy,
                                 .options = {{"period", 2}},
                                 .rule = "momentum",
                                 .gradient = test::PullToRank};
      };
      Lab first(world, settings("easgd_sync1")), third(world, settings("easgd_sync3"));
      for (int step = 0; step < 6; ++step) {
        first.Step();
        third.Step();
        ASSERT_EQ(first.Values(), third.Values()) << "step " << step;
        ASSERT_EQ(first.Model(), third.Model()) << "step " << step;
      }
      third.strategy->Finish();
    });
}

TEST_P(EasgdSync3, HasTheBitsOfTheFirstWithTheCentreEverywhere) {
  for (int ranks : {1, 3, 4})
    GetParam().run(ranks, [](const Communicator& world) {
      const auto settings = [](const char* strategy) {
        return test::LabSettings{.strategy = strategy,
                                 .options = {{"centre_everywhere", true}},
                                 .rule = "momentum",
                                 .steps = 6,
                                 .gradient = test::PullToRank};
      };
      Lab first(world, settings("easgd_sync1")), third(world, settings("easgd_sync3"));
      first.Steps();
      third.Steps();
      EXPECT_EQ(first.Values(), third.Values());
      EXPECT_EQ(first.Model(), third.Model());
      third.strategy->Finish();
    });
}

TEST(EasgdSync3Centre, ContinuesFromWhatRank0Kept) {
  constexpr int kRanks = 3;
  for (const bool everywhere : {false, true}) {
    test::LabSettings settings = {.strategy = "easgd_sync3",
                                  .options = {{"centre_everywhere", everywhere}},
                                  .rule = "momentum",
                                  .steps = 4,
                                  .gradient = test::PullToRank};
    std::vector<test::SavedLab> saved(kRanks);
    std::vector<std::vector<float>> whole(kRanks), continued(kRanks);
    RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
      Lab lab(world, settings);
      lab.Steps();
      saved[world.rank()] = lab.Save();
      lab.Steps();
      whole[world.rank()] = lab.Values();
      lab.strategy->Finish();
    });
    settings.from = &saved;
    RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
      Lab lab(world, settings);
      lab.Steps();
      continued[world.rank()] = lab.Values();
      lab.strategy->Finish();
    });
    EXPECT_EQ(whole, continued) << everywhere;
  }
}

/// Virtual seconds of ten steps whose gradient takes `gradient` seconds on four ranks, where an
/// exchange takes 4 * 0.01 (the elastic arithmetic, which is charged in bytes too, nothing).
double SecondsOfTenSteps(const char* strategy, double gradient) {
  const ServiceTime service = [](int /*rank*/, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  return Simulate({.ranks = 4, .bytes_per_second = 25600, .service = service},
                  [&](const Communicator& world) {
                    Lab lab(world, {.strategy = strategy,
                                    .steps = 10,
                                    .gradient = test::PullToRank,
                                    .seconds_of_gradient = gradient});
                    lab.Steps();
                    lab.strategy->Finish();
                  });
}

TEST(EasgdSync3Time, IsTheLongerOfExchangeAndGradient) {
  const double alone = SecondsOfTenSteps("easgd_sync1", 0);
  for (const double gradient : {0.1 * alone, 0.05 * alone}) {
    const double both = SecondsOfTenSteps("easgd_sync1", gradient);
    const double hidden = SecondsOfTenSteps("easgd_sync3", gradient);
    EXPECT_NEAR(both, alone + 10 * gradient, 0.01 * both);
    EXPECT_NEAR(hidden, std::max(alone, 10 * gradient), 0.01 * hidden);
  }
}

/// Virtual seconds that each of two ranks says it has waited in ten steps, where an update and each
/// piece of elastic arithmetic take a second, the centre's move on rank 0 three, and messages none.
std::vector<double> SecondsWaited(const char* strategy, double gradient) {
  const ServiceTime service = [](int /*rank*/, const Cost& cost) {
    if (cost.bytes == 0) return cost.operations;
    return cost.operations > 3 * test::kCount ? 3.0 : 1.0;
  };
  std::vector<double> waited(2);
  Simulate({.ranks = 2, .service = service}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = strategy,
                    .steps = 10,
                    .gradient = test::PullToRank,
                    .seconds_of_gradient = gradient});
    lab.Steps();
    waited[world.rank()] = lab.strategy->Counts().seconds_waiting;
    lab.strategy->Finish();
  });
  return waited;
}

TEST(EasgdSync3Time, ArithmeticIsNoWait) {
  for (const char* strategy : {"easgd_sync1", "easgd_sync2", "easgd_sync3"}) {
    const std::vector<double> waited = SecondsWaited(strategy, 0.001);
    EXPECT_LT(waited[0], 0.1) << strategy;
    // For the centre's move, of which easgd_sync3 hides a second behind the update.
    const double seconds = strategy == std::string_view("easgd_sync3") ? 2 : 3;
    EXPECT_NEAR(waited[1], 9 * seconds, 1.1 * seconds) << strategy;
  }
  const std::vector<double> hidden = SecondsWaited("easgd_sync3", 20);
  EXPECT_LT(hidden[0] + hidden[1], 0.1);
}

TEST(EasgdSync3Ends, WithoutAStep) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "easgd_sync3", .gradient = test::PullToRank});
    const std::vector<float> before = lab.Values();
    lab.strategy->View({.examples = 1});  // given up: a loss that is not a number
    lab.strategy->Finish();
    const ExchangeCounts counts = lab.strategy->Counts();
    EXPECT_GT(counts.traffic.messages_sent, 0);  // the exchange under way has been completed
    EXPECT_EQ(counts.examples, 0);
    EXPECT_EQ(lab.Values(), before);  // without its force
  });
}

}  // namespace yoke::easgd_sync3_test
