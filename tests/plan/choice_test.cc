// Choice by speeds: which candidates are compared, and what is chosen.
#include "plan/choice.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/files.h"
#include "plan/support/small_job.h"

namespace yoke::choice_test {

using test::Named;
using test::SmallJob;
using testing::HasSubstr;

class SpeedsTest : public testing::Test {
 protected:
  Plan Compare(const Overrides& keys, const std::vector<std::string>& open) {
    Overrides all = keys;
    all.push_back({"train.epochs", "100000"});
    return CompareSpeeds(SmallJob(all), {.open = open},
                         {.data = data_, .run = run_, .folder = folder_.path(), .seconds = 0.8}, 0);
  }

  const TemporaryFolder folder_{"yoke-speeds-test"};
  const DataSets data_ = OpenData(SmallJob().data(), 1);
  const RunRequest run_ = {};
};

TEST_F(SpeedsTest, ComparesPrecisions) {
  const Plan plan = Compare({}, {"node.executor", "node.precision"});
  const Candidate f32 = Named(plan.candidates, "single, f32");
  const Candidate bf16 = Named(plan.candidates, "single, bf16");
  if (IsFastHere("bf16")) {
    for (const Candidate& one : {f32, bf16}) {
      EXPECT_GT(one.trained, 0) << one.name;
      EXPECT_TRUE(one.measured && one.loss) << one.name;
    }
    EXPECT_TRUE(std::filesystem::exists(plan.progress + "/last"));  // training goes on from there
  } else {
    EXPECT_EQ(f32.trained + bf16.trained, 0);
    EXPECT_THAT(bf16.dropped, HasSubstr("no faster"));
  }
  const Candidate unlike = Named(plan.candidates, "hogwild, f32");
  EXPECT_EQ(unlike.trained, 0);
  EXPECT_THAT(unlike.dropped, HasSubstr("too short"));
  EXPECT_EQ(plan.best().executor, "single");
  ASSERT_EQ(plan.notes.size(), 1);
  EXPECT_THAT(plan.notes[0], HasSubstr("default"));
}

TEST_F(SpeedsTest, AnExecutorInPlaceIsComparedWithItself) {
  const Plan plan = Compare({{"node.executor", "hogwild"}}, {"node.executor", "node.precision"});
  EXPECT_EQ(Named(plan.candidates, "hogwild, bf16").trained > 0, IsFastHere("bf16"));
  EXPECT_EQ(Named(plan.candidates, "single, f32").trained, 0);
  EXPECT_EQ(plan.best().executor, "hogwild");
}

/// A strategy's variants exchange at other times: their speed alone tells nothing.
TEST_F(SpeedsTest, VariantsOfTheStrategyAreNotAlike) {
  const Plan plan = Compare({{"cluster.replicas", "2"}, {"cluster.strategy", "easgd_sync1"}},
                            {"cluster.strategy"});
  EXPECT_GT(plan.candidates.size(), 3);
  for (const Candidate& one : plan.candidates) EXPECT_EQ(one.trained, 0) << one.name;
  EXPECT_TRUE(plan.keys.empty());
}

TEST_F(SpeedsTest, WithoutTimeTheDefaultStays) {
  const Plan plan = CompareSpeeds(
      SmallJob({{"node.precision", "bf16"}}), {.open = {"node.precision"}},  // f32 is fast anywhere
      {.data = data_, .run = run_, .folder = folder_.path(), .seconds = 0.8}, /*update_seconds=*/1);
  EXPECT_TRUE(plan.keys.empty());
  ASSERT_EQ(plan.notes.size(), 1);
  EXPECT_THAT(plan.notes[0], HasSubstr("no time"));
}

TEST_F(SpeedsTest, WithoutARivalNothingIsTried) {
  const Plan plan = Compare({}, {"node.executor"});
  EXPECT_TRUE(plan.keys.empty());
  EXPECT_EQ(plan.progress, "");
  ASSERT_EQ(plan.notes.size(), 1);
  EXPECT_THAT(plan.notes[0], HasSubstr("default stays"));
}

}  // namespace yoke::choice_test
