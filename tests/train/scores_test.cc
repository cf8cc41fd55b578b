// Calibration, decisions, rankings and curves, on examples counted by hand.
#include "train/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace yoke::scores_test {

using ::testing::FieldsAre;
using ::testing::Pair;

TEST(Scores, CalibrationIsTheMeanGapBetweenConfidenceAndAccuracy) {
  Calibration calibration;
  EXPECT_EQ(calibration.Error(), 0);
  for (int i = 0; i < 10; ++i) calibration.Add(0.85, i < 5);
  EXPECT_NEAR(calibration.Error(), 0.35, 1e-12);
  for (int i = 0; i < 10; ++i) calibration.Add(1, true);
  EXPECT_NEAR(calibration.Error(), 0.175, 1e-12);
}

TEST(Scores, DecisionsByLabelAndTogether) {
  LabelDecisions decisions(3);
  EXPECT_EQ(decisions.MicroF1(), 0);
  decisions.Add(std::vector<int32_t>{0, 2}, std::vector<int32_t>{0, 1});
  EXPECT_DOUBLE_EQ(decisions.MicroF1(), 0.5);
  EXPECT_DOUBLE_EQ(decisions.MacroF1(), 1.0 / 3);
}

TEST(Scores, RankingsWeighLabelsByPropensity) {
  RankingTally tally({1, 2}, {1, 2, 4});
  tally.Add(std::vector<int32_t>{1, 0}, std::vector<int32_t>{0, 2});
  const double second = 1 / std::log2(3);
  EXPECT_THAT(tally.Results(),
              testing::ElementsAre(Pair("p_at_1", 0), Pair("ndcg_at_1", 0), Pair("psp_at_1", 0),
                                   Pair("p_at_2", 0.5), Pair("ndcg_at_2", second / (1 + second)),
                                   Pair("psp_at_2", 0.2)));
}

TEST(Scores, RareLabelsHaveLowPropensities) {
  const std::vector<double> inverse = InversePropensities(std::vector<int64_t>{1, 100}, 1000);
  const double c = (std::log(1000.0) - 1) * std::pow(2.5, 0.55);
  EXPECT_DOUBLE_EQ(inverse[0], 1 + c * std::pow(2.5, -0.55));
  EXPECT_GT(inverse[0], inverse[1]);
}

TEST(Scores, CurvesHaveAPointForEachScore) {
  const std::vector<std::pair<float, bool>> scored = {
      {0.75F, true}, {0.5F, false}, {0.5F, true}, {0.25F, false}};
  EXPECT_THAT(CurveOf(scored, 100),
              testing::ElementsAre(FieldsAre(0.75, 0, 0.5, 1), FieldsAre(0.5, 0.5, 1, 2.0 / 3),
                                   FieldsAre(0.25, 1, 1, 0.5)));
  EXPECT_EQ(CurveOf(scored, 2).size(), 2U);
  EXPECT_DOUBLE_EQ(AveragePrecision(scored), 0.5 + 0.5 * 2 / 3);
}

}  // namespace yoke::scores_test
