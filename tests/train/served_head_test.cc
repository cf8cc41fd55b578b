// A served head in real runs: dropout, labels, the rule's state, checkpoints and evaluation are
// those of the whole model.
#include <cmath>

#include "train/files.h"
#include "train/support/runs_test.h"

namespace yoke::served_head_test {

constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 400
test_size = 200
[model]
layer = [{ type = "convolution", outputs = 4, kernel = [5], stride = [2] }, { type = "batch_norm" }, { type = "relu" }, { type = "flatten" },
         { type = "linear", outputs = 24 }, { type = "relu" }, { type = "dropout" }, { type = "linear", outputs = 10 }]
[train]
epochs = 3
batch = 16
rule = "adam"
learning_rate = 0.003
[node]
threads = 1
[cluster]
strategy = "compute_groups"
)";

class ServedHeadTest : public RunsTest {
 protected:
  ServedHeadTest() : RunsTest(kJob) {}

  EndEvent Run(const std::string& name, Overrides overrides, bool served) {
    overrides.push_back({"cluster.served_head", served ? "true" : "false"});
    return RunsTest::Run(name, overrides);
  }
};

TEST_F(ServedHeadTest, OfOneReplicaIsTheModelBitForBit) {
  Run("plain", {{"cluster.replicas", "1"}}, false);
  Run("served", {{"cluster.replicas", "1"}}, true);
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(Kept("plain", file), Kept("served", file)) << file;
}

TEST_F(ServedHeadTest, GoesOnFromItsCheckpoint) {
  Run("whole", {{"cluster.replicas", "1"}}, true);
  Run("cut", {{"cluster.replicas", "1"}, {"train.epochs", "1"}}, true);
  Resume("cut", {{"train.epochs", "3"}});
  for (const char* file : {"model.safetensors", "optimizer.safetensors"})
    EXPECT_EQ(Kept("whole", file), Kept("cut", file)) << file;
}

TEST_F(ServedHeadTest, OfOneGroupIsOneBigBatch) {
  // Under Adam rounding alone would move a bias before a batch normalization, whose gradient is 0.
  const Overrides one_group = {{"cluster.replicas", "3"},
                               {"cluster.groups", "1"},
                               {"train.rule", "momentum"},
                               {"train.learning_rate", "0.02"}};
  const EndEvent plain = Run("plain", one_group, false), served = Run("served", one_group, true);
  EXPECT_NEAR(MetricOf(served.test, "loss"), MetricOf(plain.test, "loss"), 1e-3);
  EXPECT_NEAR(MetricOf(served.test, "accuracy"), MetricOf(plain.test, "accuracy"), 0.011);
  EXPECT_EQ(MetricOf(served.exchange, "updates"), MetricOf(plain.exchange, "updates"));
}

TEST_F(ServedHeadTest, TrainsInGroups) {
  const EndEvent end = Run(
      "groups", {{"cluster.replicas", "4"}, {"train.epochs", "8"}, {"train.learning_rate", "0.01"}},
      true);
  EXPECT_EQ(end.reason, "finished");
  EXPECT_GT(MetricOf(end.test, "accuracy"), 0.6);
  EXPECT_EQ(MetricOf(end.exchange, "effective_batch"), 400.0 / 13);  // two replicas' batches
}

TEST_F(ServedHeadTest, TakesASplitChipsBatchAsOne) {
  // Without statistics of its own share a part computes what the whole chip does.
  std::string job = kJob;
  const std::string norm = R"({ type = "batch_norm" }, )";
  job.erase(job.find(norm), norm.size());
  ReplaceFile(folder_ + "/job.toml", job);
  const Overrides plain = {{"cluster.replicas", "3"},
                           {"cluster.groups", "1"},
                           {"train.rule", "momentum"},
                           {"train.epochs", "4"},
                           {"train.learning_rate", "0.05"}};
  Overrides split = plain;
  split.insert(split.end(), {{"node.executor", "split"}, {"node.parts", "2"}});
  const EndEvent whole = Run("whole", plain, true), parts = Run("parts", split, true);
  EXPECT_NEAR(MetricOf(parts.test, "loss"), MetricOf(whole.test, "loss"), 1e-3);
  EXPECT_LT(MetricOf(parts.test, "loss"), 2);  // it has learned: ln 10 at first
}

TEST_F(ServedHeadTest, ComputesInBf16) {
  Overrides settings = {{"cluster.replicas", "2"},  {"cluster.groups", "1"},
                        {"train.rule", "momentum"}, {"train.learning_rate", "0.02"},
                        {"node.precision", "bf16"}, {"node.kernels", "reference"}};  // on any CPU
  const EndEvent plain = Run("plain", settings, false), served = Run("served", settings, true);
  EXPECT_NEAR(MetricOf(served.test, "loss"), MetricOf(plain.test, "loss"), 0.05);
  settings[0].value = "1";
  Run("plain1", settings, false);
  Run("served1", settings, true);
  EXPECT_EQ(Kept("plain1", "model.safetensors"), Kept("served1", "model.safetensors"));
}

TEST_F(ServedHeadTest, IsRefusedInASentence) {
  EXPECT_NE(Refusal({{"cluster.served_head", "true"}, {"node.executor", "hogwild"}})
                .find("strategy compute_groups needs each step's gradient, and executor hogwild "
                      "updates the values itself; use executor single or split"),
            std::string::npos);
}

}  // namespace yoke::served_head_test
