// Top scores: the blocked kernel against the reference, and both against scores that are known.
#include "kernels/top_scores/top_scores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/support/near.h"
#include "kernels/threads.h"
#include "tensor/batch.h"

namespace yoke::top_scores_test {

struct Found {
  std::vector<int32_t> ids;
  std::vector<float> scores, wanted;
  std::vector<double> sums;
};

/// Drawn numbers for a shape.
struct Case {
  explicit Case(const TopScoresShape& s) : shape(s) {
    input = Draw(s.batch * s.inputs, 1), weight = Draw(s.outputs * s.inputs, 2);
    bias = Draw(s.outputs, 3);
    wanted.Clear();
    Random random{5, 4};
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t i = 0; i < n % 4; ++i)
        wanted.ids.push_back(static_cast<int32_t>(random.Below(s.outputs)));
      wanted.offsets.push_back(static_cast<int64_t>(wanted.ids.size()));
    }
  }
  static std::vector<float> Draw(int64_t count, uint64_t stream) {
    Random random{5, stream};
    std::vector<float> x(count);
    for (float& v : x) v = static_cast<float>(random.Uniform(-1, 1));
    return x;
  }

  Found Run(bool reference, bool with_bias = true) const {
    const auto kernel = MakeTopScores(shape, {.reference = reference});
    Found found{std::vector<int32_t>(shape.batch * shape.top),
                std::vector<float>(shape.batch * shape.top), std::vector<float>(wanted.ids.size()),
                std::vector<double>(shape.batch)};
    const std::vector<Bf16> low_weight(weight.begin(), weight.end());
    const std::vector<Bf16> low_bias(bias.begin(), bias.end());
    const bool low = shape.type == DType::kBf16;
    const void* b = low ? static_cast<const void*>(low_bias.data()) : bias.data();
    for (int pass = 0; pass < 2; ++pass)  // nothing stays from the pass before
      kernel->Forward({.input = input.data(),
                       .weight = low ? static_cast<const void*>(low_weight.data()) : weight.data(),
                       .bias = with_bias ? b : nullptr,
                       .wanted = wanted.View(),
                       .ids = found.ids.data(),
                       .scores = found.scores.data(),
                       .sums = found.sums.data(),
                       .wanted_scores = found.wanted.data()});
    return found;
  }

  TopScoresShape shape;
  std::vector<float> input, weight, bias;
  SparseStorage wanted;
};

void ExpectSame(const Found& found, const Found& expected) {
  EXPECT_EQ(found.ids, expected.ids);
  test::ExpectNear(found.scores, expected.scores, 2e-5, "score");
  test::ExpectNear(found.wanted, expected.wanted, 2e-5, "wanted");
  for (size_t i = 0; i < found.sums.size(); ++i)
    ASSERT_NEAR(found.sums[i], expected.sums[i], 3e-6 * std::max(10.0, std::abs(expected.sums[i])))
        << i;
}

/// With the numbers of threads that matter for it.
Found RunWith(int threads, const Case& c, bool with_bias) {
  const int before = KernelThreads();
  SetKernelThreads(threads);
  Found found = c.Run(false, with_bias);
  SetKernelThreads(before);
  return found;
}

TEST(TopScoresKernel, AgreesWithTheReferenceForAnyShapeAndThreads) {
  for (int64_t batch : {1, 7, 33})
    for (const auto& [inputs, outputs] :
         {std::pair<int64_t, int64_t>{3, 5}, {17, 1025}, {40, 5000}})
      for (ScoreSum sum : {ScoreSum::kNone, ScoreSum::kLogExp, ScoreSum::kSoftplus}) {
        const Case c({.batch = batch, .inputs = inputs, .outputs = outputs, .top = 5, .sum = sum});
        const bool bias = batch != 7;
        const Found one = RunWith(1, c, bias), three = RunWith(3, c, bias);
        ExpectSame(one, c.Run(true, bias));
        EXPECT_EQ(one.ids, three.ids);
        EXPECT_EQ(one.scores, three.scores);
        EXPECT_EQ(one.wanted, three.wanted);
        EXPECT_EQ(one.sums, three.sums);
      }
}

TEST(TopScoresKernel, MultipliesBf16) {
  for (ScoreSum sum : {ScoreSum::kLogExp, ScoreSum::kSoftplus}) {
    const Case c(
        {.batch = 20, .inputs = 32, .outputs = 3000, .type = DType::kBf16, .top = 3, .sum = sum});
    ExpectSame(RunWith(2, c, true), c.Run(true));
  }
}

/// Scores that are the biases, whatever the kernel.
Case Known(std::vector<float> scores, int64_t top, ScoreSum sum) {
  Case c({.batch = 2,
          .inputs = 1,
          .outputs = static_cast<int64_t>(scores.size()),
          .top = top,
          .sum = sum});
  c.input = {0, 0};
  c.bias = std::move(scores);
  return c;
}

TEST(TopScoresKernel, EqualsComeByIdAndNotANumberIsLeftOut) {
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  for (bool reference : {false, true}) {
    const Found found = Known({1, kNone, 2, 1, 2}, 5, ScoreSum::kLogExp).Run(reference);
    EXPECT_EQ(found.ids, (std::vector<int32_t>{2, 4, 0, 3, -1, 2, 4, 0, 3, -1}));
    EXPECT_TRUE(std::isnan(found.sums[0]) && std::isnan(found.sums[1]));
    std::vector<float> equal(4100, 0.5F);
    EXPECT_EQ(Known(equal, 3, ScoreSum::kNone).Run(reference).ids,
              (std::vector<int32_t>{0, 1, 2, 0, 1, 2}));
  }
}

TEST(TopScoresKernel, LargeScoresDoNotOverflow) {
  for (bool reference : {false, true}) {
    std::vector<float> scores(3000, -1000);
    scores[2500] = 300, scores[7] = 300;
    EXPECT_NEAR(Known(scores, 1, ScoreSum::kLogExp).Run(reference).sums[1], 300 + std::log(2),
                1e-4);
    EXPECT_NEAR(Known(scores, 0, ScoreSum::kSoftplus).Run(reference).sums[0], 600, 1e-3);
  }
}

TEST(TopScoresKernel, SoftplusKeepsSmallScoresBesideALargeOne) {
  for (bool reference : {false, true}) {
    std::vector<float> scores(21, 3);
    scores[7] = 1e9F;
    const double sum = Known(scores, 1, ScoreSum::kSoftplus).Run(reference).sums[0];
    EXPECT_NEAR(sum, 1e9 + 20 * (3 + std::log1p(std::exp(-3.0))), 1e-4);
  }
}

TEST(TopScoresKernel, SoftplusOfManyUnlikelyOutputsKeepsItsDigits) {
  const std::vector<float> scores(100000, -15);
  const double expected = 100000 * std::log1p(std::exp(-15.0));
  EXPECT_NEAR(Known(scores, 1, ScoreSum::kSoftplus).Run(false).sums[0], expected, 1e-5 * expected);
}

}  // namespace yoke::top_scores_test
