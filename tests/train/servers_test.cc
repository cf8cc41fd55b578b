// A rank that only serves, in real runs: it leads them, and the others train.
#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>

#include "base/check.h"
#include "train/support/runs_test.h"

namespace yoke::servers_test {

constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 400
test_size = 200
[model]
layer = [{ type = "flatten" }, { type = "linear", outputs = 24 }, { type = "batch_norm" }, { type = "relu" }, { type = "dropout" },
         { type = "linear", outputs = 10 }]
[train]
epochs = 3
batch = 16
rule = "adam"
learning_rate = 0.005
schedule = { name = "cosine" }
[node]
threads = 1
[cluster]
strategy = "async_sgd"
servers = 1
)";

struct Notes : Observer {
  void Step(const StepEvent& event) override {
    steps.push_back(event);
    if (at_step) at_step();
  }
  void Epoch(const EpochEvent& event) override { epochs.push_back(event); }

  std::vector<StepEvent> steps = {};
  std::vector<EpochEvent> epochs = {};
  std::function<void()> at_step = {};
};

class ServersTest : public RunsTest {
 protected:
  ServersTest() : RunsTest(kJob) {
    request_.stop_signal = &signal_;
    request_.observers = {&notes_};
  }

  EndEvent Run(const std::string& name, const Overrides& overrides) {
    notes_.epochs.clear();
    notes_.steps.clear();
    return RunsTest::Run(name, overrides);
  }

  Notes notes_;
  std::atomic<int> signal_ = 0;
};

TEST_F(ServersTest, OneWorkerIsOneReplicaBitForBit) {
  const EndEvent alone = Run("alone", {{"cluster.strategy", "none"}, {"cluster.replicas", "1"}});
  const std::vector<EpochEvent> epochs = notes_.epochs;
  for (const char* strategy : {"async_sgd", "hogwild_sgd", "compute_groups"}) {
    const EndEvent served =
        Run(strategy,
            {{"cluster.strategy", strategy}, {"cluster.servers", "1"}, {"cluster.replicas", "2"}});
    for (const char* file : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(Kept("alone", file), Kept(strategy, file)) << strategy << " " << file;
    EXPECT_EQ(served.test, alone.test) << strategy;
    EXPECT_EQ(served.step, alone.step) << strategy;
    ASSERT_EQ(notes_.epochs.size(), epochs.size()) << strategy;
    for (size_t i = 0; i < epochs.size(); ++i) {
      EXPECT_EQ(notes_.epochs[i].train_loss, epochs[i].train_loss) << strategy;
      EXPECT_EQ(notes_.epochs[i].learning_rate, epochs[i].learning_rate) << strategy;
      EXPECT_EQ(notes_.epochs[i].test, epochs[i].test) << strategy;
    }
  }
}

TEST_F(ServersTest, WorkersTakeEveryExampleOnceAnEpoch) {
  const EndEvent end = Run("several", {{"cluster.replicas", "4"}});
  EXPECT_EQ(end.reason, "finished");
  EXPECT_EQ(MetricOf(end.exchange, "updates"), 3 * 25);
  EXPECT_EQ(MetricOf(end.exchange, "effective_batch"), 16);
  EXPECT_EQ(end.step, 3 * 25);
  EXPECT_EQ(notes_.steps.back().examples_per_second > 0, true);
}

TEST_F(ServersTest, TeamsDivideThoseThatTrain) {
  const Overrides groups = {{"cluster.strategy", "compute_groups"},
                            {"cluster.servers", "1"},
                            {"cluster.replicas", "5"},
                            {"train.epochs", "5"},
                            {"train.schedule", ""}};
  for (const char* served_head : {"false", "true"}) {
    Overrides options = groups;
    options.push_back({"cluster.served_head", served_head});
    const EndEvent end = Run(std::string("head-") + served_head, options);
    EXPECT_EQ(end.reason, "finished");
    EXPECT_EQ(MetricOf(end.exchange, "effective_batch"), 400.0 / 13) << "two replicas' batches";
    EXPECT_GT(MetricOf(end.test, "accuracy"), 0.5);
  }
  Overrides misfit = groups;
  misfit.push_back({"cluster.groups", "5"});
  EXPECT_EQ(Refusal(misfit),
            "--set: cluster.groups = 5: it must divide the number of replicas that train, 4");
}

TEST_F(ServersTest, NeedsSomebodyWhoTrains) {
  EXPECT_NE(Refusal({{"cluster.replicas", "1"}})
                .find("cluster.servers = 1: rank 0 would serve and nobody train; expected 2 "
                      "replicas or more, got 1"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/refused"));
}

TEST_F(ServersTest, ChangesHands) {
  Run("r", {{"cluster.replicas", "3"}, {"train.epochs", "1"}});
  Resume("r", {{"cluster.replicas", "2"}, {"cluster.servers", "0"}, {"train.epochs", "2"}});
  Resume("r", {{"cluster.replicas", "4"}, {"cluster.servers", "1"}, {"train.epochs", "3"}});
  const EndEvent end =
      Resume("r", {{"cluster.replicas", "1"}, {"cluster.strategy", "none"}, {"train.epochs", "4"}});
  EXPECT_EQ(end.epochs, 4);
  EXPECT_EQ(end.step, 4 * 25);
}

TEST_F(ServersTest, TellsStepsAndStopsInOrder) {
  notes_.at_step = [this] { signal_ = SIGTERM; };
  const EndEvent end = Run("stopped", {{"cluster.replicas", "3"}, {"train.epochs", "100000"}});
  EXPECT_EQ(end.reason, "interrupted");
  EXPECT_EQ(end.exit_status, 128 + SIGTERM);
  ASSERT_FALSE(notes_.steps.empty());
  EXPECT_GT(notes_.steps[0].step, 0);
  EXPECT_GT(notes_.steps[0].loss, 0);
  EXPECT_LT(notes_.steps[0].loss, 10);
  signal_ = 0;
  notes_.at_step = {};
  const auto more = std::to_string(static_cast<int64_t>(end.epochs) + 1);
  EXPECT_EQ(Resume("stopped", {{"train.epochs", more}}).reason, "finished");
}

TEST_F(ServersTest, DivergesWithASentence) {
  const EndEvent end =
      Run("diverged",
          {{"cluster.replicas", "3"}, {"train.rule", "sgd"}, {"train.learning_rate", "1e30"}});
  EXPECT_EQ(end.reason, "diverged");
  EXPECT_EQ(end.exit_status, 3);
}

}  // namespace yoke::servers_test
