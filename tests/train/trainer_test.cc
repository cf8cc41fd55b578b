// Trainer: real short runs; ends for every reason.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "base/check.h"
#include "kernels/threads.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files.h"
#include "train/record/run_directory.h"
#include "train/report/report.h"
#include "train/support/trainer_fixture.h"

namespace yoke::trainer_test {

namespace fs = std::filesystem;
using test::TrainerTest;

TEST_F(TrainerTest, TellsWhatHappens) {
  const EndEvent end = Begin("a");
  EXPECT_EQ(end.reason, "finished");
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_EQ(end.epochs, 3);
  EXPECT_EQ(end.step, 3 * 7);
  EXPECT_EQ(notes_.start.run, Path("a"));
  EXPECT_EQ(notes_.start.parameters, 784 * 16 + 16 + 16 * 10 + 10);
  EXPECT_EQ(notes_.start.train_examples, 200);
  ASSERT_EQ(notes_.epochs.size(), 3U);
  EXPECT_EQ(notes_.epochs[0].epoch, 1);
  EXPECT_GT(notes_.epochs[0].train_loss, notes_.epochs[2].train_loss);
  EXPECT_GT(notes_.epochs[0].examples_per_second, 0);
  EXPECT_EQ(notes_.epochs[2].test, end.test);
  EXPECT_EQ(MetricOf(Checkpoint::Open(Path("a") + "/last").header().test, "accuracy"),
            MetricOf(end.test, "accuracy"));
  ASSERT_EQ(notes_.ends.size(), 1U);
}

TEST_F(TrainerTest, SameSeedSameWeights) {
  Begin("a");
  Begin("b");
  EXPECT_EQ(Weights("a"), Weights("b"));
  Begin("c", {{"train.seed", "2"}});
  EXPECT_NE(Weights("a"), Weights("c"));
}

TEST_F(TrainerTest, InterruptedInOrder) {
  signal_ = SIGINT;
  const EndEvent end = Begin("a");
  EXPECT_EQ(end.reason, "interrupted");
  EXPECT_EQ(end.exit_status, 128 + SIGINT);
  EXPECT_EQ(end.step, 1);
  EXPECT_TRUE(end.test.empty());
  EXPECT_NE(end.sentence.find("--resume " + Path("a")), std::string::npos);
  EXPECT_EQ(Checkpoint::Open(Path("a") + "/last").header().position.consumed.Count(), 32);
}

TEST_F(TrainerTest, SecondsAddUp) {
  signal_ = SIGINT;
  Begin("a");
  const double first = Checkpoint::Open(Path("a") + "/last").header().position.seconds;
  EXPECT_GT(first, 0);
  EXPECT_EQ(notes_.ends.at(0).seconds, first);
  EXPECT_GT(Resume("a").seconds, first);
}

TEST_F(TrainerTest, InterruptedBeforeTheFirstStep) {
  Begin("a");
  notes_ = {};
  notes_.at_start = [this] { signal_ = SIGINT; };
  const EndEvent end =
      Train(MakeNew(), {.run = Path("b"), .stop_signal = &signal_, .observers = {&notes_}});
  EXPECT_EQ(end.reason, "interrupted");
  EXPECT_EQ(end.exit_status, 128 + SIGINT);
  EXPECT_EQ(end.step, 0);
  EXPECT_NE(end.sentence.find("--resume"), std::string::npos);
  Resume("b");
  EXPECT_EQ(Weights("a"), Weights("b"));
}

TEST_F(TrainerTest, AnEvaluationIsBrokenOff) {
  notes_ = {};
  const Job job = MakeNew({{"train.epochs", "1"}, {"train.batch", "200"}});  // One step.
  notes_.at_step = [this] { signal_ = SIGTERM; };
  const EndEvent end =
      Train(job, {.run = Path("a"), .stop_signal = &signal_, .observers = {&notes_}});
  EXPECT_EQ(end.reason, "interrupted");
  EXPECT_TRUE(end.test.empty());
  EXPECT_EQ(Checkpoint::Open(Path("a") + "/last").header().position.epoch, 1);
  const EndEvent resumed = Resume("a");
  EXPECT_EQ(resumed.reason, "finished");
  EXPECT_FALSE(resumed.test.empty());
}

TEST_F(TrainerTest, AChangedSeedWouldDrawTheSharesAnew) {
  Begin("a", {{"data.validation_share", "0.25"}});
  EXPECT_THROW(Resume("a", {{"train.seed", "2"}, {"train.epochs", "4"}}), UserError);
  Begin("b");
  EXPECT_EQ(Resume("b", {{"train.seed", "2"}, {"train.epochs", "4"}}).epochs, 4);
}

TEST_F(TrainerTest, AnotherMetricHasABestOfItsOwn) {
  Begin("a", {{"checkpoint.best", "loss"}});
  EXPECT_TRUE(Checkpoint::Open(Path("a") + "/best").header().position.best > 0);
  Resume("a", {{"checkpoint.best", "accuracy"}, {"train.epochs", "4"}});
  EXPECT_EQ(std::filesystem::read_symlink(Path("a") + "/best"), "checkpoints/28");
}

TEST_F(TrainerTest, TargetEndsTraining) {
  const EndEvent end = Begin("a", {{"train.target", "{ metric = \"loss\", at_most = 100 }"}});
  EXPECT_EQ(end.reason, "target");
  EXPECT_EQ(end.epochs, 1);
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_EQ(Resume("a").reason, "target");
  EXPECT_EQ(Resume("a", {{"train.target", ""}}).reason, "finished");
}

TEST_F(TrainerTest, TimeLimitEndsTraining) {
  const EndEvent end = Begin("a", {{"train.time_limit", "1e-9s"}});
  EXPECT_EQ(end.reason, "time_limit");
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_EQ(end.step, 1);
  EXPECT_EQ(Resume("a", {{"train.time_limit", ""}}).reason, "finished");
}

TEST_F(TrainerTest, DivergedIsSaidAndTheLastGoodCheckpointStays) {
  notes_ = {};
  Begin("a", {{"train.epochs", "1"}});
  const std::string good = Weights("a");
  const EndEvent end = Resume("a", {{"train.epochs", "2"}, {"train.learning_rate", "1e38"}});
  EXPECT_EQ(end.reason, "diverged");
  EXPECT_EQ(end.exit_status, 3);
  for (const char* word : {"step", "first in", "learning_rate", "last"})
    EXPECT_NE(end.sentence.find(word), std::string::npos) << end.sentence;
  EXPECT_EQ(Weights("a"), good);
}

TEST_F(TrainerTest, ALossThatIsFarAboveTheUntrainedModelsIsDivergence) {
  const Overrides wild = {{"train.learning_rate", "1e6"}, {"train.clip_norm", "1"}};
  const EndEvent end = Begin("a", wild);
  EXPECT_EQ(end.reason, "diverged");
  EXPECT_EQ(end.exit_status, 3);
  EXPECT_EQ(end.epochs, 1);
  EXPECT_TRUE(std::isfinite(notes_.epochs.at(0).train_loss));
  for (const char* word : {"the loss became ", "before training", "(epoch 1)", "learning_rate"})
    EXPECT_NE(end.sentence.find(word), std::string::npos) << end.sentence;
}

TEST_F(TrainerTest, ACollapseIsTold) {
  const Overrides good = {{"data.test_size", "400"}, {"train.epochs", "10"}};
  const Metrics before = Begin("a", good).test;
  const EndEvent end = Resume("a", {{"data.test_size", "400"},
                                    {"train.epochs", "12"},
                                    {"train.rule", "sgd"},
                                    {"train.momentum", ""},
                                    {"train.learning_rate", "40"},
                                    {"train.clip_norm", "1"}});
  ASSERT_EQ(end.reason, "finished");
  ASSERT_TRUE(end.collapse) << MetricOf(before, "accuracy") << MetricOf(end.test, "accuracy");
  EXPECT_EQ(end.collapse->best.epoch, 10);
  EXPECT_NE(end.sentence.find("the accuracy fell from"), std::string::npos) << end.sentence;
  EXPECT_EQ(end.good, Path("a") + "/good");
  EXPECT_EQ(Checkpoint::Open(end.good).header().test, before);
  EXPECT_NE(ReadWhole(Path("a") + "/summary.json").find("the accuracy fell"), std::string::npos);
  EXPECT_NE(ReportPage({Path("a")}).find("the accuracy fell"), std::string::npos);
}

TEST_F(TrainerTest, ADivergenceGoesBackToTheLastGoodCheckpoint) {
  const Overrides wild = {{"train.learning_rate", "1e6"},
                          {"train.clip_norm", "1"},
                          {"checkpoint.every_steps", "2"},
                          {"train.epochs", "4"}};
  Begin("a");
  const std::string good = Weights("a");
  const EndEvent end = Resume("a", wild);
  EXPECT_EQ(end.reason, "diverged");
  EXPECT_NE(end.sentence.find("last (step 21)"), std::string::npos) << end.sentence;
  EXPECT_TRUE(Weights("a") == good);
  EXPECT_EQ(end.test, Checkpoint::Open(Path("a") + "/last").header().test);
  EXPECT_EQ(Resume("a", {{"train.epochs", "4"},
                         {"train.learning_rate", "0.01"},
                         {"train.clip_norm", "0.0"},
                         {"checkpoint.every_steps", "0"}})
                .reason,
            "finished");
}

TEST_F(TrainerTest, AnIncompleteLastWindowOfAccumulateCounts) {
  const Overrides few = {{"data.train_size", "8"},    {"train.batch", "3"},
                         {"train.epochs", "1"},       {"cluster.strategy", "allreduce"},
                         {"cluster.accumulate", "4"}, {"train.rule", "sgd"}};
  Begin("a", few);
  Overrides whole = few;
  whole[4].value = "3";
  Begin("b", whole);
  EXPECT_EQ(Weights("a"), Weights("b"));
  whole[4].value = "1";
  whole.push_back({"train.learning_rate", "1e-30"});
  Begin("c", whole);
  EXPECT_NE(Weights("a"), Weights("c"));
}

TEST_F(TrainerTest, ARestOfOneIsRefusedBeforeTheFirstStep) {
  const Overrides rest = {{"data.train_size", "65"},
                          {"model.layer",
                           "[{ type = \"flatten\" }, { type = \"batch_norm\" }, { type = "
                           "\"linear\", outputs = 10 }]"}};
  int steps = 0;
  notes_.at_step = [&] { ++steps; };
  EXPECT_THROW(Begin("a", rest), UserError);
  EXPECT_EQ(steps, 0);
  EXPECT_FALSE(fs::exists(Path("a")));
}

/// Executors that divide a step: what may leave a part of one example is refused, too.
TEST_F(TrainerTest, PartsOfOneUnderBatchNormAreRefusedBeforeTheFirstStep) {
  struct Case {
    const char *executor, *size, *batch, *threads;
    bool trains;
  };
  for (const auto& [executor, size, batch, threads, trains] :
       {Case{"hogwild", "65", "32", "1", false},            // a rest of one
        Case{"hogwild", "66", "32", "2", true},             //
        Case{"hogwild", "64", "2", "2", false},             // a thread's part
        Case{"hogwild", "96", "33", "1", false},            // 33 are two of 16 and one
        Case{"hogbatch", "65", "32", "1", false},           //
        Case{"adaptive_hogbatch", "64", "32", "1", false},  // begins with one
        Case{"split", "63", "3", "2", false},               // parts of one and two
        Case{"split", "64", "4", "2", true}}) {
    const Overrides job = {{"data.train_size", size},
                           {"train.batch", batch},
                           {"train.epochs", "1"},
                           {"train.rule", "sgd"},
                           {"node.executor", executor},
                           {"node.threads", threads},
                           {"model.layer",
                            "[{ type = \"flatten\" }, { type = \"batch_norm\" }, { type = "
                            "\"linear\", outputs = 10 }]"}};
    fs::remove_all(Path("a"));
    if (trains) {
      EXPECT_EQ(Begin("a", job).reason, "finished") << executor;
    } else {
      EXPECT_THROW(Begin("a", job), UserError) << executor << " " << batch;
      EXPECT_FALSE(fs::exists(Path("a"))) << executor << " " << batch;
    }
  }
}

TEST_F(TrainerTest, WhatDiesBeforeTrainingLeavesItsNameFree) {
  notes_.at_start = [] { throw std::runtime_error("dies"); };
  EXPECT_THROW(
      Train(MakeNew(), {.run = Path("a"), .stop_signal = &signal_, .observers = {&notes_}}),
      std::runtime_error);
  EXPECT_EQ(Begin("a").reason, "finished");
}

TEST_F(TrainerTest, BestIsKept) {
  const EndEvent end = Begin(
      "a",
      {{"checkpoint.best", "loss"}, {"checkpoint.keep", "1"}, {"train.learning_rate", "0.05"}});
  double best = 1e9;
  for (const EpochEvent& epoch : notes_.epochs) best = std::min(best, MetricOf(epoch.test, "loss"));
  EXPECT_EQ(MetricOf(Checkpoint::Open(Path("a") + "/best").header().test, "loss"), best);
  EXPECT_EQ(end.reason, "finished");
}

TEST_F(TrainerTest, CheckpointsByStep) {
  Begin("a", {{"checkpoint.every_steps", "5"}, {"checkpoint.keep", "100"}});
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(Path("a") + "/checkpoints"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"10", "14", "15", "20", "21", "5", "7"}));
}

