// The pass over an output gradient against plain loops: whole vectors of columns and their ends.
#include "kernels/cpu/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace yoke::cpu::gradient_test {

struct Case {
  int64_t rows, columns;
  bool relu, bias, parts;
};

template <typename T>
void Check(const Case& c, DType type) {
  SCOPED_TRACE(testing::Message() << c.rows << " by " << c.columns << (c.relu ? ", relu" : "")
                                  << (c.bias ? ", bias" : "") << (c.parts ? ", parts" : ""));
  const int64_t count = c.rows * c.columns;
  std::vector<T> output(count), gradient(count);
  std::vector<float> expected(count), expected_sums(c.columns), partial(kGradientParts * c.columns);
  for (int64_t i = 0; i < count; ++i) {
    output[i] = T(i % 11 == 3 ? NAN : static_cast<float>(i * 7 % 5 - 2));  // NaN: not masked
    gradient[i] = T(static_cast<float>(i * 37 % 61 - 30));                 // sums are exact
    expected[i] = c.relu && float(output[i]) <= 0 ? 0.0F : float(gradient[i]);
    expected_sums[i % c.columns] += expected[i];
  }
  std::vector<float> sums(c.columns, -1);
  MaskAndSum({.rows = c.rows,
              .columns = c.columns,
              .type = type,
              .relu_output = c.relu ? output.data() : nullptr,
              .gradient = gradient.data(),
              .bias_gradient = c.bias ? sums.data() : nullptr,
              .partial_sums = c.parts ? partial.data() : nullptr});
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(float(gradient[i]), expected[i]) << i;
  if (c.bias) {
    EXPECT_EQ(sums, expected_sums);
  }
}

TEST(MaskAndSum, FollowsPlainLoops) {
  for (const int64_t columns : {1, 3, 4, 7, 8, 10, 16, 17, 20, 33, 50, 63, 64, 66, 79, 100, 130})
    for (const int64_t rows : {1, 33, 300})
      for (const bool relu : {false, true})
        for (const bool bias : {false, true})
          for (const bool parts : {false, true}) {
            Check<float>({rows, columns, relu, bias, parts}, DType::kF32);
            Check<Bf16>({rows, columns, relu, bias, parts}, DType::kBf16);
          }
}

}  // namespace yoke::cpu::gradient_test
