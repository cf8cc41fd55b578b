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
};

TEST_F(LateLossTest, IsToldAsOnTheCpu) {
  const Overrides overrides = {{"train.schedule", kSchedule}, {"checkpoint.every_steps", "5"}};
  const Told cpu = On("cpu", overrides), there = On("emulated:0", overrides);
  EXPECT_EQ(there.lines, cpu.lines);
  EXPECT_EQ(cpu.lines.size(), 3 * 7 + 3U);
  EXPECT_EQ(there.end.test, cpu.end.test);
  EXPECT_EQ(Weights("emulated:0"), Weights("cpu"));
}

TEST_F(LateLossTest, ThatIsNotPossibleIsToldAtItsStep) {
  const std::string layers = R"([{ type = "flatten" }, { type = "linear", outputs = 16 }, )"
                             R"({ type = "linear", outputs = 10 }])";
  for (const char* rate : {"1e38", "1e12"}) {
    const Overrides overrides = {{"train.learning_rate", rate},
                                 {"train.rule", "sgd"},
                                 {"model.layer", layers},
                                 {"train.schedule", kSchedule}};
    const Told cpu = On("cpu", overrides), there = On("emulated:0", overrides);
    EXPECT_NE(cpu.end.sentence.find("the loss became nan at step"), std::string::npos);
    EXPECT_EQ(there.end.sentence, cpu.end.sentence);
    test::fs::remove_all(Path("cpu"));
    test::fs::remove_all(Path("emulated:0"));
  }
}

}  // namespace yoke::late_loss_test
