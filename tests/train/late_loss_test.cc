// Losses that come late: a run on a device tells what one on the CPU tells.
#include <gtest/gtest.h>

#include "train/record/run_directory.h"
#include "train/support/trainer_fixture.h"

namespace yoke::late_loss_test {

constexpr const char* kSchedule = "{ name = \"cosine\" }";

/// Runs of a job on the CPU and on a device.
class LateLossTest : public test::TrainerTest {
 protected:
  /// Each step's number, loss so far and learning rate.
  struct Steps : Observer {
    void Step(const StepEvent& event) override {
      lines.push_back(fmt::format("{} {} {}", event.step, event.loss, event.learning_rate));
    }
    void Epoch(const EpochEvent& event) override {
      lines.push_back(fmt::format("epoch {} {}", event.epoch, event.train_loss));
    }
    std::vector<std::string> lines;
  };
  struct Told {
    EndEvent end;
    std::vector<std::string> lines;
  };

  Told On(const std::string& device, Overrides overrides) {
    overrides.push_back({"node.devices", device});
    Steps steps;
    const EndEvent end = Train(
        MakeNew(overrides), {.run = Path(device), .observers = {&steps}, .tell_each_step = true});
    return {end, steps.lines};
  }

  void Forget() {
    for (const char* run : {"cpu", "emulated:0"}) test::fs::remove_all(Path(run));
  }
};

constexpr const char* kStatistics =
    R"([{ type = "convolution", outputs = 4, kernel = 5, stride = 4 }, { type = "batch_norm" }, )"
    R"({ type = "relu" }, { type = "flatten" }, { type = "linear", outputs = 10 }])";
const Overrides kTwoRanks = {{"cluster.replicas", "2"}, {"cluster.strategy", "allreduce"}};

Overrides With(Overrides keys, const Overrides& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

TEST_F(LateLossTest, IsToldAsOnTheCpu) {
  for (const Overrides& more : {Overrides(), Overrides{{"model.layer", kStatistics}}, kTwoRanks,
                                With(kTwoRanks, {{"model.layer", kStatistics}})}) {
    const Overrides overrides =
        With({{"train.schedule", kSchedule}, {"checkpoint.every_steps", "5"}}, more);
    const Told cpu = On("cpu", overrides), there = On("emulated:0", overrides);
    EXPECT_EQ(there.lines, cpu.lines);
    EXPECT_FALSE(cpu.lines.empty());
    EXPECT_EQ(there.end.test, cpu.end.test);
    EXPECT_EQ(Weights("emulated:0"), Weights("cpu"));
    Forget();
  }
}

TEST_F(LateLossTest, ThatIsNotPossibleIsToldAtItsStep) {
  const std::string layers = R"([{ type = "flatten" }, { type = "linear", outputs = 16 }, )"
                             R"({ type = "linear", outputs = 10 }])";
  for (const char* rate : {"1e38", "1e12"})
    for (const Overrides& more : {Overrides(), kTwoRanks}) {
      const Overrides overrides = With({{"train.learning_rate", rate},
                                        {"train.rule", "sgd"},
                                        {"model.layer", layers},
                                        {"train.schedule", kSchedule}},
                                       more);
      const Told cpu = On("cpu", overrides), there = On("emulated:0", overrides);
      EXPECT_NE(cpu.end.sentence.find("the loss became nan at step"), std::string::npos);
      EXPECT_EQ(there.end.sentence, cpu.end.sentence);
      Forget();
    }
}

}  // namespace yoke::late_loss_test
