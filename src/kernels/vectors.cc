// Vectors: one loop each.
#include "kernels/vectors.h"

#include "kernels/loops.h"

namespace yoke {

void Scale(Values y, float a) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] *= a;
}

void Divide(Values y, float a) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] /= a;
}

void Add(Values y, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

void AddScaled(Values y, float a, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += a * x[i];
}

void Subtract(Values y, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] -= x[i];
}

void AddDifference(Values y, float a, ConstValues p, ConstValues q) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += a * (p[i] - q[i]);
}

void ScaledDifference(Values y, float a, ConstValues p, ConstValues q) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = a * (p[i] - q[i]);
}

void MoveTowards(Values y, float a, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = (1 - a) * y[i] + a * x[i];
}

void MoveTowardsAll(Values y, float a, ConstValues sum, float n) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += a * (sum[i] - n * y[i]);
}

std::unique_ptr<Kernel<ScaleCall>> MakeScale(const Target& target) {
  return MakeLoops<ScaleCall>(target, [](const ScaleCall& call) {
    Scale({call.values, static_cast<size_t>(call.count)}, call.factor);
  });
}

}  // namespace yoke
