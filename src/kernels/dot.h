// Dot: the inner product of two rows in f32.
#pragma once

#include <cstdint>

namespace yoke {

/// `row` is f32 or bf16. The compiler chooses the order of the additions.
template <typename T>
float Dot(const T* row, const float* query, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<float>(row[i]) * query[i];
  return sum;
}

}  // namespace yoke
