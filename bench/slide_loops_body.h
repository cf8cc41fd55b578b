// The bodies of the flat loops, compiled once with vectors and once without.
#pragma once

#include <cmath>

#include "bench/slide_loops.h"

namespace yoke::bench {
namespace {

void AddScaled(float scale, const float* __restrict from, float* __restrict to) {
  for (int64_t i = 0; i < kHidden; ++i) to[i] += scale * from[i];
}

/// The compiler may choose the order of the additions.
float InnerProduct(const float* x, const float* y) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < kHidden; ++i) sum += x[i] * y[i];
  return sum;
}

float ValueOf(const SparseRows& rows, int64_t k) { return rows.values ? rows.values[k] : 1.0F; }

void InputForward(const SparseRows& input, const FlatRows& rows, const float* bias, float* hidden) {
  for (int64_t n = 0; n < input.rows; ++n) {
    float* sum = hidden + n * kHidden;
    for (int64_t i = 0; i < kHidden; ++i) sum[i] = bias[i];
    for (int64_t k = input.offsets[n]; k < input.offsets[n + 1]; ++k)
      AddScaled(ValueOf(input, k), rows[input.ids[k]], sum);
  }
}

void InputBackward(const SparseRows& input, const float* gradient, const int32_t* places,
                   float* sums, float* bias_gradient) {
  for (int64_t i = 0; i < kHidden; ++i) bias_gradient[i] = 0;
  for (int64_t n = 0; n < input.rows; ++n) {
    const float* from = gradient + n * kHidden;
    AddScaled(1, from, bias_gradient);
    for (int64_t k = input.offsets[n]; k < input.offsets[n + 1]; ++k)
      AddScaled(ValueOf(input, k), from, sums + places[input.ids[k]] * kHidden);
  }
}

void Scores(const FlatGroup& g) {
  const auto active = static_cast<int64_t>(g.ids.size());
  for (int64_t r = 0; r < active; ++r)
    for (int64_t n = 0; n < g.examples; ++n)
      g.scores[n * g.columns + r] = InnerProduct(g.rows[g.ids[r]], g.hidden + n * kHidden);
  for (int64_t n = 0; n < g.examples; ++n)
    for (int64_t r = active; r < g.columns; ++r) g.scores[n * g.columns + r] = 0;
}

void ExampleLoss(const FlatGroup& g, int64_t n) {
  const float* scores = g.scores + n * g.columns;
  float* gradient = g.gradient + n * g.columns;
  float largest = scores[0], sum = 0;
  for (int64_t r = 1; r < g.columns; ++r) largest = scores[r] > largest ? scores[r] : largest;
  for (int64_t r = 0; r < g.columns; ++r) sum += gradient[r] = std::exp(scores[r] - largest);
  const float scale = 1 / (sum * static_cast<float>(g.examples));
  for (int64_t r = 0; r < g.columns; ++r) gradient[r] *= scale;
  const int64_t begin = g.labels.offsets[n], end = g.labels.offsets[n + 1];
  const float share = 1 / static_cast<float>(end - begin);
  g.losses[n] = largest + std::log(sum);
  for (int64_t k = begin; k < end; ++k) {
    g.losses[n] -= share * scores[g.labels.ids[k]];
    gradient[g.labels.ids[k]] -= share / static_cast<float>(g.examples);
  }
}

void Loss(const FlatGroup& g) {
  for (int64_t n = 0; n < g.examples; ++n) ExampleLoss(g, n);
}

void Backward(const FlatGroup& g) {
  for (int64_t i = 0; i < g.examples * kHidden; ++i) g.input_gradient[i] = 0;
  for (size_t r = 0; r < g.ids.size(); ++r) {
    const float* row = g.rows[g.ids[r]];
    float* sum = g.sums + g.places[g.ids[r]] * kHidden;
    for (int64_t n = 0; n < g.examples; ++n) {
      const float gradient = g.gradient[n * g.columns + static_cast<int64_t>(r)];
      AddScaled(gradient, row, g.input_gradient + n * kHidden);
      AddScaled(gradient, g.hidden + n * kHidden, sum);
    }
  }
}

void Update(const FlatAdam& a) {
  const float* __restrict gradient = a.gradient;
  float* __restrict w = a.values;
  float* __restrict m = a.first;
  float* __restrict v = a.second;
  for (int64_t i = 0; i < kHidden; ++i) {
    m[i] = 0.9F * m[i] + 0.1F * gradient[i];
    v[i] = 0.999F * v[i] + 0.001F * gradient[i] * gradient[i];
    w[i] -= a.rate * m[i] / (std::sqrt(v[i]) * a.inverse + 1e-8F);
  }
}

constexpr FlatLoops kLoops = {.input_forward = InputForward,
                              .input_backward = InputBackward,
                              .scores = Scores,
                              .loss = Loss,
                              .backward = Backward,
                              .update = Update};

}  // namespace
}  // namespace yoke::bench
