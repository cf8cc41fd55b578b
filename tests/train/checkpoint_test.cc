// Checkpoint: whole or absent, checked on reading, the last good one survives.
#include "train/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "train/support/checkpoint_fixture.h"

namespace yoke::checkpoint_test {

namespace fs = std::filesystem;
using test::Altered;
using test::CheckpointTest;
using test::SmallLayout;

TEST_F(CheckpointTest, RemovesOnlyCheckpoints) {
  fs::create_directories(run_ + "/elsewhere/1");
  ReplaceFile(run_ + "/elsewhere/1/photo.png", "somebody's");
  fs::create_directory_symlink("elsewhere", run_ + "/checkpoints");
  for (int step : {2, 3, 4}) Write(step, /*keep=*/1);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1", "4"}));
  EXPECT_TRUE(fs::exists(run_ + "/elsewhere/1/photo.png"));
}

TEST_F(CheckpointTest, AsksForRoomOnlyOnAFullDisk) {
  ReplaceFile(run_ + "/checkpoints", "");
  try {
    Write(1);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_NE(sentence.find("cannot write " + run_), sentence.npos) << sentence;
    EXPECT_EQ(sentence.find("make room"), sentence.npos) << sentence;
  }
}

TEST_F(CheckpointTest, DoesNotWriteThroughALink) {
  fs::create_directories(run_ + "/elsewhere");
  fs::create_directories(run_ + "/checkpoints");
  fs::create_directory_symlink("../elsewhere", run_ + "/checkpoints/unfinished");
  Write(1);
  EXPECT_TRUE(fs::is_empty(run_ + "/elsewhere"));
}

TEST_F(CheckpointTest, KeepsEverything) {
  header_.good = false;
  header_.position.best_evaluation = {.epoch = 1, .value = 0.9, .loss = 0.5};
  header_.position.collapse = {.metric = "accuracy", .value = 0.1, .epoch = 2};
  header_.position.consumed.Add(0, 4);
  header_.position.consumed.Add(7, 8);
  params_.values().Host()[0] = 42;
  state_.array(1).Host()[1] = 43;
  state_.row_steps(0).Host()[2] = 44;
  EXPECT_EQ(Write(5), run_ + "/checkpoints/5");
  const Checkpoint read = Checkpoint::Open(run_ + "/last");
  EXPECT_EQ(read.header().job, header_.job);
  EXPECT_EQ(read.header().data.label_names, header_.data.label_names);
  EXPECT_EQ(read.header().position.consumed, header_.position.consumed);
  EXPECT_EQ(read.header().position.step, 5);
  EXPECT_EQ(read.header().position.loss_sum, 0.1);
  EXPECT_EQ(read.header().position.best, 0.5);
  EXPECT_EQ(read.header().strategy, header_.strategy);
  EXPECT_EQ(read.header().test, header_.test);
  EXPECT_FALSE(read.header().good);
  EXPECT_EQ(read.header().position.collapse->Text(), header_.position.collapse->Text());
  EXPECT_EQ(read.header().position.best_evaluation.value, 0.9);
  ParamStore params(SmallLayout(), Cpu());
  RuleState state(params.layout(), *rule_, Cpu());
  read.Load(params);
  read.Load(params.layout(), state);
  EXPECT_TRUE(std::equal(params.values().Host().data(),
                         params.values().Host().data() + params.layout().size(),
                         params_.values().Host().data()));
  EXPECT_EQ(state.array(1).Host()[1], 43);
  EXPECT_EQ(state.row_steps(0).Host()[2], 44);
  EXPECT_EQ(state.steps, 9);
}

TEST_F(CheckpointTest, ModelFileDependsOnWeightsAlone) {
  Write(1);
  header_.position.seconds = 99;
  state_.array(0).Host()[0] = 1;
  Write(2);
  EXPECT_EQ(ReadWhole(run_ + "/checkpoints/1/model.safetensors"),
            ReadWhole(run_ + "/checkpoints/2/model.safetensors"));
}

TEST_F(CheckpointTest, KeepsTheNewestAndTheBest) {
  Write(1, 2, /*best=*/true);
  for (int step : {2, 3, 10}) Write(step);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1", "10", "3"}));
  EXPECT_EQ(fs::read_symlink(run_ + "/last"), "checkpoints/10");
  EXPECT_EQ(fs::read_symlink(run_ + "/best"), "checkpoints/1");
}

TEST_F(CheckpointTest, KeepsTheLastGoodOne) {
  Write(1, 1);
  header_.good = false;
  for (int step : {2, 3}) Write(step, 1);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1", "3"}));
  EXPECT_EQ(fs::read_symlink(run_ + "/good"), "checkpoints/1");
  header_.good = true;
  Write(4, 1);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"4"}));
  EXPECT_FALSE(fs::is_symlink(run_ + "/good"));
}

