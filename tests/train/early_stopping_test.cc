// Early stopping: training ends after so many evaluations without a better value, whatever computes
// and exchanges, and a resumed run goes on counting.
#include <gtest/gtest.h>

#include "base/check.h"
#include "node/executor.h"
#include "strategy/strategy.h"
#include "train/checkpoint/checkpoint.h"
#include "train/record/run_directory.h"
#include "train/support/trainer_fixture.h"

namespace yoke::early_stopping_test {
namespace {

/// Updates are too small to change a weight, so the first evaluation stays the best.
Overrides Stuck(const Overrides& more = {}) {
  Overrides job = {{"train.epochs", "10"},
                   {"train.rule", "sgd"},
                   {"train.learning_rate", "1e-15"},
                   {"train.early_stopping", "{ patience = 2, metric = \"accuracy\" }"}};
  job.insert(job.end(), more.begin(), more.end());
  return job;
}

class EarlyStopping : public test::TrainerTest {};

TEST_F(EarlyStopping, EndsAfterThePatience) {
  const EndEvent end = Begin("a", Stuck());
  EXPECT_EQ(end.reason, "early_stopping");
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_EQ(end.epochs, 3);
  EXPECT_FALSE(end.test.empty());
  EXPECT_EQ(end.best, Path("a") + "/best");
  EXPECT_EQ(test::fs::read_symlink(end.best), "checkpoints/7");
  EXPECT_NE(end.sentence.find("test accuracy"), std::string::npos) << end.sentence;
}

TEST_F(EarlyStopping, ABetterValueBeginsTheCountAnew) {
  const EndEvent end = Begin("a", {{"train.early_stopping", "{ patience = 1 }"}});
  EXPECT_EQ(end.reason, "finished");
  EXPECT_EQ(Checkpoint::Open(Path("a") + "/last").header().position.stale, 0);
}

TEST_F(EarlyStopping, AResumedRunGoesOnCounting) {
  Begin("a", Stuck({{"train.epochs", "2"}}));
  const EndEvent end = Resume("a", {{"train.epochs", "10"}});
  EXPECT_EQ(end.reason, "early_stopping");
  EXPECT_EQ(end.epochs, 3);
  EXPECT_EQ(Resume("a").epochs, 3);
  EXPECT_EQ(Resume("a", {{"train.early_stopping.patience", "3"}}).epochs, 4);
}

TEST_F(EarlyStopping, LooksAtTheValidationShare) {
  const EndEvent end = Begin("a", Stuck({{"data.validation_share", "0.25"}}));
  EXPECT_EQ(end.reason, "early_stopping");
  EXPECT_NE(end.best_text.find("validation accuracy"), std::string::npos) << end.best_text;
}

TEST_F(EarlyStopping, CountsEvaluationsBySteps) {
  const EndEvent end = Begin("a", Stuck({{"train.evaluate_every", "{ steps = 2 }"}}));
  EXPECT_EQ(end.reason, "early_stopping");
  EXPECT_EQ(end.step, 6);
}

TEST_F(EarlyStopping, WithEveryExecutor) {
  for (const ExecutorEntry& entry : executors()) {
    if (!entry.supports({&Cpu()}).empty()) continue;
    const EndEvent end = Begin(entry.name, Stuck({{"node.executor", entry.name}}));
    EXPECT_EQ(end.reason, "early_stopping") << entry.name;
    EXPECT_EQ(end.epochs, 3) << entry.name;
  }
}

TEST_F(EarlyStopping, WithEveryStrategy) {
  for (const StrategyEntry& entry : strategies()) {
    if (entry.name == "none") continue;
    const EndEvent end =
        Begin(entry.name, Stuck({{"cluster.replicas", "2"}, {"cluster.strategy", entry.name}}));
    EXPECT_EQ(end.reason, "early_stopping") << entry.name;
  }
}

TEST_F(EarlyStopping, APlateauDropsTheRateBefore) {
  const Overrides job =
      Stuck({{"train.schedule", "{ name = \"plateau\", patience = 2, metric = \"accuracy\" }"},
             {"train.early_stopping", "{ patience = 5, metric = \"accuracy\" }"},
             {"cluster.replicas", "2"}});
  const auto rates = [this] {
    std::vector<double> all;
    for (const EpochEvent& epoch : notes_.epochs) all.push_back(epoch.learning_rate);
    return all;
  };
  EXPECT_EQ(Begin("a", job).epochs, 6);
  const std::vector<double> expected = {1e-15, 1e-15, 1e-15, 1e-16, 1e-16, 1e-17};
  ASSERT_EQ(rates().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(rates()[i] / expected[i], 1, 1e-9);
  Resume("a", {{"train.early_stopping.patience", "6"}});
  ASSERT_EQ(rates().size(), 1U);
  EXPECT_NEAR(rates()[0], 1e-17, 1e-25);
}

TEST_F(EarlyStopping, Mistakes) {
  EXPECT_THROW(MakeNew({{"train.early_stopping", "{}"}}), UserError);
  EXPECT_THROW(MakeNew({{"train.early_stopping", "{ patience = 0 }"}}), UserError);
  EXPECT_THROW(MakeNew(Stuck({{"checkpoint.best", "loss"}})), UserError);
  EXPECT_NO_THROW(MakeNew(Stuck({{"checkpoint.best", "accuracy"}})));
  EXPECT_THROW(Begin("a", {{"train.early_stopping", "{ patience = 1, metric = \"auc\" }"}}),
               UserError);
  EXPECT_THROW(Begin("a", Stuck({{"data.test_size", "0"}})), UserError);
}

}  // namespace
}  // namespace yoke::early_stopping_test
