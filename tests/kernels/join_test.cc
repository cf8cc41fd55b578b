// Sums of tensors: one number at a time is the measure; whole vectors and their ends, a NaN.
#include "kernels/join/join.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace yoke::join_test {

template <typename T>
void ExpectSums(DType type) {
  for (const int64_t n : {1, 31, 32, 77, 20011})
    for (const int count : {1, 2, 3, 5})
      for (const bool relu : {false, true}) {
        SCOPED_TRACE(testing::Message() << count << " of " << n << (relu ? ", relu" : ""));
        std::vector<std::vector<T>> inputs(count, std::vector<T>(n));
        std::vector<Tensor> tensors;
        for (int k = 0; k < count; ++k) {
          for (int64_t i = 0; i < n; ++i)
            inputs[k][i] = T(static_cast<float>((i * 37 + k * 101) % 256 - 130) / 16);
          tensors.push_back({.shape = {n}, .type = type, .data = inputs[k].data()});
        }
        inputs[0][n / 2] = T(std::numeric_limits<float>::quiet_NaN());
        std::vector<T> output(n);
        MakeSum(relu)->Forward(
            {.inputs = tensors, .output = {.shape = {n}, .type = type, .data = output.data()}});
        for (int64_t i = 0; i < n; ++i) {
          float sum = 0;
          for (const std::vector<T>& input : inputs) sum += float(input[i]);
          if (i == n / 2)
            ASSERT_TRUE(std::isnan(float(output[i])));
          else
            ASSERT_EQ(float(output[i]), float(T(relu && sum < 0 ? 0.0F : sum))) << i;
        }
      }
}

TEST(Sums, OfF32) { ExpectSums<float>(DType::kF32); }

TEST(Sums, OfBf16) { ExpectSums<Bf16>(DType::kBf16); }

}  // namespace yoke::join_test
