// The running mean of the weights: its recurrence, in checkpoints and after a resume.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/check.h"
#include "comm/threads.h"
#include "data/reader.h"
#include "kernels/threads.h"
#include "train/checkpoint/safetensors.h"
#include "train/record/run_directory.h"
#include "train/replica.h"
#include "train/support/trainer_fixture.h"

namespace yoke::average_test {
namespace {

using testing::HasSubstr;

class Average : public test::TrainerTest {
 protected:
  std::vector<float> Scores(const std::string& run) const {
    const Safetensors file = Safetensors::Open(Path(run) + "/last/model.safetensors");
    for (const StoredTensor& tensor : file.tensors())
      if (tensor.name == "linear2.weight") {
        const auto* values = static_cast<const float*>(tensor.data);
        return {values, values + tensor.shape.Count()};
      }
    return {};
  }

  std::string Refusal(const Overrides& overrides) {
    try {
      Begin("refused", overrides);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

Overrides OneStep(const Overrides& more) {
  Overrides job = {{"train.epochs", "1"}, {"train.batch", "200"}, {"train.rule", "sgd"}};
  job.insert(job.end(), more.begin(), more.end());
  return job;
}

TEST_F(Average, IsBetweenTheOldWeightsAndTheNew) {
  for (const char* device : {"cpu", "emulated:0"}) {
    const std::string name = device;
    Begin(name + "0", OneStep({{"train.learning_rate", "1e-30"}, {"node.devices", device}}));
    Begin(name + "1", OneStep({{"node.devices", device}}));
    Begin(name, OneStep({{"train.average", "0.999"}, {"node.devices", device}}));
    const std::vector<float> before = Scores(name + "0"), after = Scores(name + "1"),
                             mean = Scores(name);
    for (size_t i = 0; i < mean.size(); ++i)
      ASSERT_NEAR(mean[i], (2 * before[i] + 9 * after[i]) / 11, 1e-6) << device;
  }
}

TEST_F(Average, IsMeasuredAndSaved) {
  const EndEvent end = Begin("a", {{"train.average", "0.9"}});
  Begin("b");
  EXPECT_NE(Weights("a"), Weights("b"));
  EXPECT_NE(end.test, notes_.ends.back().test);
  EXPECT_EQ(RuleStateOf("a").size() > RuleStateOf("b").size(), true);
}

TEST_F(Average, AResumedRunGoesOnWithTheWeights) {
  for (const char* replicas : {"1", "2"}) {
    const std::string name = replicas;
    const Overrides job = {{"train.average", "0.9"}, {"cluster.replicas", replicas}};
    Begin(name, job);
    signal_ = SIGINT;
    Begin(name + "-stopped", job);
    Resume(name + "-stopped");
    EXPECT_EQ(Weights(name), Weights(name + "-stopped")) << replicas;
    EXPECT_EQ(RuleStateOf(name), RuleStateOf(name + "-stopped")) << replicas;
  }
}

/// Of replicas that see other examples: the weights are equal, running statistics are not.
TEST(AverageOfReplicas, HasRunningStatisticsOfAll) {
  constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 64
test_size = 8
[model]
layer = [{ type = "flatten" }, { type = "linear", outputs = 8 }, { type = "batch_norm" }, { type = "linear", outputs = 10 }]
[train]
average = 0.9
[node]
threads = 1
[cluster]
replicas = 2
)";
  for (const char* device : {"cpu", "emulated:0"}) {
    const Job job =
        WithKeys(MakeJob(ParseToml(kJob, "job.toml"), "job", "/"), {{"node.devices", device}});
    const DataSets data = OpenData(job.data(), job.seed());
    RunThreads({.ranks = 2}, [&](const Communicator& world) {
      SetKernelThreads(1);
      Replica replica(job, data.train->Info(),
                      {.world = world, .local = {.rank = world.rank(), .size = world.size()}});
      replica.Broadcast();
      replica.Prepare();
      Batch batch;
      data.train->Read({.examples = std::vector<int64_t>{world.rank(), 2 + world.rank(), 7}},
                       batch);
      replica.Step(batch, {.learning_rate = 0.1, .highest_rate = 0.1, .team_examples = 6});
      while (replica.LateResult(/*wanted=*/true)) continue;
      replica.Settle();
      const auto models = world.AllGather(std::as_bytes(replica.Model()));
      EXPECT_EQ(models[0], models[1]) << device;
      replica.Finish();
    });
  }
}

TEST_F(Average, Mistakes) {
  EXPECT_THAT(Refusal({{"train.average", "1.0"}}), HasSubstr("train.average"));
  EXPECT_THAT(Refusal({{"train.average", "0.9"}, {"node.executor", "hogbatch"}}),
              HasSubstr("many updates"));
  EXPECT_THAT(
      Refusal(
          {{"train.average", "0.9"}, {"cluster.replicas", "2"}, {"cluster.strategy", "local_sgd"}}),
      HasSubstr("expected strategy none or allreduce"));
}

}  // namespace
}  // namespace yoke::average_test