TEST_F(CheckpointTest, AfterADivergenceTheLastGoodOneIsTaken) {
  Write(1);
  header_.good = false;
  Write(2);
  EXPECT_EQ(FallBackToGood(run_)->position.step, 1);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1", "ruined-2"}));
  std::vector<std::string> messages;
  EXPECT_EQ(RecoverNewest(run_, messages)->header().position.step, 1);
  EXPECT_FALSE(fs::is_symlink(run_ + "/good"));
}

/// As earlier versions wrote them, which called them good.
TEST_F(CheckpointTest, RuinedOnesAreNotResumed) {
  for (const double loss : {-8.67e20, 3e15, double(NAN)}) {
    fs::remove_all(run_);
    header_.position.untrained_loss = 2.3;
    header_.test = {{"loss", 0.3}};
    Write(1);
    header_.test = {{"loss", loss}};
    Write(2);
    std::vector<std::string> messages;
    EXPECT_EQ(RecoverNewest(run_, messages)->header().position.step, 1) << loss;
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_NE(messages[0].find("checkpoints/2 is ruined: its test loss is"), std::string::npos)
        << messages[0];
  }
}

/// Hashed layers train on few of the labels, and are measured on all.
TEST_F(CheckpointTest, ALossOverManyLabelsIsNoRuin) {
  header_.data.multi_label = true;
  header_.data.outputs = 200000;
  header_.data.label_names.clear();
  header_.position.untrained_loss = 1300;
  header_.test = {{"loss", 1.386e5}};
  Write(1);
  std::vector<std::string> messages;
  EXPECT_TRUE(RecoverNewest(run_, messages));
}

/// A finite model beside a replica of NaN, sealed as an earlier version would have written it.
TEST_F(CheckpointTest, AReplicaThatIsNotFiniteIsNotResumed) {
  Write(1);
  header_.position.step = 2;
  float value = 1;
  std::vector<StoredTensor> own = {{"values", DType::kF32, Shape{1}, &value}};
  const std::string folder =
      WriteCheckpoint({.run = run_}, {.header = header_,
                                      .layout = params_.layout(),
                                      .values = params_.values().Host().data(),
                                      .state = state_,
                                      .replicas = 1,
                                      .own = [&](int) { return own; }});
  const std::string sum = Checkpoint::Open(folder).header().replicas[0];
  value = NAN;
  fs::remove(folder + "/replica-0.safetensors");
  const std::string bad = WriteSafetensors(folder + "/replica-0.safetensors", own);
  const std::string path = folder + "/checkpoint.json";
  ReplaceFile(path, Altered(ReadWhole(path), sum, bad));
  std::vector<std::string> messages;
  EXPECT_EQ(RecoverNewest(run_, messages)->header().position.step, 1);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("replica-0.safetensors: 'values' holds nan"), std::string::npos)
      << messages[0];
}

TEST_F(CheckpointTest, WithoutAGoodOneTheRunBeginsAnew) {
  header_.good = false;
  Write(2);
  EXPECT_FALSE(FallBackToGood(run_));
  std::vector<std::string> messages;
  EXPECT_FALSE(RecoverNewest(run_, messages));
}

TEST_F(CheckpointTest, StateThatIsNoNumberIsNotWritten) {
  Write(1);
  state_.array(1).Host()[1] = NAN;
  EXPECT_THROW(Write(2), NotFiniteError);
  state_.array(1).Host()[1] = 0;
  const float bad = INFINITY;
  header_.position.step = 2;
  const auto own = [&](int) {
    return std::vector<StoredTensor>{{"values", DType::kF32, Shape{1}, &bad}};
  };
  EXPECT_THROW(WriteCheckpoint({.run = run_}, {.header = header_,
                                               .layout = params_.layout(),
                                               .values = params_.values().Host().data(),
                                               .state = state_,
                                               .replicas = 1,
                                               .own = own}),
               NotFiniteError);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1"}));
}

TEST_F(CheckpointTest, SameStepIsReplaced) {
  Write(1);
  params_.values().Host()[0] = 7;
  Write(1);
  ParamStore params(SmallLayout(), Cpu());
  Checkpoint::Open(run_ + "/last").Load(params);
  EXPECT_EQ(params.values().Host()[0], 7);
  EXPECT_EQ(Folders(), std::vector<std::string>{"1"});
}

TEST_F(CheckpointTest, AnotherModelIsRefused) {
  Write(1);
  ParamLayout layout = SmallLayout();
  layout.Add({.name = "more.weight", .shape = {2}, .initializer = "zeros"});
  layout.Pack();
  ParamStore other(layout, Cpu());
  EXPECT_THROW(Checkpoint::Open(run_ + "/last").Load(other), UserError);
}

TEST_F(CheckpointTest, WeightsThatAreNoNumbersAreRefused) {
  params_.values().Host()[params_.layout().slices()[1].offset] = std::nanf("");
  Write(1);
  try {
    Checkpoint::Open(run_ + "/last").Load(params_);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              run_ + "/last/model.safetensors: 'fc.weight' holds nan: expected finite numbers");
  }
}

