// Replica: what it says of several.
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

}  // namespace yoke::replica_test
