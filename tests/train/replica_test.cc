// Replica: what it says of several, and its part of a batch.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include "base/check.h"
#include "train/recovery/recovery.h"
#include "train/support/runs_test.h"

namespace yoke::replica_test {

constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 200
test_size = 50
[model]
layer = [{ type = "flatten" }, { type = "linear", outputs = 8 }, { type = "batch_norm" }, { type = "relu" }, { type = "linear", outputs = 10 }]
[train]
epochs = 1
batch = 16
rule = "sgd"
learning_rate = 1e-30
[node]
threads = 1
[cluster]
strategy = "easgd_sync1"
moving_rate = 1e-30
replicas = 2
)";

class ReplicaTest : public RunsTest {
 protected:
  ReplicaTest() : RunsTest(kJob) {}
};

/// Nothing moves but each replica's running statistics, which are of its own examples.
TEST_F(ReplicaTest, DistanceIsThatOfWeights) {
  EXPECT_LT(MetricOf(Run("run", {}).exchange, "consensus_distance"), 1e-20);
}

/// A job of compute groups in the paper's form, whose batch is a group's.
Job GroupJob(int64_t batch, int replicas, int groups) {
  const std::string text = fmt::format(
      "[data]\nformat = \"synthetic-digits\"\n[model]\nname = \"mlp\"\n[train]\nbatch = {}\n"
      "[cluster]\nstrategy = \"compute_groups\"\nform = \"paper\"\nreplicas = {}\ngroups = {}\n",
      batch, replicas, groups);
  return MakeJob(ParseToml(text, "job.toml"), "job", "/");
}

TEST(BatchOf, IsAPartOfAPaperGroupsBatch) {
  EXPECT_EQ(BatchOf(GroupJob(64, 8, 8)), 64);
  EXPECT_EQ(BatchOf(GroupJob(64, 8, 2)), 16);
  EXPECT_EQ(BatchOf(WithKeys(GroupJob(64, 8, 2), {{"cluster.form", "yoke"}})), 64);
  try {
    BatchOf(GroupJob(65, 8, 2));
    FAIL() << "65 examples for 4 replicas";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("the 4 replicas of a group share a batch"));
  }
}

TEST(BatchOf, IsMadeToFitASmallerGroup) {
  std::vector<std::string> messages;
  const Job smaller = SmallerJob(GroupJob(64, 4, 1), 3, messages);
  EXPECT_EQ(smaller.cluster.String("form"), "paper");
  EXPECT_EQ(BatchOf(smaller), 21);
  EXPECT_THAT(messages, testing::ElementsAre(testing::HasSubstr("it is 63")));
}

}  // namespace yoke::replica_test
