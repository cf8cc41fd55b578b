// TrainerTest: short runs in a folder of their own, and notes of what they tell.
#pragma once

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "train/files.h"
#include "train/trainer.h"

namespace yoke::test {

namespace fs = std::filesystem;

inline constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 200
test_size = 50
[model]
layer = [{ type = "flatten" }, { type = "dropout" }, { type = "linear", outputs = 16 }, { type = "relu" }, { type = "linear", outputs = 10 }]
[train]
epochs = 3
batch = 32
rule = "adam"
learning_rate = 0.01
[node]
threads = 1
)";

/// Notes what happens, and does something at a step's or an epoch's end.
class Notes : public Observer {
 public:
  void Start(const StartEvent& event) override {
    start = event;
    if (at_start) at_start();
  }
  void Step(const StepEvent&) override {
    if (at_step) at_step();
  }
  void Evaluation(const EvaluationEvent& event) override { evaluations.push_back(event); }
  void Epoch(const EpochEvent& event) override {
    epochs.push_back(event);
    if (at_epoch) at_epoch(event);
  }
  void Message(const std::string& sentence) override { messages.push_back(sentence); }
  void End(const EndEvent& event) override { ends.push_back(event); }

  StartEvent start;
  std::vector<EvaluationEvent> evaluations;
  std::vector<EpochEvent> epochs;
  std::vector<std::string> messages;
  std::vector<EndEvent> ends;
  std::function<void()> at_start;
  std::function<void()> at_step;
  std::function<void(const EpochEvent&)> at_epoch;
};

class TrainerTest : public testing::Test {
 protected:
  TrainerTest() : folder_(fs::temp_directory_path() / fmt::format("yoke-trainer-{}", getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~TrainerTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& run) const { return folder_ + "/" + run; }

  Job MakeNew(const Overrides& overrides = {}) const {
    ReplaceFile(folder_ + "/job.toml", kJob);
    return LoadJob(folder_ + "/job.toml", overrides);
  }
  EndEvent Begin(const std::string& run, const Overrides& overrides = {}) {
    notes_ = {};
    SignalAtFirstStep();
    return Train(MakeNew(overrides),
                 {.run = Path(run), .stop_signal = &signal_, .observers = {&notes_}});
  }
  EndEvent Resume(const std::string& run, const Overrides& overrides = {}) {
    notes_ = {};
    signal_ = 0;
    return Train(
        LoadRunJob(Path(run), overrides),
        {.run = Path(run), .resume = true, .stop_signal = &signal_, .observers = {&notes_}});
  }
  /// Moves a signal set beforehand to the session's first step.
  void SignalAtFirstStep() {
    notes_.at_step = [this, number = signal_.exchange(0)] { signal_ = number; };
  }
  std::string Weights(const std::string& run) const {
    return ReadWhole(Path(run) + "/last/model.safetensors");
  }
  std::string RuleStateOf(const std::string& run) const {
    return ReadWhole(Path(run) + "/last/optimizer.safetensors");
  }

  std::string folder_;
  std::atomic<int> signal_ = 0;
  Notes notes_;
};

}  // namespace yoke::test
