// RatesApart: the learning rate by trials of replicas that each train alone.
#include "plan/rates_apart.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "base/files.h"
#include "base/random.h"
#include "comm/support/deaths.h"
#include "plan/auto_choice.h"
#include "plan/measured_job.h"
#include "plan/support/small_job.h"
#include "simulate/simulate.h"
#include "train/checkpoint/checkpoint.h"

namespace yoke::rates_apart_test {

using test::SmallJob;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// Four replicas of SmallJob on a cluster whose nodes send in no time.
class RatesApartTest : public testing::Test {
 protected:
  RatesApartTest() { run_.cluster = &cluster_; }
  static Job FourOf(const std::string& strategy, Overrides keys = {}) {
    keys.insert(
        keys.end(),
        {{"cluster.replicas", "4"}, {"cluster.strategy", strategy}, {"train.epochs", "1000"}});
    return SmallJob(keys);
  }
  Trials Of(int64_t steps) {
    return {.data = data_,
            .run = run_,
            .folder = folder_.path(),
            .steps = steps,
            .tell = [this](const std::string& text) { told_.push_back(text); }};
  }
  static void ExpectGood(const Tuned& found) {
    EXPECT_GE(found.best.rate, 0.003);
    EXPECT_LE(found.best.rate, 0.3);
    EXPECT_EQ(found.run, "");
    EXPECT_GT(found.trained, 0);
  }
  /// The seconds of node `slow` are so many times those of the others.
  void SlowDown(int slow, double times) {
    cluster_.machines.service = [slow, times, steady = cluster_.machines.service](
                                    int rank, const Cost& cost) {
      return (rank == slow ? times : 1) * steady(rank, cost);
    };
  }