TEST_F(TrainerTest, OneWriterAndOneRunADirectory) {
  Begin("a");
  EXPECT_THROW(Begin("a"), UserError);
  const RunDirectory held = RunDirectory::Resume(Path("a"));
  EXPECT_THROW(Resume("a"), UserError);
}

TEST_F(TrainerTest, WhatCannotBeginLeavesNoRun) {
  EXPECT_THROW(Begin("a", {{"train.target", "{ metric = \"auc\", at_least = 1 }"}}), UserError);
  EXPECT_FALSE(fs::exists(Path("a")));
}

TEST_F(TrainerTest, ValidationShareIsWatched) {
  Begin("a", {{"data.validation_share", "0.25"},
              {"train.target", "{ metric = \"accuracy\", at_least = 0.0 }"}});
  EXPECT_EQ(notes_.start.train_examples, 150);
  EXPECT_FALSE(notes_.epochs.at(0).validation.empty());
}

TEST_F(TrainerTest, Bf16TrainsWhereItIsFastAndIsRefusedElsewhere) {
  const Overrides bf16 = {{"node.precision", "bf16"}};
  if (!DescribeKernelLibrary().fast_bf16) {
    EXPECT_THROW(Begin("refused", bf16), UserError);
  } else {
    Begin("a", bf16);
    EXPECT_GT(notes_.epochs[0].train_loss, notes_.epochs[2].train_loss);
  }
}

TEST_F(TrainerTest, GroupsKeepWhatCompressionLeavesOut) {
  Begin("a", {{"cluster.replicas", "4"},
              {"cluster.strategy", "compute_groups"},
              {"cluster.compression", "topk"},
              {"train.epochs", "1"},
              {"train.batch", "8"}});
  for (const auto& [rank, keeps] : {std::pair(0, true), {1, false}, {2, true}, {3, false}}) {
    const std::string kept = fmt::format("{}/last/replica-{}.safetensors", Path("a"), rank);
    EXPECT_EQ(ReadWhole(kept).find("strategy.residual") != std::string::npos, keeps) << rank;
  }
  EXPECT_EQ(Resume("a", {{"train.epochs", "2"}}).reason, "finished");
}

}  // namespace yoke::trainer_test
