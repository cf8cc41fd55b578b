// Auto: jobs that leave keys open, and runs that continue what a planner has trained.
#include <fmt/core.h>
#include <gmock/gmock.h>

#include <fstream>

#include "base/check.h"
#include "base/files.h"
#include "train/planner.h"
#include "train/record/run_directory.h"
#include "train/support/trainer_fixture.h"

namespace yoke::auto_test {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const Overrides kAuto = {{"node.executor", "auto"}, {"train.learning_rate", "auto"}};

/// Takes hogwild, and the progress of a run.
class Stub : public Planner {
 public:
  Decision Decide(const Job& job, const RunRequest& /*request*/) override {
    open = job.open;
    return {.job = WithKeys(job, {{"node.executor", "hogwild"}}),
            .progress = progress,
            .plan = "chosen = \"hogwild\"\n",
            .messages = {"hogwild is a guess"}};
  }

  /// Goes on from divergence with a rate that is good, and from a pause with another executor.
  bool GoesOn(const EndEvent& end, Decision& decision) override {
    ends.push_back(end.reason);
    if (end.reason == "replan") {
      const bool single = decision.job.node.String("executor") == "single";
      decision.job = WithKeys(decision.job, {{"node.executor", single ? "hogwild" : "single"}});
      return true;
    }
    if (end.reason != "diverged") return false;
    decision.job = WithKeys(decision.job, {{"train.learning_rate", "0.01"}});
    decision.messages = {"a lower rate"};
    return true;
  }

  std::string progress;
  std::vector<std::string> open;
  std::vector<std::string> ends;  // of its runs
};

class AutoTest : public test::TrainerTest {
 protected:
  EndEvent TrainAuto(const Overrides& overrides, bool resume = false) {
    notes_ = {};
    return Train(
        MakeNew(overrides),
        {.run = Path("run"), .resume = resume, .observers = {&notes_}, .planner = &planner_});
  }
  /// A run that has trained for some steps.
  void TrainBefore(int64_t steps = 9) {
    planner_.progress = Path("before");
    const EndEvent before =
        Train(MakeNew({{"node.executor", "hogwild"}}), {.run = planner_.progress, .steps = steps});
    ASSERT_EQ(before.step, steps);
  }

  Stub planner_;
};

TEST_F(AutoTest, OpenKeysHaveTheirDefaults) {
  const Job job = MakeNew({{"node.executor", "auto"},
                           {"node.precision", "auto"},
                           {"cluster.strategy", "auto"},
                           {"cluster.replicas", "2"},
                           {"train.learning_rate", "auto"},
                           {"train.rule", "momentum"},
                           {"train.momentum", "auto"}});
  EXPECT_EQ(job.open, OpenKeys());
  EXPECT_EQ(job.node.String("executor"), "single");
  EXPECT_EQ(job.node.String("precision"), "f32");
  EXPECT_EQ(job.cluster.String("strategy"), "allreduce");
  EXPECT_EQ(job.train.Float("learning_rate"), 0.01);
  for (const std::string& key : OpenKeys()) {
    const size_t dot = key.find('.');
    EXPECT_NE(*job.resolved.Find(key.substr(0, dot))->Find(key.substr(dot + 1)), Value("auto"));
  }
  EXPECT_TRUE(MakeNew().open.empty());
  EXPECT_EQ(MakeNew(kAuto).open,
            (std::vector<std::string>{"node.executor", "train.learning_rate"}));
  EXPECT_THROW(MakeNew({{"train.rule", "auto"}}), UserError);
  EXPECT_THROW(MakeNew({{"train.rule", "adam"}, {"train.momentum", "auto"}}), UserError);
  EXPECT_THROW(MakeNew({{"train.batch", "auto"}}), UserError);
}

TEST_F(AutoTest, WithoutAPlannerItIsRefused) {
  try {
    Train(MakeNew(kAuto), {.run = Path("run")});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("node.executor = \"auto\": `yoke train`"));
  }
  EXPECT_FALSE(test::fs::exists(Path("run")));
}

TEST_F(AutoTest, ItContinuesWhatThePlannerHasTrained) {
  TrainBefore();
  const EndEvent end = TrainAuto(kAuto);
  EXPECT_EQ(planner_.open, (std::vector<std::string>{"node.executor", "train.learning_rate"}));
  EXPECT_EQ(end.reason, "finished");
  EXPECT_EQ(end.step, 21);  // 3 epochs of 7
  EXPECT_NEAR(notes_.start.epochs_done, 9.0 / 7, 0.05);
  EXPECT_GT(notes_.start.seconds, 0);
  EXPECT_EQ(notes_.start.executor, "hogwild");
  EXPECT_THAT(notes_.messages, Contains("hogwild is a guess"));
  EXPECT_TRUE(notes_.start.after_trials);
  EXPECT_THAT(notes_.messages, Not(Contains(HasSubstr("resumed"))));  // nobody resumed it
  EXPECT_FALSE(end.test.empty());
  EXPECT_EQ(ReadWhole(Path("run") + "/plan.toml"), "chosen = \"hogwild\"\n");
  const std::string job = ReadWhole(Path("run") + "/job.toml");
  EXPECT_THAT(job, HasSubstr("executor = \"hogwild\""));
  EXPECT_THAT(job, HasSubstr("epochs = 3"));
  EXPECT_TRUE(test::fs::exists(planner_.progress + "/last"));  // the planner removes it
}

