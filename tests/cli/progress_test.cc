// The live line, tables and wrapped text.
#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace yoke::progress_test {

using testing::ElementsAre;
using testing::HasSubstr;

StepEvent HalfWay() {
  StepEvent step;
  step.epoch = 2.5;
  step.epochs = 5;
  step.loss = 0.3412;
  step.examples_per_second = 12345;
  step.seconds_left = 63;
  return step;
}

TEST(LiveLineTest, HoldsEverythingOnAWideTerminal) {
  const std::string line = LiveLine(HalfWay(), "accuracy 0.9012", 120);
  EXPECT_THAT(line,
              HasSubstr("epoch 3/5  loss 0.3412  1:03 left  accuracy 0.9012  12,345 examples/s"));
  EXPECT_THAT(line, HasSubstr("[=============>              ]"));
}

TEST(LiveLineTest, IsAlwaysShorterThanTheTerminal) {
  for (int columns = 1; columns < 200; ++columns)
    EXPECT_LT(static_cast<int>(LiveLine(HalfWay(), "accuracy 0.9012", columns).size()), columns);
}

TEST(LiveLineTest, LeavesOutWhatMattersLeast) {
  EXPECT_EQ(LiveLine(HalfWay(), "accuracy 0.9012", 36), "epoch 3/5  loss 0.3412  1:03 left");
}

TEST(LiveLineTest, TheLastStepIsNotInAnEpochBeyondTheLast) {
  StepEvent step = HalfWay();
  step.epoch = 5;
  EXPECT_THAT(LiveLine(step, "", 80), HasSubstr("epoch 5/5"));
}

TEST(HeadlineTest, PrefersWhatSaysMost) {
  EXPECT_EQ(Headline({{"loss", 0.5}, {"accuracy", 0.98765}}), "accuracy 0.9877");
  EXPECT_EQ(Headline({{"loss", 0.5}, {"p_at_1", 0.65}, {"p_at_3", 0.6}}), "p_at_1 0.6500");
  EXPECT_EQ(Headline({}), "");
}

TEST(TableTest, AlignsColumns) {
  EXPECT_THAT(TableLines({{"name", "count"}, {"a", "12,345"}, {"long", "1"}}, {1}),
              ElementsAre("name   count", "a     12,345", "long       1"));
}

TEST(WrapTest, BreaksBetweenWords) {
  EXPECT_THAT(Wrap("one two three four", 9, 2), ElementsAre("one two", "  three", "  four"));
  EXPECT_THAT(Wrap("unbreakable", 4, 0), ElementsAre("unbreakable"));
}

}  // namespace yoke::progress_test
