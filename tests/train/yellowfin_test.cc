// Rule yellowfin in real runs: LeNet without a rate, resuming bit for bit, one strategy after the
// other, threads that race.
#include "base/check.h"
#include "optim/rules/yellowfin_tuner.h"
#include "train/checkpoint/safetensors.h"
#include "train/files.h"
#include "train/support/runs_test.h"

namespace yoke::yellowfin_test {

constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 1000
test_size = 200
[model]
layer = [{ type = "flatten" }, { type = "linear", outputs = 32 }, { type = "relu" }, { type = "linear", outputs = 10 }]
[train]
epochs = 4
batch = 16
rule = "yellowfin"
[node]
threads = 1
)";

class YellowFinTest : public RunsTest {
 protected:
  YellowFinTest() : RunsTest(kJob) {}

  /// The tuner's scalars in the last checkpoint.
  YellowFinMemory Memory(const std::string& run) const {
    const Safetensors file(Kept(run, "optimizer.safetensors"), run);
    const StoredTensor& scalars =
        file.Find("rule.numbers", DType::kF32, Shape{2 * int64_t{kYellowFinScalars}});
    return ReadYellowFin({static_cast<const float*>(scalars.data), kYellowFinScalars});
  }
};

TEST_F(YellowFinTest, TrainsLeNetWithoutARate) {
  constexpr const char* kLeNet = R"([data]
format = "synthetic-digits"
train_size = 1500
test_size = 300
[model]
name = "lenet"
[train]
epochs = 3
batch = 16
rule = "yellowfin"
)";
  ReplaceFile(folder_ + "/job.toml", kLeNet);
  EXPECT_EQ(LoadJob(folder_ + "/job.toml", {}).train.Float("learning_rate"), 1);
  EXPECT_GT(MetricOf(Run("lenet", {}).test, "accuracy"), 0.8);
}

TEST_F(YellowFinTest, LearnsAndFindsMomentum) {
  const EndEvent end = Run("a", {{"train.epochs", "8"}});
  EXPECT_GT(MetricOf(end.test, "accuracy"), 0.75);
  EXPECT_EQ(Memory("a").updates, 8 * 63);
  EXPECT_GT(Memory("a").momentum, 0.1);
  EXPECT_EQ(Memory("a").momentum, Memory("a").target);  // nothing comes late
}

TEST_F(YellowFinTest, ResumesBitForBit) {
  // Replicas that differ keep scalars of their own.
  for (const char* strategy : {"none", "allreduce", "sgp", "easgd_sync2"}) {
    const std::string whole = std::string("whole-") + strategy,
                      cut = std::string("cut-") + strategy;
    const Overrides overrides = {
        {"cluster.strategy", strategy},
        {"cluster.replicas", strategy == std::string_view("none") ? "1" : "2"}};
    Overrides first = overrides;
    first.push_back({"train.epochs", "2"});
    Run(whole, overrides);
    Run(cut, first);
    Resume(cut, {{"train.epochs", "4"}});
    for (const char* file : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(Kept(whole, file), Kept(cut, file)) << strategy << " " << file;
  }
}

TEST_F(YellowFinTest, GoesOnUnderAnotherStrategy) {
  Run("a", {{"cluster.replicas", "2"}, {"train.epochs", "2"}});
  const float updates = Memory("a").updates;
  const EndEvent end = Resume("a", {{"cluster.strategy", "async_sgd"}, {"train.epochs", "3"}});
  EXPECT_GT(MetricOf(end.test, "accuracy"), 0.6);
  EXPECT_EQ(Memory("a").updates, updates + 63);
}

TEST_F(YellowFinTest, LearnsInPlace) {
  for (const char* executor : {"hogwild", "hogbatch"}) {
    const EndEvent end = Run(executor, {{"node.executor", executor}, {"node.threads", "2"}});
    EXPECT_GT(MetricOf(end.test, "accuracy"), 0.6) << executor;
    EXPECT_GT(Memory(executor).updates, 200) << executor;
  }
}

}  // namespace yoke::yellowfin_test
