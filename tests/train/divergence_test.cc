// Divergence: what counts as an explosion or a collapse, and what a healthy run may do.
#include "train/divergence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace yoke::divergence_test {

const double kClasses = std::log(10.0);  // the loss of guessing
const EvaluatedData kTest = {.outputs = 10, .examples = 10000};

Metrics Measured(double loss, double accuracy) { return {{"loss", loss}, {"accuracy", accuracy}}; }

/// Whether the last of these evaluations is a collapse.
bool Collapses(const std::vector<Metrics>& evaluations, const EvaluatedData& data = kTest) {
  BestEvaluation best;
  std::optional<Collapse> found;
  for (size_t i = 0; i < evaluations.size(); ++i)
    found = FindCollapse(evaluations[i], static_cast<int64_t>(i) + 1, kClasses, data, best);
  return found.has_value();
}

TEST(Collapse, IsAnAccuracyNearGuessingAfterAGoodOne) {
  EXPECT_TRUE(Collapses({Measured(0.3, 0.92), Measured(2.4, 0.085)}));
  EXPECT_TRUE(Collapses({Measured(0.3, 0.92), Measured(0.2, 0.94), Measured(2.4, 0.1)}));
  EXPECT_TRUE(
      Collapses({Measured(0.3, 0.95), Measured(0.7, 0.5)}, {.outputs = 2, .examples = 500}));
}

TEST(Collapse, IsALossThatCannotBe) {
  for (const double loss : {-8.67e20, -0.1, double(NAN), HUGE_VAL})
    EXPECT_TRUE(Collapses({Measured(loss, 0.9)})) << loss;
  EXPECT_FALSE(Collapses({Measured(-1e-6, 1)}));  // rounding
}

TEST(Collapse, IsNotWhatIsMerelyWorse) {
  EXPECT_FALSE(Collapses({Measured(2.3, 0.1)}));
  EXPECT_FALSE(Collapses({Measured(0.3, 0.92), Measured(0.5, 0.85)}));
  EXPECT_FALSE(Collapses({Measured(0.3, 0.92), Measured(9, 0.9)}));  // overfitted
  EXPECT_FALSE(
      Collapses({Measured(2.2, 0.3), Measured(2.3, 0.1)}, {.outputs = 10, .examples = 50}));
  EXPECT_FALSE(Collapses({Measured(0.3, 0.92), Measured(2.4, 0.1), Measured(0.4, 0.9)}));
}

TEST(Collapse, GoesByTheLossWhereThereIsNothingElse) {
  const auto loss = [](double value) { return Metrics{{"loss", value}}; };
  EXPECT_TRUE(Collapses({loss(0.3), loss(2.4)}));
  EXPECT_FALSE(Collapses({loss(0.3), loss(0.9)}));
  EXPECT_FALSE(Collapses({loss(2.2), loss(2.5)}));
}

TEST(Collapse, SaysWhatFell) {
  BestEvaluation best;
  FindCollapse(Measured(0.3, 0.92), 4, kClasses, kTest, best);
  EXPECT_EQ(FindCollapse(Measured(2.4, 0.085), 5, kClasses, kTest, best)->Text(),
            "the accuracy fell from 0.9200 after epoch 4 to 0.0850 after epoch 5");
}

Metrics Measured(double loss) { return {{"loss", loss}, {"accuracy", 0.1}}; }

TEST(Explosion, IsALossFarAboveTheUntrainedModels) {
  EXPECT_TRUE(Exploded(kClasses, 4e22, Measured(4e22)));
  EXPECT_TRUE(Exploded(kClasses, 4e22, Measured(HUGE_VAL)));
  EXPECT_TRUE(Exploded(kClasses, 4e22, Measured(NAN)));
  EXPECT_TRUE(Exploded(kClasses, 4e22, {}));
}

TEST(Explosion, IsNotWhatIsMerelyBad) {
  EXPECT_FALSE(Exploded(kClasses, kClasses, Measured(kClasses)));
  EXPECT_FALSE(Exploded(kClasses, 200, Measured(200)));
}

TEST(Explosion, IsNotASpikeThatHasPassed) {
  EXPECT_FALSE(Exploded(kClasses, 4e22, Measured(2)));
  EXPECT_FALSE(Exploded(kClasses, 2, Measured(4e22)));
  EXPECT_FALSE(Exploded(kClasses, 2, Measured(NAN)));
}

TEST(Explosion, GoesByTheScaleOfTheLoss) {
  EXPECT_FALSE(Exploded(1e10, 9e11, Measured(9e11)));  // a regression of large numbers
  EXPECT_TRUE(Exploded(1e10, 2e12, Measured(2e12)));
  EXPECT_FALSE(Exploded(983 * std::log(2.0), 5e4, Measured(5e4)));  // summed over labels
  EXPECT_FALSE(Exploded(1e-6, 50, Measured(50)));                   // a model that was trained
}

TEST(Explosion, IsUnknownWhereTheBeginningIs) { EXPECT_FALSE(Exploded(0, 4e22, Measured(4e22))); }

}  // namespace yoke::divergence_test
