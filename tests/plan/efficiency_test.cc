// Efficiency: the fit of what staleness and rare exchanges cost, and its file.
#include "plan/efficiency.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

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

TEST(Efficiency, NumbersThatAreNotFiniteDoNotCount) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const MeasuredUse good = {{.staleness = 3}, 1.3};
  EXPECT_EQ(Fitted({}, {{{.staleness = 3}, kNone}, good, {{.interval = kInfinite}, 2}}),
            Fitted({}, {good}));
  EXPECT_EQ(Fitted({}, {{{.staleness = kNone}, 1}}), Efficiency());
}

TEST(Efficiency, AFileOfImpossibleNumbersIsNotRead) {
  const TemporaryFolder folder("yoke-efficiency-test");
  const std::string path = folder.path() + "/line.toml";
  const std::string rest = "interval = 0.25\nstale_trials = 3\ninterval_trials = 1\n";
  const auto read = [&](const std::string& text) {
    std::ofstream(path) << text;
    return ReadEfficiency(path);
  };
  EXPECT_EQ(read("staleness = 1\n" + rest).stale_trials, 3);
  for (const char* value : {"nan", "inf", "-2", "1.5", "1e300", "\"much\"", "[]"})
    EXPECT_EQ(read(std::string("staleness = ") + value + "\n" + rest), Efficiency()) << value;
  for (const char* count : {"-1", "1e300", "1.0", "9000000000000", "nan", "true"})
    EXPECT_EQ(read(std::string("staleness = 0.1\ninterval = 0.25\ninterval_trials = 1\n"
                               "stale_trials = ") +
                   count + "\n"),
              Efficiency())
        << count;
  EXPECT_EQ(read(rest), Efficiency());
}

TEST(Efficiency, ImpossibleNumbersAreNotWritten) {
  const TemporaryFolder folder("yoke-efficiency-test");
  const std::string path = folder.path() + "/line.toml";
  WriteEfficiency({.staleness = std::numeric_limits<double>::quiet_NaN()}, path);
  EXPECT_FALSE(Exists(path));
}

TEST(Efficiency, AFolderInTheFilesPlaceIsNoFile) {
  const TemporaryFolder folder("yoke-efficiency-test");
  const std::string path = folder.path() + "/line.toml";
  std::filesystem::create_directory(path);
  EXPECT_EQ(ReadEfficiency(path), Efficiency());
  WriteEfficiency({.staleness = 0.5}, path);
  EXPECT_TRUE(std::filesystem::is_directory(path));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

class CacheFolder : public testing::Test {
 protected:
  /// Where it is kept with these variables, "" for none.
  static std::string With(const char* own, const char* all, const char* home) {
    for (const auto& [name, value] :
         {std::pair("YOKE_CACHE", own), {"XDG_CACHE_HOME", all}, {"HOME", home}})
      setenv(name, value, 1);
    const std::string found = EfficiencyPath(test::SmallJob());
    return found.substr(0, found.find("/efficiency/"));
  }
  void TearDown() override {
    for (const auto& [name, value] : before_)
      value ? setenv(name, value->c_str(), 1) : unsetenv(name);
  }

 private:
  static std::optional<std::string> Get(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
  }
  std::vector<std::pair<const char*, std::optional<std::string>>> before_ = {
      {"YOKE_CACHE", Get("YOKE_CACHE")},
      {"XDG_CACHE_HOME", Get("XDG_CACHE_HOME")},
      {"HOME", Get("HOME")}};
};

TEST_F(CacheFolder, IsThatOfTheTools) {
  EXPECT_EQ(With("/own", "/all", "/home"), "/own");
  EXPECT_EQ(With("", "/all", "/home"), "/all/yoke");
  EXPECT_EQ(With("", "relative", "/home"), "/home/.cache/yoke");
  EXPECT_EQ(With("", "", ""), "");
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