TEST_F(CheckpointTest, DamageIsRefusedAndTheOneBeforeIsTaken) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "checkpoint.json"}) {
    for (const char* damage : {"cut", "altered", "empty", "absent", "of another step"}) {
      fs::remove_all(run_ + "/checkpoints");
      params_.values().Host()[0] = 1;
      state_.array(0).Host()[0] = 1;
      Write(1);
      params_.values().Host()[0] = 2;
      state_.array(0).Host()[0] = 2;
      const std::string path = Write(2) + "/" + file;
      const std::string good = ReadWhole(path);
      std::string bad = good;
      const std::string kind = damage;
      if (kind == "cut") bad.resize(good.size() / 2);
      if (kind == "altered") bad[good.size() - 20] ^= 1;
      if (kind == "empty") bad.clear();
      if (kind == "of another step")
        bad = ReadWhole(fmt::format("{}/checkpoints/1/{}", run_, file));
      ReplaceFile(path, bad);
      if (kind == "absent") fs::remove(path);
      const bool whole = kind == "of another step" && std::string(file) == "checkpoint.json";
      std::vector<std::string> messages;
      const std::optional<Checkpoint> found = RecoverNewest(run_, messages);
      ASSERT_TRUE(found) << file << " " << damage;
      EXPECT_EQ(found->header().position.step, 1) << file << " " << damage;
      ASSERT_EQ(messages.size(), 1U) << file << " " << damage;
      EXPECT_TRUE(whole || messages[0].find(file) != std::string::npos) << messages[0];
      EXPECT_EQ(fs::read_symlink(run_ + "/last"), "checkpoints/1");
    }
  }
}

// Not damage: the next session may read it, so nothing is renamed.
TEST_F(CheckpointTest, WhatCannotBeReadIsNotTakenForDamage) {
  Write(1);
  const std::string folder = Write(2, 2, /*best=*/true);
  const std::string good = ReadWhole(folder + "/checkpoint.json");
  std::string other = good;
  other.replace(other.find("\"format\": 1"), 11, "\"format\": 9");
  Seal(other, other.find(": \"") + 3);
  ReplaceFile(folder + "/checkpoint.json", other);
  std::vector<std::string> messages;
  EXPECT_THROW(RecoverNewest(run_, messages), UserError);
  ReplaceFile(folder + "/checkpoint.json", good);
  fs::remove(folder + "/model.safetensors");
  fs::create_symlink("model.safetensors", folder + "/model.safetensors");  // ELOOP
  EXPECT_THROW(RecoverNewest(run_, messages), UserError);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1", "2"}));
  EXPECT_TRUE(messages.empty());
}

TEST_F(CheckpointTest, AllDamagedIsRefusedAndNothingIsLost) {
  for (int step : {1, 2}) ReplaceFile(Write(step) + "/model.safetensors", "cut");
  std::vector<std::string> messages;
  for (int i = 0; i < 2; ++i) EXPECT_THROW(RecoverNewest(run_, messages), UserError);
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1", "2"}));
}

TEST_F(CheckpointTest, ALinkToADamagedBestGoes) {
  Write(1);
  ReplaceFile(Write(2, 2, /*best=*/true) + "/model.safetensors", "cut");
  std::vector<std::string> messages;
  ASSERT_TRUE(RecoverNewest(run_, messages));
  EXPECT_FALSE(fs::is_symlink(run_ + "/best"));
  EXPECT_EQ(Folders(), (std::vector<std::string>{"1", "damaged-2"}));
}

TEST_F(CheckpointTest, WhatAKilledWriterLeftIsRemoved) {
  Write(1);
  fs::create_directories(run_ + "/checkpoints/unfinished");
  ReplaceFile(run_ + "/checkpoints/unfinished/model.safetensors", "half");
  fs::remove(run_ + "/last");
  std::vector<std::string> messages;
  ASSERT_TRUE(RecoverNewest(run_, messages));
  EXPECT_EQ(Folders(), std::vector<std::string>{"1"});
  EXPECT_TRUE(fs::exists(run_ + "/last/model.safetensors"));
  EXPECT_TRUE(messages.empty());
}

TEST_F(CheckpointTest, NoCheckpointIsNothing) {
  std::vector<std::string> messages;
  EXPECT_FALSE(RecoverNewest(run_, messages));
  EXPECT_THROW(Checkpoint::Open(run_ + "/last"), UserError);
}

/// While it lives no file may grow beyond some bytes: as on a full disk, write says no.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

TEST_F(CheckpointTest, FullDiskKeepsTheLastGoodOne) {
  Write(1, 1);
  std::string sentence;
  {
    const SmallFiles full(100);
    try {
      Write(2, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 1);
      sentence = error.what();
    }
  }
  EXPECT_NE(sentence.find("model.safetensors"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(run_ + "/last is good"), std::string::npos) << sentence;
  EXPECT_EQ(Folders(), std::vector<std::string>{"1"});
  EXPECT_EQ(Checkpoint::Open(run_ + "/last").header().position.step, 1);
}

}  // namespace yoke::checkpoint_test
