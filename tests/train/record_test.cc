// The record of a run: lines, summary, what is dropped on resuming, and torn lines.
#include "train/record/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace yoke::record_test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

class RecordTest : public testing::Test {
 protected:
  void SetUp() override {
    run_ = testing::TempDir() + "/record_" +
           testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(run_);
    fs::create_directories(run_);
  }

  std::unique_ptr<Observer> Started(double epochs_done = 0) {
    auto record = MakeRecord(run_);
    StartEvent start;
    start.run = run_;
    start.parameters = 431080;
    start.executor = "single";
    start.strategy = "none";
    start.devices = {"cpu"};
    start.hardware = "cpu (2 threads)";
    start.epochs = 5;
    start.epochs_done = epochs_done;
    record->Start(start);
    return record;
  }

  static EpochEvent Epoch(int64_t epoch, double loss = 0.5) {
    EpochEvent event;
    event.epoch = epoch;
    event.epochs = 5;
    event.step = epoch * 100;
    event.seconds = 2.0 * static_cast<double>(epoch);
    event.train_loss = loss;
    event.test = {{"loss", 0.25}, {"accuracy", 0.875}};
    return event;
  }

  std::vector<Json> Lines() const {
    std::vector<Json> lines;
    std::ifstream in(run_ + "/metrics.jsonl");
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  std::vector<std::string> Kinds() const {
    std::vector<std::string> kinds;
    for (const Json& line : Lines())
      kinds.push_back(line["event"].get<std::string>() +
                      (line["event"] == "epoch" ? line["epoch"].dump() : ""));
    return kinds;
  }

  int EventFiles() const {
    int files = 0;
    for (const auto& entry : fs::directory_iterator(run_))
      files += entry.path().string().find("tfevents") != std::string::npos;
    return files;
  }

  /// The bytes of the TensorBoard file.
  std::string Events() const {
    for (const auto& entry : fs::directory_iterator(run_))
      if (entry.path().string().find("tfevents") != std::string::npos) {
        std::ifstream in(entry.path(), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
      }
    return "";
  }

  std::string run_;
};

using testing::ElementsAre;

TEST_F(RecordTest, KeepsOneLineAnEvent) {
  auto record = Started();
  record->Epoch(Epoch(1));
  record->End({.run = run_,
               .seconds = 2,
               .epochs = 1,
               .step = 100,
               .test = {{"accuracy", 0.875}},
               .reason = "finished",
               .sentence = "",
               .exit_status = 0});
  EXPECT_THAT(Kinds(), ElementsAre("start", "epoch1", "end"));
  const Json start = Lines()[0];
  for (const char* key : {"version", "commit", "cpu", "libraries", "parameters", "time"})
    EXPECT_TRUE(start.contains(key)) << key;
  EXPECT_TRUE(start["libraries"].contains("oneDNN"));
  EXPECT_EQ(Lines()[1]["test"]["accuracy"], 0.875);
  EXPECT_EQ(EventFiles(), 1);
}

TEST_F(RecordTest, KeepsWhatEachDeviceHasDone) {
  EpochEvent epoch = Epoch(1);
  epoch.node = {
      {.name = "cpu", .examples = 100, .updates = 50, .busy = 0.75},
      {.name = "emulated:0", .examples = 300, .updates = 3, .staleness = 16.5, .most_stale = 20}};
  auto record = Started();
  record->Epoch(epoch);
  record->Epoch(Epoch(2));
  const Json node = Lines()[1]["node"];
  EXPECT_EQ(node["examples"], Json::parse(R"({"cpu":100,"emulated:0":300})"));
  EXPECT_EQ(node["updates"], Json::parse(R"({"cpu":50,"emulated:0":3})"));
  EXPECT_EQ(node["busy"]["cpu"], 0.75);
  EXPECT_EQ(node["staleness"]["emulated:0"], 16.5);
  EXPECT_EQ(node["most_stale"]["emulated:0"], 20);
  EXPECT_FALSE(Lines()[2].contains("node"));
  for (const char* tag : {"node/updates/cpu", "node/staleness/emulated:0"})
    EXPECT_THAT(Events(), testing::HasSubstr(tag));
  record = Started(2);  // writes the events anew from the lines
  EXPECT_THAT(Events(), testing::HasSubstr("node/examples/emulated:0"));
}

TEST_F(RecordTest, SummaryJoinsStartAndEnd) {
  auto record = Started();
  record->End({.run = run_,
               .seconds = 2,
               .epochs = 1,
               .step = 100,
               .test = {{"accuracy", 0.875}},
               .reason = "target",
               .sentence = "",
               .exit_status = 0});
  const Json summary = Json::parse(std::ifstream(run_ + "/summary.json"));
  EXPECT_EQ(summary["reason"], "target");
  EXPECT_EQ(summary["parameters"], 431080);
  EXPECT_EQ(summary["test"]["accuracy"], 0.875);
  EXPECT_FALSE(summary.contains("event"));
}

TEST_F(RecordTest, SaysHowMuchMemoryWasTaken) {
  const MemoryUse memory{.peak = 1'300'000'000,
                         .before_model = 50'000'000,
                         .parameters = 300'000'000,
                         .rule_state = 600'000'000,
                         .tables = 100'000'000,
                         .gradients = 1000};
  auto record = Started();
  record->End({.run = run_, .reason = "finished", .memory = memory});
  const Json summary = Json::parse(std::ifstream(run_ + "/summary.json"));
  EXPECT_EQ(summary["memory"]["peak"], memory.peak);
  EXPECT_EQ(summary["memory"]["gradients"], 1000);
  EXPECT_DOUBLE_EQ(summary["memory"]["ratio"], 1.3);
  EXPECT_EQ(ToText(memory), "peak memory 1.3 GB (model 1.0, program and data 0.1)");
  EXPECT_EQ(ToText(MemoryUse{.peak = 74'700'000,
                             .before_model = 36'200'000,
                             .parameters = 1'720'000,
                             .rule_state = 1'730'000}),
            "peak memory 75 MB (model 3.5, program and data 36)");
  EXPECT_EQ(ToText(MemoryUse{}), "");
}

TEST_F(RecordTest, ResumingDropsWhatTheCheckpointDoesNotHold) {
  auto record = Started();
  for (int epoch = 1; epoch <= 3; ++epoch) record->Epoch(Epoch(epoch));
  record.reset();
  record = Started(2.4);
  record->Epoch(Epoch(3));
  EXPECT_THAT(Kinds(), ElementsAre("start", "epoch1", "epoch2", "start", "epoch3"));
  EXPECT_EQ(EventFiles(), 1);
}

TEST_F(RecordTest, SaysHowFarDataAreRead) {
  EXPECT_EQ(ToText(LoadingEvent{.seconds = 2}), "preparing data for 2.00 s");
  EXPECT_EQ(ToText(LoadingEvent{.seconds = 2, .bytes = 3'000'000}),
            "reading data: 3.00 MB in 2.00 s");
  const LoadingEvent event = {.seconds = 12, .bytes = 3'000'000, .total = 10'000'000};
  EXPECT_EQ(ToText(event), "reading data: 3.00 MB of 10.0 MB in 12 s");
  const Json line = Json::parse(ToJson(event));
  EXPECT_EQ(line["event"], "loading");
  EXPECT_EQ(line["total"], 10'000'000);
}

TEST_F(RecordTest, KnowsWhichEpochsItHasTold) {
  EXPECT_EQ(EpochsTold(run_, 5), 0);
  auto record = Started();
  for (int epoch = 1; epoch <= 3; ++epoch) record->Epoch(Epoch(epoch));
  EXPECT_EQ(EpochsTold(run_, 5), 3);
  EXPECT_EQ(EpochsTold(run_, 2.4), 2);
}

TEST_F(RecordTest, KeepsEvaluationsOfStepsThatHold) {
  auto record = Started();
  EvaluationEvent evaluation = {
      .step = 150, .epoch = 1.5, .examples = 300, .test = {{"loss", 0.5}, {"loss_error", 0.25}}};
  record->Epoch(Epoch(1));
  record->Evaluation(evaluation);
  evaluation.step = 190, evaluation.epoch = 1.9;
  record->Evaluation(evaluation);
  EXPECT_EQ(StepEvaluated(run_, 5), 190);
  EXPECT_EQ(StepEvaluated(run_, 1.75), 150);
  Started(1.75);
  EXPECT_THAT(Kinds(), ElementsAre("start", "epoch1", "evaluation", "start"));
  EXPECT_EQ(Lines()[2]["step"], 150);
  EXPECT_EQ(Lines()[2]["examples"], 300);
  EXPECT_EQ(Lines()[2]["test"]["loss_error"], 0.25);
  EXPECT_FALSE(Lines()[2].contains("validation"));
  EXPECT_THAT(Events(), testing::HasSubstr("loss_error/test"));
}

TEST_F(RecordTest, ResumingFromTheBeginningKeepsNoEpoch) {
  Started()->Epoch(Epoch(1));
  Started(0);
  EXPECT_THAT(Kinds(), ElementsAre("start", "start"));
}

TEST_F(RecordTest, ATornLastLineIsDropped) {
  Started()->Epoch(Epoch(1));
  std::ofstream(run_ + "/metrics.jsonl", std::ios::app) << R"({"event":"epoch","ep)";
  Started(1);
  EXPECT_THAT(Kinds(), ElementsAre("start", "epoch1", "start"));
}

TEST_F(RecordTest, LinesOfAnotherKindAreSkipped) {
  Started()->Epoch(Epoch(1));
  std::ofstream(run_ + "/metrics.jsonl", std::ios::app)
      << "{\"event\":3}\n{\"event\":\"epoch\",\"epoch\":\"x\"}\n[1]\n"
      << "{\"event\":\"epoch\",\"epoch\":1,\"time\":\"x\",\"step\":[],\"test\":7,\"node\":7}\n";
  Started(1);
  EXPECT_THAT(Kinds(), ElementsAre("start", "epoch1", "epoch1", "start"));
}

TEST_F(RecordTest, ALossThatIsNoNumberIsStillJson) {
  auto record = Started();
  record->Epoch(Epoch(1, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(Lines()[1]["train"]["loss"].is_null());
  record = Started(1);  // and can be read again
  EXPECT_THAT(Kinds(), ElementsAre("start", "epoch1", "start"));
}

TEST_F(RecordTest, LogHoldsTheLinesForPeople) {
  auto record = Started();
  record->Message("resumed from somewhere");
  record->Epoch(Epoch(1));
  std::ifstream in(run_ + "/log.txt");
  const std::string log{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(log, testing::HasSubstr("431,080 parameters"));
  EXPECT_THAT(log, testing::HasSubstr("resumed from somewhere"));
  EXPECT_THAT(log, testing::HasSubstr("test loss 0.2500  accuracy 0.8750"));
}

TEST_F(RecordTest, SaysThatItCannotWrite) {
  auto record = MakeRecord("/proc/nowhere");
  EXPECT_THROW(record->Start({}), Error);
}

TEST(RecordTextTest, EpochLine) {
  EpochEvent event;
  event.epoch = 3;
  event.epochs = 10;
  event.seconds = 187;
  event.examples_per_second = 12345.4;
  event.train_loss = 0.5;
  EXPECT_EQ(ToText(event), "epoch  3/10  train loss 0.5000  12,345 examples/s  3:07");
}

TEST(RecordTextTest, EvaluationLine) {
  const EvaluationEvent event = {.step = 1500,
                                 .epoch = 1.5,
                                 .epochs = 10,
                                 .seconds = 90,
                                 .training_seconds = 75,
                                 .test = {{"loss", 0.5}, {"p_at_1", 0.75}, {"p_at_1_error", 0.01}}};
  EXPECT_EQ(ToText(event),
            "step 1,500  epoch 1.500/10  test loss 0.5000  p_at_1 0.7500 +- 0.0100  1:15 of "
            "training");
}

}  // namespace yoke::record_test
