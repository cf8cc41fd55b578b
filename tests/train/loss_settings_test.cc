// Smoothed labels, weights of classes and left-out steps in short runs.
#include "train/job/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/check.h"
#include "train/record/run_directory.h"
#include "train/support/trainer_fixture.h"

namespace yoke::loss_settings_test {
namespace {

using testing::HasSubstr;

class LossSettings : public test::TrainerTest {
 protected:
  std::string Refusal(const Overrides& overrides) {
    try {
      Begin("refused", overrides);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(LossSettings, WeightsOfOneChangeNothing) {
  Begin("a");
  Begin("b", {{"train.class_weights", "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1.0]"}});
  Begin("c", {{"train.class_weights", "{ 3 = 2 }"}});
  EXPECT_EQ(Weights("a"), Weights("b"));
  EXPECT_NE(Weights("a"), Weights("c"));
}

TEST_F(LossSettings, BalancedIsByTheCountsOfClasses) {
  const Job job = MakeNew({{"train.class_weights", "balanced"}});
  const DataSets data = OpenData(job.data(), job.seed());
  const std::vector<double> weights = ClassWeightsOf(job, *data.train);
  std::vector<double> counts(10);
  Batch batch;
  for (int64_t i = 0; i < data.train->Size(); ++i) {
    data.train->Read({.examples = {&i, 1}}, batch);
    ++counts[static_cast<size_t>(batch.classes[0])];
  }
  ASSERT_EQ(weights.size(), 10U);
  for (size_t c = 0; c < 10; ++c) EXPECT_NEAR(weights[c] * counts[c], 20, 1e-9);
  EXPECT_EQ(Begin("a", {{"train.class_weights", "balanced"}}).reason, "finished");
}

TEST_F(LossSettings, SmoothingIsOfTrainingAlone) {
  Begin("a", {{"train.epochs", "1"}, {"train.learning_rate", "1e-15"}});
  Begin(
      "b",
      {{"train.epochs", "1"}, {"train.learning_rate", "1e-15"}, {"train.label_smoothing", "0.5"}});
  EXPECT_EQ(Weights("a"), Weights("b"));
  Begin("c", {{"train.label_smoothing", "0.5"}});
  const double loss = notes_.epochs.back().train_loss;
  Begin("d");
  EXPECT_GT(loss, notes_.epochs.back().train_loss);
}

TEST_F(LossSettings, Mistakes) {
  EXPECT_THAT(Refusal({{"train.class_weights", "[1.0]"}}),
              HasSubstr("1 weights, and the data has 10 classes"));
  EXPECT_THAT(Refusal({{"train.class_weights", "{ cat = 2 }"}}), HasSubstr("unknown class 'cat'"));
  EXPECT_THAT(Refusal({{"train.class_weights", "even"}}), HasSubstr("balanced"));
  EXPECT_THAT(Refusal({{"train.label_smoothing", "1.0"}}), HasSubstr("label_smoothing"));
  EXPECT_THAT(Refusal({{"train.label_smoothing", "0.1"}, {"node.devices", "emulated:0"}}),
              HasSubstr("it smooths labels or weighs classes"));
}

TEST_F(LossSettings, DropLastLeavesOutWhatIsNoWholeStep) {
  EXPECT_EQ(Begin("a", {{"train.drop_last", "true"}}).step, 3 * 6);
  EXPECT_EQ(Begin("b", {{"train.drop_last", "true"}, {"cluster.replicas", "2"}}).step, 3 * 3);
  signal_ = SIGINT;
  Begin("c", {{"train.drop_last", "true"}});
  Resume("c");
  EXPECT_EQ(Weights("a"), Weights("c"));
  EXPECT_THAT(Refusal({{"train.drop_last", "true"}, {"train.batch", "201"}}),
              HasSubstr("nothing is left"));
  EXPECT_THAT(Refusal({{"train.drop_last", "true"}, {"node.executor", "hogbatch"}}),
              HasSubstr("batches of its own"));
}

}  // namespace
}  // namespace yoke::loss_settings_test
