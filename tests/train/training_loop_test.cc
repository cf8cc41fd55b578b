// The training loop: the order of a step and of a round, and what a loss that is not possible
// skips.
#include "train/training_loop.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace yoke::training_loop_test {
namespace {

using Calls = std::vector<std::string>;

class Recorder : public Executor, public Strategy {
 public:
  explicit Recorder(Calls& calls) : calls_(calls) {}

  StepResult Step(const Batch& batch, const ParamView& /*params*/,
                  const ExecutorStep& step) override {
    calls_.emplace_back("compute");
    learning_rate = step.learning_rate;
    step.ready(3);
    return {.loss = loss, .examples = batch.size, .late = late};
  }
  ParamView View(const StrategyStep& /*step*/) override {
    calls_.emplace_back("view");
    return {};
  }
  void GradientReady(int slice) override { calls_.push_back("ready " + std::to_string(slice)); }
  void Step(const StrategyStep& /*step*/) override { calls_.emplace_back("update"); }
  Array<const float> Model() override { return {}; }

  double loss = 1;
  bool late = false;
  double learning_rate = 0;

 private:
  Calls& calls_;
};

Batch OneExample() {
  Batch batch;
  batch.size = 1;
  batch.examples = {0};
  return batch;
}

Calls CallsOf(double loss, bool late, bool alone) {
  Calls calls;
  Recorder recorder(calls);
  recorder.loss = loss;
  recorder.late = late;
  ReplicaStep step(
      {.executor = recorder,
       .strategy = recorder,
       .complete = [&](int slice) { calls.push_back("complete " + std::to_string(slice)); },
       .skips_impossible = alone});
  const StepResult result = step.Take(OneExample(), {.learning_rate = 0.5, .examples = 1},
                                      [&] { calls.emplace_back("computed"); });
  EXPECT_EQ(result.examples, 1);
  EXPECT_EQ(recorder.learning_rate, 0.5);
  return calls;
}

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
const Calls kWhole = {"view", "compute", "complete 3", "ready 3", "computed", "update"};

TEST(TrainingLoop, AStepIsValuesThenGradientThenUpdate) {
  EXPECT_EQ(CallsOf(1, /*late=*/false, /*alone=*/true), kWhole);
}

TEST(TrainingLoop, AnImpossibleLossSkipsTheUpdateOfAReplicaAlone) {
  EXPECT_EQ(CallsOf(kNone, /*late=*/false, /*alone=*/true),
            Calls(kWhole.begin(), kWhole.end() - 1));
}

TEST(TrainingLoop, OthersWaitForTheExchangeAfterAnImpossibleLoss) {
  EXPECT_EQ(CallsOf(kNone, /*late=*/false, /*alone=*/false), kWhole);
}

TEST(TrainingLoop, ALossThatIsNotKnownYetSkipsNothing) {
  EXPECT_EQ(CallsOf(kNone, /*late=*/true, /*alone=*/true), kWhole);
}

/// A round of two steps by a clock that each call moves by a second.
std::optional<RoundSeconds> RoundOf(Calls& calls, bool good) {
  double now = 10;
  int left = 2;
  return RunToMeeting({.now = [&] { return now; },
                       .step =
                           [&] {
                             if (left-- == 0) return false;
                             calls.emplace_back("step");
                             return ++now > 0;
                           },
                       .idle = [&] { calls.emplace_back("idle"); },
                       .meet =
                           [&](double began) {
                             EXPECT_EQ(began, 10);
                             calls.emplace_back("meet");
                             return good ? std::optional(++now) : std::nullopt;
                           },
                       .settle =
                           [&] {
                             calls.emplace_back("settle");
                             now += 4;
                           }});
}

TEST(TrainingLoop, ARoundIsStepsThenMeetingThenSettling) {
  Calls calls;
  const std::optional<RoundSeconds> seconds = RoundOf(calls, /*good=*/true);
  EXPECT_EQ(calls, (Calls{"step", "step", "idle", "meet", "settle"}));
  ASSERT_TRUE(seconds);
  EXPECT_EQ(seconds->steps, 3);
  EXPECT_EQ(seconds->settle, 4);
  EXPECT_EQ(seconds->all(), 7);
}

TEST(TrainingLoop, ARoundWithABadLossIsNotSettled) {
  Calls calls;
  EXPECT_FALSE(RoundOf(calls, /*good=*/false));
  EXPECT_EQ(calls, (Calls{"step", "step", "idle", "meet"}));
}

}  // namespace
}  // namespace yoke::training_loop_test
