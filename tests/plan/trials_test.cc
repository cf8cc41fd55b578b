// Trials: short trainings that continue each other, and halving.
#include "plan/trials.h"

#include <gmock/gmock.h>

#include <atomic>
#include <filesystem>

#include "base/files.h"
#include "plan/search.h"
#include "plan/statistics.h"
#include "plan/support/small_job.h"
#include "train/checkpoint/checkpoint.h"

namespace yoke::trials_test {

using test::SmallJob;

/// A job that no trial finishes.
Job LongJob(const std::string& rate = "0.02", const char* epochs = "100000") {
  return SmallJob({{"train.learning_rate", rate}, {"train.epochs", epochs}});
}

class TrialsTest : public testing::Test {
 protected:
  Trial Run(const Job& job, const std::string& name, const std::string& from = "") {
    return RunTrial(job, {.data = data_,
                          .run = run_,
                          .from = from.empty() ? "" : Path(from),
                          .folder = Path(name),
                          .seconds = 0.4});
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  int64_t StepOf(const std::string& run) const {
    return Checkpoint::Open(Path(run) + "/last").header().position.step;
  }
  void HalveThem(std::vector<Entrant>& entrants, double seconds = 2) {
    Halve({.data = data_,
           .run = run_,
           .folder = folder_.path(),
           .seconds = seconds,
           .tell =
               [this](const std::string& text) {
                 told_.push_back(text);
                 if (told_.size() == signal_after_) signal_ = 15;
               }},
          entrants);
  }

  TemporaryFolder folder_{"yoke-trials-test"};
  DataSets data_ = OpenData(SmallJob().data(), 1);
  RunRequest run_;
  std::vector<std::string> told_;
  size_t signal_after_ = 0;  // trials; 0: none comes
  std::atomic<int> signal_ = 0;
};

TEST_F(TrialsTest, ATrialContinuesAnother) {
  const Trial first = Run(LongJob(), "first"), second = Run(LongJob(), "second", "first");
  for (const Trial& trial : {first, second}) {
    EXPECT_EQ(trial.failure, "");
    EXPECT_FALSE(trial.ended);
    ASSERT_FALSE(trial.curve.empty());
    EXPECT_GT(trial.seconds_per_example, 0);
    EXPECT_NEAR(trial.curve.back().seconds, 0.3, 0.3);  // the first steps do not count
    for (const LossPoint& point : trial.curve) {
      EXPECT_GE(point.loss, 0);
      EXPECT_LT(point.loss, 3);
    }
  }
  EXPECT_GT(StepOf("second"), StepOf("first"));
  EXPECT_LT(second.curve.front().loss, 2.3);
  EXPECT_EQ(TimeTo(second, 100), second.curve.front().seconds);
  EXPECT_EQ(TimeTo(second, -1), std::numeric_limits<double>::infinity());
  EXPECT_GT(MeasureNoiseScale(LongJob(), *data_.train, Path("second/last")), 0);
}

/// Epochs shorter than the events of steps.
TEST_F(TrialsTest, ATrialMayFinishTheJob) {
  const Trial trial = Run(LongJob("0.02", "3"), "whole");
  EXPECT_EQ(trial.failure, "");
  EXPECT_TRUE(trial.ended);
  EXPECT_EQ(trial.curve.back().examples, 3 * 640 - 16);  // all but the first step
  EXPECT_GE(trial.curve.size(), 3U);
  EXPECT_GT(trial.loss, 0);
  EXPECT_LT(trial.loss, 2.5);
  EXPECT_EQ(StepOf("whole"), 120);
}

TEST_F(TrialsTest, ADivergingRateFails) { EXPECT_NE(Run(LongJob("1e20"), "diverged").failure, ""); }

/// That later losses are no less than it does not make them an explosion.
TEST_F(TrialsTest, ATrialMayBeginWithALossOfZero) {
  const Job job = SmallJob({{"data.train_size", "32"},
                            {"data.deviation", "[0.02]"},
                            {"model.name", "linear"},
                            {"model.widths", ""},
                            {"train.learning_rate", "0.02"},
                            {"train.epochs", "100000"}});
  const DataSets data = OpenData(job.data(), 1);
  const auto run = [&](const std::string& name, const std::string& from, int64_t steps) {
    return RunTrial(
        job, {.data = data, .run = run_, .from = from, .folder = Path(name), .steps = steps});
  };
  ASSERT_EQ(run("learned", "", 2000).failure, "");
  const Trial trial = run("goes-on", Path("learned"), 40);
  ASSERT_FALSE(trial.curve.empty());
  ASSERT_LT(trial.curve.front().loss, 1e-9);
  EXPECT_EQ(trial.failure, "");
}

TEST_F(TrialsTest, ATrialThatCannotStartFails) {
  const Job job = SmallJob({{"model.name", "xmc"}, {"model.widths", ""}});
  EXPECT_NE(Run(job, "refused").failure, "");
}

TEST_F(TrialsTest, HalvingLeavesOneBesidesThoseThatStay) {
  std::vector<Entrant> entrants;
  for (const char* rate : {"1e20", "0.05", "0.02", "1e-6"})
    entrants.push_back({.job = LongJob(rate), .name = rate, .stays = entrants.size() == 3});
  HalveThem(entrants);
  EXPECT_NE(entrants[0].dropped, "");
  EXPECT_NE(entrants[1].dropped.empty(), entrants[2].dropped.empty());
  EXPECT_EQ(entrants[3].dropped, "");
  const Entrant& best = entrants[entrants[1].dropped.empty() ? 1 : 2];
  EXPECT_LT(best.last.loss, entrants[3].last.loss);
  EXPECT_GE(best.trained, entrants[0].trained);
  EXPECT_TRUE(std::filesystem::exists(best.run + "/last"));
  EXPECT_FALSE(told_.empty());
}

TEST_F(TrialsTest, TrialsBySteps) {
  const auto run = [this](const std::string& name, const std::string& from) {
    return RunTrial(LongJob(), {.data = data_,
                                .run = run_,
                                .from = from.empty() ? "" : Path(from),
                                .folder = Path(name),
                                .steps = 20});
  };
  const Trial first = run("first", ""), same = run("same", ""), next = run("next", "first");
  EXPECT_EQ(StepOf("first"), 20);
  EXPECT_EQ(StepOf("next"), 40);
  ASSERT_EQ(first.curve.size(), 19U);  // the first step does not count
  EXPECT_EQ(first.warm_up.examples, 16);
  EXPECT_EQ(first.loss, same.loss);  // to the bit: no clock decides
  EXPECT_LT(next.loss, first.loss);
  const Value job = Checkpoint::Open(Path("next") + "/last").header().job;
  EXPECT_EQ(*job.Find("train")->Find("schedule")->Find("name"), Value("multi_step"));  // it falls
}

TEST_F(TrialsTest, HalvingStopsWhenATrialFinishesTheJob) {
  std::vector<Entrant> entrants;
  for (const char* rate : {"0.02", "0.01", "0.005", "0.002"})
    entrants.push_back({.job = LongJob(rate, "2"), .name = rate});
  HalveThem(entrants, 100);
  EXPECT_EQ(std::ranges::count(entrants, "", &Entrant::dropped), 1);
  for (const Entrant& one : entrants) EXPECT_EQ(one.trained, entrants[0].trained);  // one round
}

TEST_F(TrialsTest, ASignalEndsHalving) {
  run_.stop_signal = &signal_;
  signal_after_ = 4;
  std::vector<Entrant> entrants(4, {.job = LongJob(), .name = "one"});
  HalveThem(entrants, 2.5);  // enough for a second round
  EXPECT_EQ(std::ranges::count(entrants, "", &Entrant::dropped), 1);
  for (const Entrant& one : entrants) EXPECT_EQ(one.trained, entrants[0].trained);  // one round
}

TEST_F(TrialsTest, ASignalEndsATrial) {
  run_.stop_signal = &signal_;
  signal_ = 15;
  std::vector<Entrant> entrants(3, {.job = LongJob(), .name = "one"});
  HalveThem(entrants, 1000);
  for (const Entrant& one : entrants) EXPECT_EQ(one.dropped, "it ended before its first step");
}

TEST_F(TrialsTest, ASearchWithTrialsMeasures) {
  const Job job = LongJob();
  const auto machines = test::FreeNetwork(1);
  const SearchRequest request = {.job = job,
                                 .data = data_,
                                 .run = run_,
                                 .machines = machines,
                                 .choices = {.open = {"node.executor"}},
                                 .trial_seconds = 1.5,
                                 .folder = folder_.path()};
  const Plan plan = Search(request);
  EXPECT_EQ(plan.chosen, 0);
  EXPECT_TRUE(plan.best().measured && plan.best().loss);
  EXPECT_GT(plan.best().trained, 0);
  EXPECT_TRUE(std::filesystem::exists(plan.progress + "/last"));
  SearchRequest alone = request;  // nothing to compare: no trials
  alone.choices.only = {"single"};
  alone.trial_seconds = 1000;
  EXPECT_EQ(Search(alone).best().name, "single, f32");
  SearchRequest pause = request;  // but for the momentum
  pause.choices.only = {"single"};
  pause.tunes_momentum = true;
  pause.from = plan.progress;
  pause.in_pause = true;
  pause.folder = folder_.path() + "/pause";
  const Plan goes_on = Search(pause);
  EXPECT_THAT(goes_on.notes, testing::Contains("nothing else is left to try"));
  EXPECT_THAT(goes_on.notes, testing::Contains(testing::HasSubstr("and momentum")));
  EXPECT_TRUE(std::filesystem::exists(goes_on.progress + "/last"));
}

}  // namespace yoke::trials_test
