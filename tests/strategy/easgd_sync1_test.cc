// easgd_sync1: the recurrence of ALGORITHMS.md step by step, beside a plain restatement of it.
#include <gtest/gtest.h>

#include <utility>

#include "strategy/support/lab.h"
#include "strategy/support/small_part.h"
#include "strategy/support/worlds.h"

namespace yoke::easgd_sync1_test {

using test::kCount;
using test::Lab;

/// Momentum SGD on every replica of PullToRank, with the force of the pre-step values.
class Restated {
 public:
  Restated(int ranks, const std::vector<float>& start)
      : centre_(start.begin(), start.end()),
        replicas_(ranks, centre_),
        momenta_(ranks, std::vector<double>(kCount, 0)) {}

  void Step(bool exchange) {
    const std::vector<std::vector<double>> before = replicas_;
    const std::vector<double> centre = centre_;
    const auto ranks = static_cast<double>(before.size());
    const double rate = 0.9 / ranks;
    for (size_t r = 0; r < before.size(); ++r)
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        const double target = static_cast<double>(r) + static_cast<double>(i) / 10;
        momenta_[r][i] = 0.9 * momenta_[r][i] + (before[r][i] - target);
        replicas_[r][i] -= 0.1 * momenta_[r][i];
        if (!exchange) continue;
        replicas_[r][i] -= rate * (before[r][i] - centre[i]);
        centre_[i] += rate * (before[r][i] - centre[i]);
      }
  }

  const std::vector<double>& centre() const { return centre_; }
  const std::vector<double>& replica(int rank) const { return replicas_[rank]; }

 private:
  std::vector<double> centre_;
  std::vector<std::vector<double>> replicas_, momenta_;
};

class EasgdSync1 : public testing::TestWithParam<test::WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, EasgdSync1, test::Worlds(),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EasgdSync1, IsItsRecurrenceStepByStep) {
  using Case = std::pair<int64_t, bool>;
  for (const auto& [period, everywhere] :
       {Case(1, false), Case(3, false), Case(1, true), Case(3, true)})
    GetParam().run(3, [period = period, everywhere = everywhere](const Communicator& world) {
      Lab lab(world, {.strategy = "easgd_sync1",
                      .options = {{"period", period}, {"centre_everywhere", everywhere}},
                      .rule = "momentum",
                      .gradient = test::PullToRank});
      Restated restated(3, lab.Values());
      for (int64_t step = 0; step < 8; ++step) {
        lab.Step();
        restated.Step((step + 1) % period == 0);
        const std::vector<float> model = lab.Model(), values = lab.Values();
        for (int64_t i = 0; i < kCount; ++i) {
          ASSERT_NEAR(model[i], restated.centre()[i], 1e-5) << "step " << step;
          ASSERT_NEAR(values[i], restated.replica(world.rank())[i], 1e-5) << "step " << step;
        }
      }
      lab.strategy->Finish();
    });
}

TEST(EasgdSync1Alone, IsTheRule) {
  RunThreads({.ranks = 1}, [](const Communicator& world) {
    Lab none(world, {.rule = "momentum", .gradient = test::PullToRank});
    Lab elastic(world,
                {.strategy = "easgd_sync1", .rule = "momentum", .gradient = test::PullToRank});
    for (int step = 0; step < 4; ++step) {
      none.Step();
      elastic.Step();
    }
    EXPECT_EQ(none.Model(), elastic.Model());
  });
}

TEST(EasgdSync1Options, RefuseACentreDrawnPastItsReplicas) {
  const auto rate = [](double value) {
    RunThreads({.ranks = 4}, [value](const Communicator& world) {
      Lab lab(world, {.strategy = "easgd_sync1", .options = {{"moving_rate", value}}});
    });
  };
  rate(0.25);
  try {
    rate(0.26);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("cluster.moving_rate"), said.npos) << said;
    EXPECT_NE(said.find("at most 0.25"), said.npos) << said;
  }
}

TEST(EasgdSync1Options, MessagesASliceCarryTheSameBits) {
  std::vector<float> models[2];
  int64_t sent[2] = {};
  for (const bool packed : {false, true})
    RunThreads({.ranks = 4}, [&](const Communicator& world) {
      Lab lab(world, {.strategy = "easgd_sync1",
                      .options = {{"packed", packed}},
                      .steps = 5,
                      .gradient = test::PullToRank});
      lab.Steps();
      const std::vector<float> model = lab.Model();
      if (world.rank() > 0) return;
      models[packed] = model;
      sent[packed] = lab.strategy->Counts().traffic.messages_sent;
    });
  EXPECT_EQ(models[0], models[1]);
  EXPECT_EQ(sent[0], 2 * sent[1]);  // of two slices
}

TEST(EasgdSync1Statistics, AreTheMeanInTheCentreAndTheirOwnElsewhere) {
  RunThreads({.ranks = 3}, [](const Communicator& world) {
    test::SmallPart part(world, {.strategy = "easgd_sync1"});
    part.Step(0);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(part.params.values(1).Host()[i], static_cast<float>(10 * world.rank() + i));
    if (world.rank() > 0) return;
    for (int i = 0; i < 2; ++i)
      EXPECT_FLOAT_EQ(part.strategy->Model().Host()[16 + i], static_cast<float>(10 + i));
    EXPECT_FLOAT_EQ(part.strategy->Model().Host()[0], 0.3F * (0 + 1 + 2));  // from 0 at the start
  });
}

TEST(EasgdSync1InPlace, AddsTheForceOfThePreStepValuesToWhatTheExecutorLeft) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    test::SmallPart part(world, {.strategy = "easgd_sync1", .in_place = true});
    const ParamView view = part.strategy->View({.examples = 1});
    for (int i = 0; i < 3; ++i) view.writable.Host()[i] += 5;
    part.strategy->Step({.learning_rate = 0.1, .examples = 1});
    const auto before = static_cast<float>(world.rank());
    EXPECT_FLOAT_EQ(part.params.values().Host()[0],
                    before + 5 - 0.45F * before);  // the centre was 0
    if (world.rank() == 0) {
      EXPECT_FLOAT_EQ(part.strategy->Model().Host()[0], 0.45F);
    }
  });
}

TEST(EasgdSync1Counts, AreThoseOfTheExchanges) {
  RunThreads({.ranks = 4}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "easgd_sync1",
                    .options = {{"period", 2}},
                    .steps = 6,
                    .gradient = test::PullToRank});
    lab.Steps();
    const ExchangeCounts counts = lab.strategy->Counts();
    EXPECT_EQ(counts.updates, world.rank() == 0 ? 3 : 0);
    EXPECT_EQ(counts.examples, 6);
    const int64_t messages = counts.traffic.messages_sent + counts.traffic.messages_received;
    const int neighbours[] = {2, 1, 2, 1};  // in a binomial tree of four
    EXPECT_EQ(messages, 3 * 2 * neighbours[world.rank()]);
  });
}

}  // namespace yoke::easgd_sync1_test
