// LayerNorm: a thread takes whole rows, so that nothing depends on their number; the gradients of
// weight and bias go over blocks of columns.
#include "kernels/layer_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/makers.h"

namespace yoke {
namespace {

constexpr int64_t kColumnBlock = 64;  // columns whose sums stay in cache

struct RowMoments {
  float mean, inverse;  // inverse: 1 / deviation
};

template <typename T>
RowMoments MomentsOf(const T* x, int64_t n, double epsilon) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<float>(x[i]);
  const float mean = sum / static_cast<float>(n);
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) {
    const float apart = static_cast<float>(x[i]) - mean;
    squares += apart * apart;
  }
  return {mean, static_cast<float>(1 / std::sqrt(double(squares) / double(n) + epsilon))};
}

template <typename T>
void NormalizeRows(const LayerNormShape& shape, const LayerNormCall& call) {
  const int64_t n = shape.columns;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < shape.rows; ++r) {
    const T* x = static_cast<const T*>(call.input) + r * n;
    T* y = static_cast<T*>(call.output) + r * n;
    const RowMoments row = MomentsOf(x, n, shape.epsilon);
    if (call.saved) call.saved[2 * r] = row.mean, call.saved[2 * r + 1] = row.inverse;
    for (int64_t i = 0; i < n; ++i) {
      const float w = call.weight ? call.weight[i] : 1, b = call.bias ? call.bias[i] : 0;
      y[i] = static_cast<T>((static_cast<float>(x[i]) - row.mean) * row.inverse * w + b);
    }
  }
}

/// dw = sum over rows of dy * z and db = sum of dy, for some columns; z = (x - mean) / deviation.
template <typename T>
void SumColumns(const LayerNormShape& shape, const LayerNormCall& call, int64_t begin) {
  const int64_t n = shape.columns, count = std::min(kColumnBlock, n - begin);
  float weights[kColumnBlock] = {}, biases[kColumnBlock] = {};
  for (int64_t r = 0; r < shape.rows; ++r) {
    const T* x = static_cast<const T*>(call.input) + r * n + begin;
    const T* dy = static_cast<const T*>(call.output_gradient) + r * n + begin;
    const float mean = call.saved[2 * r], inverse = call.saved[2 * r + 1];
    for (int64_t i = 0; i < count; ++i) {
      const auto g = static_cast<float>(dy[i]);
      weights[i] += g * (static_cast<float>(x[i]) - mean) * inverse;
      biases[i] += g;
    }
  }
  if (call.weight_gradient) std::copy_n(weights, count, call.weight_gradient + begin);
  if (call.bias_gradient) std::copy_n(biases, count, call.bias_gradient + begin);
}

/// dx = (g - mean(g) - z * mean(g * z)) / deviation, with g = dy * weight; row by row.
template <typename T>
void BackRow(const LayerNormShape& shape, const LayerNormCall& call, int64_t r) {
  const int64_t n = shape.columns;
  const T* x = static_cast<const T*>(call.input) + r * n;
  const T* dy = static_cast<const T*>(call.output_gradient) + r * n;
  T* dx = static_cast<T*>(call.input_gradient) + r * n;
  const float mean = call.saved[2 * r], inverse = call.saved[2 * r + 1];
  const auto g = [&](int64_t i) {
    return static_cast<float>(dy[i]) * (call.weight ? call.weight[i] : 1);
  };
  const auto z = [&](int64_t i) { return (static_cast<float>(x[i]) - mean) * inverse; };
  float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
  for (int64_t i = 0; i < n; ++i) {
    sum += g(i);
    product += g(i) * z(i);
  }
  sum /= static_cast<float>(n), product /= static_cast<float>(n);
  for (int64_t i = 0; i < n; ++i) dx[i] = static_cast<T>((g(i) - sum - z(i) * product) * inverse);
}

template <typename T>
void BackAll(const LayerNormShape& shape, const LayerNormCall& call) {
  const bool columns = call.weight_gradient || call.bias_gradient;
#pragma omp parallel for schedule(static) if (columns)
  for (int64_t c = 0; c < (columns ? shape.columns : 0); c += kColumnBlock)
    SumColumns<T>(shape, call, c);
  if (!call.input_gradient) return;
#pragma omp parallel for schedule(static)
  for (int64_t r = 0; r < shape.rows; ++r) BackRow<T>(shape, call, r);
}

template <typename T>
struct LayerNormLoop {
  using Call = LayerNormCall;
  LayerNormShape shape;
  void Forward(const Call& call) const { NormalizeRows<T>(shape, call); }
  void Backward(const Call& call) const { BackAll<T>(shape, call); }
};

}  // namespace

const KernelList<LayerNormCall, LayerNormShape> operation::kLayerNorm(
    "layer norm", {}, {{"cuda", "cuda", cuda::Make}, {"loops", TypedLoopsOf<LayerNormLoop>}});

std::unique_ptr<LayerNormKernel> MakeLayerNorm(const LayerNormShape& shape, const Target& target) {
  return operation::kLayerNorm.Make(shape, target);
}

}  // namespace yoke