  TemporaryFolder folder_{"yoke-rates-apart-test"};
  DataSets data_ = OpenData(SmallJob().data(), 1);
  SimulatedCluster cluster_ = {.machines = {.latency = 1e-5, .service = SteadyService(1e8, 1e30)},
                               .simulate = Simulate};
  RunRequest run_;
  std::vector<std::string> told_;
};

TEST_F(RatesApartTest, ARateOfTheRule) {
  const Tuned found = FindRateApart(FourOf("gossip_push"), Of(300));
  ExpectGood(found);
  EXPECT_EQ(found.best.momentum, 0.9);
  EXPECT_THAT(told_, Contains(HasSubstr("learning rate 0.003: loss ")));
  const Tuned again = FindRateApart(FourOf("gossip_push"), Of(300));
  EXPECT_EQ(again.best.rate, found.best.rate);  // no clock decides
}

TEST_F(RatesApartTest, RunsSideBySide) {
  Trials once = Of(300);
  once.seconds = 1e-9;  // two rounds
  const double all = FindRateApart(FourOf("allreduce"), once).trained;
  SlowDown(1, 1.5);  // all wait for it
  EXPECT_NEAR(FindRateApart(FourOf("allreduce"), once).trained, 1.5 * all, 0.1 * all);
  SlowDown(1, 1000);  // no rate is tested there
  const double without = FindRateApart(FourOf("allreduce"), once).trained;
  EXPECT_LT(without, 3 * all);
}

/// Where the time does not hold four rounds of 40 steps, trials are shorter; two rounds of 20 come
/// in any case.
TEST_F(RatesApartTest, TrialsFitTheTime) {
  Trials trials = Of(600);
  const auto find = [&] {
    told_.clear();
    return FindRateApart(FourOf("gossip_push"), trials).trained;
  };
  const auto trials_of = [this](int64_t steps) {
    const auto told = [this](const std::string& text) {
      return std::ranges::count_if(told_, testing::Matches(HasSubstr(text)));
    };
    EXPECT_EQ(told(fmt::format(" after {} steps", steps)), told(": loss "));
    return told(": loss ");
  };
  trials.seconds = 1e-9;
  const double step =
      find() / (2 + 2 * 2 * 20);  // two of the probe; two trials of a replica a round
  EXPECT_EQ(trials_of(20), 2 * 8);
  trials.seconds = (2 + 4 * 2 * 30.5) * step;
  EXPECT_LE(find(), trials.seconds);
  EXPECT_EQ(trials_of(30), 4 * 8);
  trials.seconds = 1000 * step;
  find();
  trials_of(40);
}

TEST_F(RatesApartTest, JitterMakesNoNodeSlow) {
  const double steady = FindRateApart(FourOf("allreduce"), Of(300)).trained;
  auto random = std::make_shared<Random>(Random{1});
  cluster_.machines.service = [random, service = cluster_.machines.service](int rank,
                                                                            const Cost& cost) {
    return ExponentialFactor(*random) * service(rank, cost);
  };
  EXPECT_LT(FindRateApart(FourOf("allreduce"), Of(300)).trained, 2.5 * steady);
}

/// The mean gradient of four replicas has less noise than one; local steps have not.
TEST_F(RatesApartTest, ByTheReplicasWhoseMeanMakesAnUpdate) {
  const Overrides low = {{"train.learning_rate", "0.0001"}};
  const double mean = FindRateApart(FourOf("allreduce", low), Of(300)).best.rate;
  const double local = FindRateApart(FourOf("local_sgd", low), Of(300)).best.rate;
  EXPECT_NEAR(mean / local, 2, 0.01);
}

/// Trials of a node are over before it would die.
TEST_F(RatesApartTest, NoNodeDiesMeanwhile) {
  cluster_.machines.failures = test::DeathsAt({{0, 1e-6}, {2, 1e-6}}, 100, 1);
  ExpectGood(FindRateApart(FourOf("allreduce", {{"cluster.timeout", "300.0"}}), Of(300)));
}

TEST_F(RatesApartTest, TheJobsOwnRateStaysUnlessItIsBad) {
  const Tuned own = FindRateApart(FourOf("allreduce", {{"train.learning_rate", "0.02"}}), Of(300));
  EXPECT_GE(own.best.rate, 0.02);
  const Tuned bad = FindRateApart(FourOf("allreduce", {{"train.learning_rate", "30"}}), Of(300));
  ExpectGood(bad);
}

/// What one replica's trials of these rates have found, with the lowest loss at 0.001.
std::vector<TriedSetting> TriedByAdam() {
  const auto tried = [](double rate, double loss) {
    return TriedSetting{.setting = {.rate = rate}, .loss = loss};
  };
  return {tried(0.01, 1.4), tried(0.003, 1.2), tried(0.001, 1), tried(0.0003, 1.2)};
}

/// 0.01 is the default of every rule, and too high for adam.
TEST_F(RatesApartTest, TheDefaultIsNotTheOwnRateOfEveryRule) {
  const auto rate = [](const std::string& own) {
    return RateOfReplicas(
        FourOf("local_sgd", {{"train.rule", "adam"}, {"train.learning_rate", own}}), TriedByAdam());
  };
  EXPECT_EQ(rate("0.01"), 0.003);  // the middle one of adam's
  EXPECT_EQ(rate("0.002"), 0.002);
  EXPECT_NEAR(rate("0.0001"), 0.0007, 1e-9);
}

/// An elastic force that allows no rate above 0.01 does not make this a high one for momentum.
TEST_F(RatesApartTest, TheOwnRateBelowTheElasticBound) {
  const std::vector<TriedSetting> tried = {{.setting = {.rate = 0.01}, .loss = 1.3},
                                           {.setting = {.rate = 0.003}, .loss = 1},
                                           {.setting = {.rate = 0.001}, .loss = 1.3}};
  const Job job = FourOf("easgd_sync3", {{"cluster.rho", "10"}, {"train.learning_rate", "0.01"}});
  EXPECT_EQ(RateOfReplicas(job, tried), 0.01);
}

/// Short trials prefer high rates.
TEST_F(RatesApartTest, LessAfterShortTrials) {
  const Overrides adam = {{"train.rule", "adam"}, {"train.learning_rate", "0.0001"}};
  for (const auto& [steps, rate] : {std::pair(80, 7e-4), {40, 7e-4}, {30, 5.25e-4}, {10, 3.5e-4}}) {
    std::vector<TriedSetting> tried = TriedByAdam();
    for (TriedSetting& one : tried) one.trial_batches = steps;
    EXPECT_NEAR(RateOfReplicas(FourOf("local_sgd", adam), tried), rate, 1e-9) << steps;
  }
}

TEST_F(RatesApartTest, WhatReplicasMakeOfOnesRates) {
  const Overrides adam = {{"train.rule", "adam"}, {"train.learning_rate", "0.0001"}};
  EXPECT_NEAR(RateOfReplicas(FourOf("allreduce", adam), TriedByAdam()), 0.0014, 1e-9);
  EXPECT_EQ(RateOfReplicas(FourOf("allreduce", adam), {}), 0);
  EXPECT_EQ(RateOfReplicas(FourOf("allreduce", {{"train.rule", "yellowfin"}}), TriedByAdam()), 0);
}

/// Of such a decay 0.1 and higher rates make weights that grow without end; of more, all rates.
TEST_F(RatesApartTest, WhatHasFailedIsNotTriedAgain) {
  FindRateApart(FourOf("allreduce", {{"train.weight_decay", "100.0"}}), Of(300));
  for (const std::string rate : {"10", "3", "1", "0.3", "0.1"})
    EXPECT_EQ(
        std::ranges::count_if(
            told_, [&](auto& text) { return text.starts_with("learning rate " + rate + ":"); }),
        1)
        << rate;
  EXPECT_GT(told_.size(), 8);  // others are tested again in the next round
  told_.clear();
  const Job hopeless = FourOf("allreduce", {{"train.weight_decay", "1e6"}});
  EXPECT_EQ(FindRateApart(hopeless, Of(300)).best.rate, 0);
  EXPECT_THAT(told_, Contains(HasSubstr("learning rate 0.001: loss inf")));
}

TEST_F(RatesApartTest, TellsHowManyStepsItTakes) {
  FindRateApart(FourOf("allreduce"), Of(300));
  EXPECT_THAT(told_, Not(Contains(HasSubstr("take up to"))));
  const Job small = WithKeys(FourOf("gossip_push"), {PlanKey("train.epochs", "10")});
  FindRateApart(small, Of(300));
  EXPECT_THAT(told_, Contains(HasSubstr("trials of the learning rate take up to ")));
  EXPECT_THAT(told_, Contains(HasSubstr(" steps beside the training's 400 (train.search_share")));
}

/// A cluster file's nodes are timed by their devices.
TEST_F(RatesApartTest, NoRateIsTestedOnASlowDevice) {
  const double all = FindRateApart(FourOf("allreduce"), Of(300)).trained;
  cluster_.machines.devices = [steady = cluster_.machines.service](int rank, const Cost& cost,
                                                                   const WorkPlace& place) {
    return (rank == 1 && place.device == "cpu" ? 1000 : 1) * steady(rank, cost);
  };
  EXPECT_LT(FindRateApart(FourOf("allreduce"), Of(300)).trained, 3 * all);
}

TEST_F(RatesApartTest, NoRateAboveThatOfAnElasticForce) {
  const Tuned found =
      FindRateApart(FourOf("easgd_sync3", {{"cluster.rho", "10"}}), Of(300));  // 1 / (10 x 4)
  EXPECT_GT(found.best.rate, 0);
  EXPECT_LE(found.best.rate, 0.01);  // the highest of the rule's below 0.025
  EXPECT_THAT(told_, Not(Contains(HasSubstr("learning rate 0.03:"))));
  const Tuned none = FindRateApart(FourOf("easgd_sync3", {{"cluster.rho", "1000"}}), Of(300));
  EXPECT_EQ(none.best.rate, 0);
}

TEST_F(RatesApartTest, TheRuleOfTheStrategy) {
  for (const std::string strategy : {"async_msgd", "easgd_async_momentum"})
    for (const std::string velocity : {"", "gradients", "steps"}) {
      const Job job = FourOf(strategy, {{"train.rule", "sgd"}, {"train.velocity", velocity}});
      const Tuned found = FindRateApart(job, Of(300));
      ExpectGood(found);
      EXPECT_FALSE(found.best.momentum) << strategy;  // a key that sgd has not
      const TemporaryFolder folder("yoke-rates-apart-test");
      const std::string run = folder.path() + "/alone";
      ASSERT_EQ(RunTrial(OneReplicaOf(job),
                         {.data = data_, .run = run_, .apart = true, .folder = run, .steps = 6})
                    .failure,
                "");
      const Checkpoint last = Checkpoint::Open(run + "/last");
      const bool steps = velocity == "steps" || (velocity.empty() && strategy != "async_msgd");
      EXPECT_TRUE(last.HasState(steps ? "velocity" : "momentum")) << strategy << " " << velocity;
    }
}

TEST_F(RatesApartTest, FewStepsAndManyRounds) {
  const Tuned few = FindRateApart(FourOf("gossip_push"), Of(1));
  ASSERT_FALSE(few.tried.empty());
  EXPECT_EQ(few.tried[0].steps, 6);  // FewestSteps
  const Tuned many = FindRateApart(FourOf("allreduce"), Of(300));
  const auto most =
      std::ranges::max_element(many.tried, {}, [](const TriedSetting& one) { return one.steps; });
  EXPECT_GT(most->steps, 2 * many.tried[0].steps);  // the best is tried again
  Trials short_time = Of(300);
  short_time.seconds = 1e-9;
  EXPECT_LT(FindRateApart(FourOf("allreduce"), short_time).trained, many.trained);
}

TEST_F(RatesApartTest, TrialsThatFailAreCharged) {
  RunRequest run = run_;
  run.data = &data_;
  Findings found;
  Decision decision = {.job = FourOf("allreduce", {{"train.learning_rate", "1e30"}})};
  const PlanOrder order = {.job = decision.job, .run = run, .folder = folder_.path()};
  AutoChoice(order, {.momentum = true}, found, decision).ByTrials();
  EXPECT_THAT(decision.messages, Contains(HasSubstr("no trial has trained")));
  EXPECT_GT(found.trained, 0);
}

TEST_F(RatesApartTest, ASignalEndsIt) {
  const std::atomic<int> signal = 15;
  run_.stop_signal = &signal;
  EXPECT_EQ(FindRateApart(FourOf("allreduce"), Of(300)).best.rate, 0);
}

}  // namespace yoke::rates_apart_test
