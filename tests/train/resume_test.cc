// Resuming: a run goes on as if never interrupted.
#include "train/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "base/check.h"
#include "kernels/threads.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files.h"
#include "train/record/run_directory.h"
#include "train/support/trainer_fixture.h"

namespace yoke::resume_test {

namespace fs = std::filesystem;
class ResumeTest : public test::TrainerTest {};

// A run that is stopped in the middle of an epoch, several times, ends with the same bytes.
TEST_F(ResumeTest, ResumesBitForBit) {
  Begin("a");
  signal_ = SIGTERM;  // Each session makes one step.
  EXPECT_EQ(Begin("b").reason, "interrupted");
  int sessions = 1;
  for (EndEvent end{.reason = "interrupted"}; end.reason == "interrupted"; ++sessions) {
    notes_ = {};
    signal_ = sessions < 12 ? SIGTERM : 0;
    SignalAtFirstStep();
    end =
        Train(LoadJob(Path("b") + "/job.toml", {}),
              {.run = Path("b"), .resume = true, .stop_signal = &signal_, .observers = {&notes_}});
  }
  EXPECT_EQ(sessions, 13);
  EXPECT_EQ(Weights("a"), Weights("b"));
  EXPECT_EQ(RuleStateOf("a"), RuleStateOf("b"));
}

TEST_F(ResumeTest, LossOfAnInterruptedEpochIsWhole) {
  Begin("a");
  const double loss = notes_.epochs[0].train_loss;
  signal_ = SIGINT;
  Begin("b");
  Resume("b");
  EXPECT_EQ(notes_.epochs[0].train_loss, loss);
}

TEST_F(ResumeTest, AResumedRunKnowsWhereItBegan) {
  Begin("a", {{"train.epochs", "1"}});
  const EndEvent end = Resume(
      "a", {{"train.epochs", "2"}, {"train.learning_rate", "1e6"}, {"train.clip_norm", "1"}});
  EXPECT_EQ(end.reason, "diverged");
  EXPECT_NE(end.sentence.find("(epoch 2)"), std::string::npos) << end.sentence;
}

TEST_F(ResumeTest, FinishedRunStaysAsItIs) {
  Begin("a");
  const std::string weights = Weights("a");
  const EndEvent end = Resume("a");
  EXPECT_EQ(end.reason, "finished");
  EXPECT_EQ(end.exit_status, 0);
  EXPECT_FALSE(end.test.empty());
  EXPECT_TRUE(notes_.epochs.empty());
  EXPECT_EQ(Weights("a"), weights);
}

TEST_F(ResumeTest, MoreEpochsGoOn) {
  Begin("a", {{"train.epochs", "1"}});
  EXPECT_EQ(Resume("a", {{"train.epochs", "3"}}).epochs, 3);
  Begin("b");
  EXPECT_EQ(Weights("a"), Weights("b"));
}

TEST_F(ResumeTest, ResumeWithoutCheckpointBeginsAnew) {
  Begin("a");
  const Job job = MakeNew();
  RunDirectory::Create(Path("b"), job);
  Resume("b");
  EXPECT_EQ(Weights("a"), Weights("b"));
}

TEST_F(ResumeTest, ALostJobIsTakenFromTheCheckpoint) {
  Begin("a", {{"train.epochs", "2"}, {"checkpoint.keep", "2"}});
  const std::string job = ReadWhole(Path("a") + "/job.toml");
  fs::remove(Path("a") + "/job.toml");
  ReplaceFile(Path("a") + "/last/checkpoint.json", "{");  // That of the first epoch is whole.
  EXPECT_EQ(Resume("a").epochs, 2);
  EXPECT_EQ(notes_.messages.at(0), "job.toml is missing: the job is that of the newest checkpoint");
  EXPECT_EQ(ReadWhole(Path("a") + "/job.toml"), job);
  fs::remove(Path("a") + "/job.toml");
  fs::remove_all(Path("a") + "/checkpoints");
  EXPECT_THROW(Resume("a"), UserError);
}

TEST_F(ResumeTest, DamagedCheckpointFallsBack) {
  Begin("a");
  const std::string weights = Weights("a");
  ReplaceFile(Path("a") + "/last/model.safetensors", weights.substr(0, 1000));
  Resume("a");
  EXPECT_NE(notes_.messages.at(0).find("model.safetensors is damaged"), std::string::npos);
  EXPECT_EQ(Weights("a"), weights);
}

TEST_F(ResumeTest, ARefusedResumeLeavesTheJob) {
  Begin("a");
  const std::string job = ReadWhole(Path("a") + "/job.toml");
  EXPECT_THROW(Resume("a", {{"data.train_size", "300"}}), UserError);
  EXPECT_THROW(Resume("a", {{"checkpoint.best", "auc"}}), UserError);
  EXPECT_EQ(ReadWhole(Path("a") + "/job.toml"), job);
  EXPECT_EQ(Resume("a", {{"train.epochs", "4"}}).epochs, 4);
  EXPECT_NE(ReadWhole(Path("a") + "/job.toml"), job);
}

TEST_F(ResumeTest, OtherRowsAndLabelsOfTheSameSizeAreNoticed) {
  fs::create_directories(folder_);
  const auto write = [&](const std::vector<std::string>& rows) {
    std::string text;
    for (const std::string& row : rows) text += row + "\n";
    ReplaceFile(folder_ + "/train.csv", text);
  };
  std::vector<std::string> rows;
  rows.reserve(40);
  for (int i = 0; i < 40; ++i) rows.push_back(fmt::format("{},{},{}", i % 7, i, i % 2));
  write(rows);
  const Job job = MakeResolvedJob(
      ParseToml(fmt::format("[data]\nformat = \"csv\"\ntrain = [\"{}/train.csv\"]\n[model]\nname = "
                            "\"linear\"\n[train]\nepochs = 1\nlearning_rate = 0.01\n",
                            folder_),
                "job"),
      {});
  Train(job, {.run = Path("a")});
  const auto refusal = [&]() -> std::string {
    try {
      Resume("a", {{"train.epochs", "2"}});
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  std::vector<std::string> changed = rows;
  std::swap(changed[0], changed[20]);
  write(changed);
  EXPECT_NE(refusal().find("inputs of the 40 examples differ"), std::string::npos) << refusal();
  changed = rows;
  changed[0].back() = '1', changed[1].back() = '0';
  write(changed);
  EXPECT_NE(refusal().find("labels of the 40 examples differ"), std::string::npos) << refusal();
  EXPECT_NE(refusal().find("train a new run"), std::string::npos) << refusal();
  write(rows);
  EXPECT_EQ(refusal(), "");
}

TEST_F(ResumeTest, AVelocityOfTheOtherKindIsRefused) {
  Begin("a", {{"train.epochs", "1"}, {"train.rule", "momentum"}});
  const Overrides more = {{"train.epochs", "2"}, {"train.velocity", "steps"}};
  EXPECT_THROW(Resume("a", more), UserError);
  Begin("b", {{"train.epochs", "1"}, {"train.rule", "momentum"}, {"train.velocity", "steps"}});
  EXPECT_THROW(Resume("b", {{"train.epochs", "2"}, {"train.velocity", "gradients"}}), UserError);
  EXPECT_EQ(Resume("b", more).epochs, 2);
}

/// Older versions summed gradients under every strategy, and wrote no kind.
TEST_F(ResumeTest, AVelocityOfAnOlderVersionGoesOn) {
  const auto has = [&](const std::string& run, const char* state) {
    return RuleStateOf(run).find(state) != std::string::npos;
  };
  const Overrides forced = {{"train.rule", "sgd"}, {"cluster.strategy", "easgd_async_momentum"}};
  const Overrides paper = {
      {"train.rule", "momentum"}, {"cluster.strategy", "async_msgd"}, {"cluster.form", "paper"}};
  for (Overrides old : {forced, paper}) {
    const std::string run = old[1].value;
    old.push_back({"train.epochs", "1"});
    old.push_back({"train.learning_rate", "0.001"});
    old.push_back({"cluster.replicas", "2"});
    Begin(run + "-new", old);
    EXPECT_TRUE(has(run + "-new", ".velocity")) << run;
    EXPECT_EQ(Resume(run + "-new", {{"train.epochs", "2"}}).reason, "finished");
    EXPECT_TRUE(has(run + "-new", ".velocity")) << run;
    old.push_back({"train.velocity", "gradients"});
    Begin(run, old);
    const Overrides more = {{"train.velocity", ""}, {"train.epochs", "2"}};
    EXPECT_EQ(LoadRunJob(Path(run), more).train.String("velocity"), "gradients");
    EXPECT_THROW(Resume(run, {{"train.velocity", "steps"}, {"train.epochs", "2"}}), UserError);
    EXPECT_EQ(Resume(run, more).reason, "finished") << run;
    EXPECT_TRUE(has(run, ".momentum")) << run;
    EXPECT_EQ(Resume(run, {{"train.epochs", "3"}}).reason, "finished") << run;
  }
  const Job other = LoadRunJob(Path("easgd_async_momentum"), {{"cluster.strategy", "allreduce"}});
  EXPECT_EQ(other.resolved.Find("train")->Find("velocity"), nullptr);
}

TEST_F(ResumeTest, AVelocityOfStepsGoesOnUnderAnotherForm) {
  Begin("a", {{"train.epochs", "1"},
              {"train.rule", "momentum"},
              {"cluster.replicas", "2"},
              {"cluster.strategy", "async_msgd"},
              {"cluster.form", "paper"}});
  const Overrides yoke = {{"cluster.form", "yoke"}};
  EXPECT_EQ(LoadRunJob(Path("a"), yoke).train.String("velocity"), "steps");
  const Job nesterov = LoadRunJob(Path("a"), {yoke[0], {"train.rule", "nesterov"}});
  EXPECT_FALSE(nesterov.train.Has("velocity"));
}

TEST_F(ResumeTest, AnotherRuleStartsItsStateAnew) {
  Begin("a", {{"train.epochs", "1"}});
  EXPECT_EQ(Resume("a", {{"train.epochs", "2"}, {"train.rule", "sgd"}}).reason, "finished");
}

}  // namespace yoke::resume_test
