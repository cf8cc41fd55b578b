// Evaluations while training: at which steps, on which examples, and what follows from them.
#include "train/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "base/check.h"
#include "train/checkpoint/checkpoint.h"
#include "train/record/record.h"
#include "train/support/trainer_fixture.h"

namespace yoke::evaluator_test {

const Override kEvery5 = {"train.evaluate_every", "{ steps = 5 }"};
const Override kSample = {"train.evaluate_examples", "20"};

bool Has(const Metrics& metrics, const std::string& name) {
  return std::ranges::count(metrics, name, &Metrics::value_type::first) > 0;
}

class EvaluatorTest : public test::TrainerTest {
 protected:
  std::vector<int64_t> Steps() const {
    std::vector<int64_t> steps;
    for (const EvaluationEvent& each : notes_.evaluations) steps.push_back(each.step);
    return steps;
  }
  /// The evaluations in a run's record, without times.
  std::vector<std::string> Recorded(const std::string& run) const {
    std::vector<std::string> lines;
    ReadRecord(Path(run), [&](Value line) {
      if (*line.Find("event") != Value("evaluation")) return;
      for (const char* time : {"time", "seconds", "training_seconds"}) line.Erase(time);
      lines.push_back(FormatValue(line));
    });
    return lines;
  }
};

/// An epoch has 7 steps of 32 examples, the last of 8.
TEST_F(EvaluatorTest, ComesAfterStepsOfTheRun) {
  Begin("a", {kEvery5});
  EXPECT_EQ(Steps(), (std::vector<int64_t>{5, 10, 15, 20, 21}));
  const EvaluationEvent& second = notes_.evaluations[1];
  EXPECT_EQ(second.examples, 200 + 3 * 32);
  EXPECT_NEAR(second.epoch, 1.48, 1e-9);
  EXPECT_TRUE(Has(second.test, "accuracy"));
  EXPECT_GT(second.training_seconds, notes_.evaluations[0].training_seconds);
  EXPECT_LT(second.training_seconds, second.seconds);
  EXPECT_TRUE(notes_.epochs[0].test.empty());
  EXPECT_EQ(notes_.epochs[2].test, notes_.evaluations[4].test);
  Begin("b");
  EXPECT_TRUE(notes_.evaluations.empty());
  EXPECT_EQ(Weights("a"), Weights("b"));
}

TEST_F(EvaluatorTest, AResumedRunEvaluatesAsAnUnbrokenOne) {
  const Overrides job = {kEvery5, kSample, {"checkpoint.best", "loss"}};
  Begin("a", job);
  signal_ = SIGTERM;  // each session makes one step
  EXPECT_EQ(Begin("b", job).reason, "interrupted");
  for (EndEvent end{.reason = "interrupted"}; end.reason == "interrupted";) {
    notes_ = {};
    signal_ = end.step < 17 ? SIGTERM : 0;
    SignalAtFirstStep();
    end =
        Train(LoadRunJob(Path("b"), {}),
              {.run = Path("b"), .resume = true, .stop_signal = &signal_, .observers = {&notes_}});
  }
  EXPECT_EQ(Recorded("b").size(), 5U);
  EXPECT_EQ(Recorded("a"), Recorded("b"));
  EXPECT_EQ(Weights("a"), Weights("b"));
  EXPECT_EQ(RuleStateOf("a"), RuleStateOf("b"));
  EXPECT_EQ(Checkpoint::Open(Path("a") + "/best").header().position.step,
            Checkpoint::Open(Path("b") + "/best").header().position.step);
}

TEST_F(EvaluatorTest, EveryStrategyAndExecutorEvaluates) {
  for (const Override& part : Overrides{{"cluster.strategy", "allreduce"},
                                        {"cluster.strategy", "local_sgd"},
                                        {"cluster.strategy", "gossip_push"},
                                        {"cluster.strategy", "async_sgd"},
                                        {"cluster.strategy", "easgd_async"},
                                        {"node.executor", "hogwild"},
                                        {"node.executor", "hogbatch"}}) {
    const bool several = part.key == "cluster.strategy";
    const EndEvent end = Begin(part.value, {{"train.evaluate_every", "{ steps = 2 }"},
                                            {"train.rule", "sgd"},
                                            {"cluster.replicas", several ? "2" : "1"},
                                            part});
    EXPECT_EQ(end.reason, "finished") << part.value;
    std::vector<int64_t> expected;
    for (int64_t step = 2; step < end.step; step += 2) expected.push_back(step);
    expected.push_back(end.step);
    EXPECT_EQ(Steps(), expected) << part.value;
  }
}

TEST_F(EvaluatorTest, ASampleStatesItsErrorAndTheLastEvaluationHasNone) {
  Begin("a", {kEvery5, kSample});
  const Metrics& sampled = notes_.evaluations[0].test;
  const double accuracy = MetricOf(sampled, "accuracy");
  EXPECT_NEAR(MetricOf(sampled, "accuracy_error"),
              std::sqrt(accuracy * (1 - accuracy) / 19 * (1 - 20.0 / 50)), 1e-12);
  EXPECT_GT(MetricOf(sampled, "loss_error"), 0);
  const Metrics last = notes_.evaluations[4].test;
  EXPECT_FALSE(Has(last, "accuracy_error"));
  EXPECT_EQ(notes_.ends.at(0).test, last);
  EXPECT_EQ(Checkpoint::Open(Path("a") + "/last").header().test, last);
  Begin("b");
  EXPECT_EQ(notes_.epochs[2].test, last);
}

TEST_F(EvaluatorTest, TheSampleIsTheSameAllThrough) {
  Begin("a", {kSample});
  const Metrics first = notes_.epochs[0].test;
  EXPECT_TRUE(Has(first, "accuracy_error"));
  EXPECT_FALSE(Has(notes_.epochs[2].test, "accuracy_error"));
  Begin("b", {{"train.evaluate_every", "{ steps = 7 }"}, kSample});
  EXPECT_EQ(notes_.evaluations[0].test, first);
}

TEST_F(EvaluatorTest, ATargetThatASampleReachesIsConfirmed) {
  const EndEvent end =
      Begin("a", {kEvery5, kSample, {"train.target", "{ metric = \"accuracy\", at_least = 0.0 }"}});
  EXPECT_EQ(end.reason, "target");
  EXPECT_EQ(end.step, 5);
  EXPECT_FALSE(Has(end.test, "accuracy_error"));
  EXPECT_NE(MetricOf(end.test, "loss"), MetricOf(notes_.evaluations.at(0).test, "loss"));
  EXPECT_EQ(Checkpoint::Open(Path("a") + "/last").header().test, end.test);
}

TEST_F(EvaluatorTest, TheBestStepIsKept) {
  Begin("a", {kEvery5, {"checkpoint.best", "loss"}, {"train.learning_rate", "0.05"}});
  const auto best = std::ranges::min_element(
      notes_.evaluations, {}, [](const auto& each) { return MetricOf(each.test, "loss"); });
  const CheckpointHeader kept = Checkpoint::Open(Path("a") + "/best").header();
  EXPECT_EQ(kept.position.step, best->step);
  EXPECT_EQ(kept.test, best->test);
}

/// The last epoch's evaluation is of all examples, which has another loss.
TEST_F(EvaluatorTest, TheBestIsThatOfTheSampleAllThrough) {
  const Overrides job = {kSample, {"checkpoint.best", "loss"}};
  const auto best = [this](const std::string& run) {
    return Checkpoint::Open(Path(run) + "/last").header().position.best;
  };
  Overrides longer = job;
  longer.push_back({"train.epochs", "4"});
  Begin("longer", longer);
  double sampled = MetricOf(notes_.epochs[0].test, "loss");
  for (const int epoch : {1, 2})
    sampled = std::min(sampled, MetricOf(notes_.epochs[epoch].test, "loss"));
  Begin("a", job);
  EXPECT_EQ(best("a"), sampled);
  // Another sample, and weights that are worse.
  notes_ = {};
  Train(LoadRunJob(Path("a"), {{"train.epochs", "4"},
                               {"train.learning_rate", "0.5"},
                               {"train.evaluate_examples", ""}}),
        {.run = Path("a"), .resume = true, .observers = {&notes_}});
  const double worse = MetricOf(notes_.epochs.at(0).test, "loss");
  EXPECT_GT(worse, sampled);
  EXPECT_EQ(best("a"), worse);
}

TEST_F(EvaluatorTest, WhatHasNoEffectIsRefused) {
  for (const char* wrong : {"{ step = 5 }", "{}", "{ steps = 0 }", "0", "'often'"})
    EXPECT_THROW(MakeNew({{"train.evaluate_every", wrong}}), UserError) << wrong;
  EXPECT_THROW(Begin("a", {{"train.evaluate_examples", "50"}}), UserError);
  EXPECT_THROW(Begin("b", {kSample, {"train.evaluate_every", "3"}}), UserError);
  const Job job = MakeNew({kEvery5});
  const DataSets train_only = {.train = OpenData(job.data(), 1).train};
  EXPECT_THROW(Evaluator(job, train_only), UserError);
}

}  // namespace yoke::evaluator_test