TEST_F(AutoTest, TheRecordHasTheEpochsOfTrials) {
  TrainBefore(16);  // of 7 an epoch
  TrainAuto(kAuto);
  std::vector<std::string> epochs;
  std::ifstream lines(Path("run") + "/metrics.jsonl");
  for (std::string line; std::getline(lines, line);)
    if (line.find(R"("event":"epoch")") != line.npos) epochs.push_back(line);
  ASSERT_EQ(epochs.size(), 3U);
  for (size_t i = 0; i < epochs.size(); ++i)
    EXPECT_THAT(epochs[i], HasSubstr(fmt::format(R"("epoch":{},)", i + 1)));
}

TEST_F(AutoTest, ItBeginsWhereThereIsNoProgress) {
  const EndEvent end = TrainAuto(kAuto);
  EXPECT_EQ(end.step, 21);
  EXPECT_EQ(notes_.start.epochs_done, 0);
  EXPECT_EQ(notes_.start.seconds, 0);
}

TEST_F(AutoTest, ItsRunResumes) {
  TrainBefore();
  {
    RunRequest request = {.run = Path("run"), .steps = 3};
    request.planner = &planner_;
    EXPECT_EQ(Train(MakeNew(kAuto), request).step, 12);
  }
  EXPECT_EQ(Resume("run").step, 21);
  EXPECT_EQ(notes_.start.executor, "hogwild");
}

TEST_F(AutoTest, ItGoesOnAfterADivergence) {
  for (const bool trained : {false, true}) {
    planner_.ends.clear();
    if (trained) TrainBefore();
    const Job job = WithKeys(MakeNew(kAuto), {{"train.learning_rate", "1e38"}});
    Job open = job;
    open.open = {"train.learning_rate"};
    notes_ = {};
    const std::string run = trained ? "from-progress" : "from-the-start";
    const EndEvent end =
        Train(open, {.run = Path(run), .observers = {&notes_}, .planner = &planner_});
    EXPECT_EQ(planner_.ends, (std::vector<std::string>{"diverged"}));
    EXPECT_EQ(end.reason, "finished");
    EXPECT_EQ(end.exit_status, 0);
    EXPECT_EQ(end.step, 21);
    EXPECT_THAT(notes_.messages, Contains("a lower rate"));
    EXPECT_THAT(ReadWhole(Path(run) + "/job.toml"), HasSubstr("learning_rate = 0.01"));
  }
}

TEST_F(AutoTest, ItChoosesAgain) {
  const Job job =
      MakeNew({{"node.executor", "auto"}, {"train.replan_epochs", "2"}, {"train.epochs", "5"}});
  notes_ = {};
  const EndEvent end =
      Train(job, {.run = Path("run"), .observers = {&notes_}, .planner = &planner_});
  EXPECT_EQ(planner_.ends, (std::vector<std::string>{"replan", "replan"}));
  EXPECT_EQ(end.step, 35);
  EXPECT_EQ(notes_.start.epochs_done, 4);
  EXPECT_EQ(notes_.start.executor, "hogwild");  // single in the two epochs before
  EXPECT_THAT(ReadWhole(Path("run") + "/job.toml"), HasSubstr("executor = \"hogwild\""));
  EXPECT_THAT(ReadWhole(Path("run") + "/metrics.jsonl"), HasSubstr("\"executor\":\"single\""));
}

TEST_F(AutoTest, PartsOfARunShareItsTimeLimit) {
  const Job job = MakeNew({{"node.executor", "auto"},
                           {"train.replan_epochs", "1"},
                           {"train.epochs", "1000000"},
                           {"train.time_limit", "1.5s"}});
  EXPECT_EQ(Train(job, {.run = Path("run"), .planner = &planner_}).reason, "time_limit");
  EXPECT_GT(planner_.ends.size(), 2U);
}

TEST_F(AutoTest, AResumedRunHasChosen) {
  TrainAuto({});
  try {
    TrainAuto(kAuto, true);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("node.executor = \"auto\": a run that is resumed"));
  }
}

}  // namespace yoke::auto_test
