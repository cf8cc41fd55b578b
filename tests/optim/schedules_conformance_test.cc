// Every schedule against its formula at chosen epochs, the warm-up in front, and wrong tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"
#include "optim/schedules.h"

namespace yoke::schedules_conformance_test {

double FactorAt(const char* toml, double epoch, double epochs = 10) {
  return MakeSchedule(ParseToml(toml, "job.toml"))->Factor({.epoch = epoch, .epochs = epochs});
}

struct Case {
  const char* toml;
  double epoch;
  double factor;
};

TEST(Schedules, FollowTheirFormulas) {
  const Case cases[] = {
      {"", 3, 1},
      {"name = \"constant\"", 9, 1},
      {"name = \"step\"\nevery_epochs = 2\nfactor = 0.5", 1.99, 1},
      {"name = \"step\"\nevery_epochs = 2\nfactor = 0.5", 5, 0.25},
      {"name = \"multi_step\"\nat_epochs = [2, 6]", 1.9, 1},
      {"name = \"multi_step\"\nat_epochs = [2, 6]", 2, 0.1},
      {"name = \"multi_step\"\nat_epochs = [6, 2]", 7, 0.01},
      {"name = \"cosine\"", 0, 1},
      {"name = \"cosine\"", 2.5, (1 + std::sqrt(0.5)) / 2},
      {"name = \"cosine\"\nend = 0.2", 10, 0.2},
      {"name = \"cosine\"\nend = 0.2", 5, 0.6},
      {"name = \"polynomial\"", 4, 0.6},
      {"name = \"polynomial\"\npower = 2\nend = 0.1", 5, 0.1 + 0.9 * 0.25},
      {"name = \"polynomial\"", 11, 0},
      {"name = \"plateau\"", 9, 1},
  };
  for (const Case& c : cases) EXPECT_NEAR(FactorAt(c.toml, c.epoch), c.factor, 1e-12) << c.toml;
}

TEST(Schedules, APlateauDropsTheRate) {
  const auto at = [](const char* more, int64_t plateaus) {
    return MakeSchedule(
               ParseToml(fmt::format("name = \"plateau\"\nfactor = 0.5\n{}", more), "test"))
        ->Factor({.epoch = 5, .epochs = 10, .plateaus = plateaus});
  };
  EXPECT_EQ(at("", 2), 0.25);
  EXPECT_EQ(at("end = 0.3", 2), 0.3);
  EXPECT_EQ(at("warmup_epochs = 1.0", 1), 0.5);
}

TEST(Schedules, EpochsAreCountedFromTheStartAfterAWarmUp) {
  const char* warm = "\nfactor = 0.1\nwarmup_epochs = 5\nwarmup_start = 0.2";
  const auto at = [&](const std::string& course, double epoch) {
    return MakeSchedule(ParseToml(course + warm, "test"))->Factor({.epoch = epoch, .epochs = 90});
  };
  for (const char* course :
       {"name = \"multi_step\"\nat_epochs = [30, 60]", "name = \"step\"\nevery_epochs = 30"}) {
    EXPECT_DOUBLE_EQ(at(course, 5), 1);
    EXPECT_DOUBLE_EQ(at(course, 29.9), 1);
    EXPECT_DOUBLE_EQ(at(course, 30), 0.1);
    EXPECT_NEAR(at(course, 60), 0.01, 1e-12);
  }
}

TEST(Schedules, WarmUpRisesBeforeTheCourseBegins) {
  const char* toml = "name = \"polynomial\"\nwarmup_epochs = 2\nwarmup_start = 0.2";
  EXPECT_DOUBLE_EQ(FactorAt(toml, 0), 0.2);
  EXPECT_DOUBLE_EQ(FactorAt(toml, 1), 0.6);
  EXPECT_DOUBLE_EQ(FactorAt(toml, 2), 1);
  EXPECT_DOUBLE_EQ(FactorAt(toml, 6), 0.5);
  EXPECT_DOUBLE_EQ(FactorAt(toml, 10), 0);
}

std::string Refusal(const char* toml) {
  try {
    MakeSchedule(ParseToml(toml, "job.toml"));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Schedules, RefuseWhatTheyDoNotKnow) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(Refusal("name = \"cosin\""), AllOf(HasSubstr("cosine"), HasSubstr("polynomial")));
  EXPECT_THAT(Refusal("name = \"step\""), HasSubstr("every_epochs"));
  EXPECT_THAT(Refusal("name = \"cosine\"\npower = 2"), HasSubstr("power"));
  EXPECT_THAT(Refusal("name = \"multi_step\"\nat_epochs = [0]"), HasSubstr("above 0"));
  EXPECT_THAT(Refusal("name = 3"), HasSubstr("string"));
}

}  // namespace yoke::schedules_conformance_test
