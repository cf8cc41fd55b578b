// Efficiency: the fit of what staleness and rare exchanges cost, and its file.
#include "plan/efficiency.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/files.h"
#include "plan/support/small_job.h"

namespace yoke::efficiency_test {

/// Trials of an efficiency, without noise.
std::vector<MeasuredUse> TrialsOf(const Efficiency& truth, int each) {
  const std::vector<ExampleUse> uses = {{.staleness = 7},
                                        {.staleness = 1},
                                        {.interval = 8},
                                        {.interval = 4, .mixing = 0.5},
                                        {.staleness = 3, .interval = 4}};
  std::vector<MeasuredUse> trials;
  for (const ExampleUse& use : uses)
    for (int i = 0; i < each; ++i) trials.push_back({use, truth.Examples(use)});
  return trials;
}

TEST(Efficiency, ManyTrialsAreBelieved) {
  const Efficiency truth = {.staleness = 0.15, .interval = 0.002};
  const Efficiency found = Fitted({}, TrialsOf(truth, 100));
  EXPECT_NEAR(found.staleness, truth.staleness, 0.005);
  EXPECT_NEAR(found.interval, truth.interval, 0.002);
  EXPECT_EQ(found.stale_trials, 300);
  EXPECT_EQ(found.interval_trials, 300);
}

TEST(Efficiency, OneTrialMovesItAPartOfTheWay) {
  const Efficiency assumed;
  const ExampleUse late = {.staleness = 3};
  const Efficiency found = Fitted(assumed, {{late, 1.3}});
  EXPECT_NEAR(found.staleness, (2 * assumed.staleness + 0.1) / 3, 1e-9);
  EXPECT_EQ(found.interval, assumed.interval);
  EXPECT_EQ(found.stale_trials, 1);
  EXPECT_EQ(found.interval_trials, 0);
  EXPECT_LT(Fitted(found, {{late, 1}}).staleness, found.staleness);
}

TEST(Efficiency, WhatTrialsAgreeOnStays) {
  const Efficiency found = Fitted({}, TrialsOf({}, 2));
  EXPECT_NEAR(found.staleness, Efficiency().staleness, 1e-9);
  EXPECT_NEAR(found.interval, Efficiency().interval, 1e-9);
  EXPECT_EQ(Fitted({}, {}), Efficiency());
}

TEST(Efficiency, CostsAreNotNegative) {
  EXPECT_EQ(Fitted({}, {{{.staleness = 7}, 0.25}, {{.staleness = 7}, 0.25}}).staleness, 0);
}

TEST(Efficiency, TheNextOfItsKindReadsIt) {
  const TemporaryFolder folder("yoke-efficiency-test");
  const std::string path = folder.path() + "/new/line.toml";
  EXPECT_EQ(ReadEfficiency(path), Efficiency());
  const Efficiency measured = {
      .staleness = 0.125, .interval = 0.25, .stale_trials = 3, .interval_trials = 1};
  WriteEfficiency(measured, path);
  EXPECT_EQ(ReadEfficiency(path), measured);
  std::ofstream(path) << "staleness = ";
  EXPECT_EQ(ReadEfficiency(path), Efficiency());
  EXPECT_EQ(ReadEfficiency(""), Efficiency());
  WriteEfficiency(measured, "/dev/null/line.toml");
}

TEST(Efficiency, ItsKindIsTheModelAndTheFormat) {
  const std::string path = EfficiencyPath(test::SmallJob());
  EXPECT_EQ(EfficiencyPath(test::SmallJob({{"train.batch", "8"}, {"data.train_size", "99"}})),
            path);
  EXPECT_NE(EfficiencyPath(test::SmallJob({{"model.widths", "[17]"}})), path);
}

TEST(Efficiency, ItSaysWhatIsMeasured) {
  EXPECT_EQ(TextOf(Efficiency{.staleness = 0.021, .stale_trials = 3}),
            "an update's staleness costs 2.1 % more examples (on this kind of job, from 3 trials), "
            "each doubling of the steps between exchanges costs 8.0 % more examples (assumed)");
}

}  // namespace yoke::efficiency_test
