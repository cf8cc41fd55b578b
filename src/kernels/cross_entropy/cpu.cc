// Cross-entropies in vectorized loops, an example a thread. A sum of logarithms is the logarithm of
// a product, taken in double before it can overflow. A sigmoid's positive scores are added in
// double, because the targets' scores are subtracted from their sum.
#include "kernels/cross_entropy/cross_entropy.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/exponential.h"

namespace yoke::cpu {
namespace {

/// What both have in common: rows dealt to threads, and targets subtracted from the gradient.
class RowLoss : public CrossEntropyKernel {
 public:
  explicit RowLoss(const CrossEntropyShape& shape) : s_(shape) {}

  void Forward(const CrossEntropyCall& call) override {
#pragma omp parallel for schedule(static) if (s_.batch * s_.outputs > 2048)
    for (int64_t n = 0; n < s_.batch; ++n)
      call.losses[n] = Loss(call.scores + n * s_.outputs, TargetsOf(call.labels, s_, n));
  }

  void Backward(const CrossEntropyCall& call) override {
#pragma omp parallel for schedule(static) if (s_.batch * s_.outputs > 2048)
    for (int64_t n = 0; n < s_.batch; ++n)
      Gradient(call.scores + n * s_.outputs, TargetsOf(call.labels, s_, n),
               call.gradient + n * s_.outputs);
  }

  std::string name() const override { return "vector loops"; }

 protected:
  virtual float Loss(const float* scores, const Targets& targets) const = 0;
  virtual void Gradient(const float* scores, const Targets& targets, float* gradient) const = 0;

  static void Subtract(const Targets& targets, float weight, float* gradient) {
    for (int64_t k = 0; k < targets.count; ++k) gradient[targets.ids[k]] -= weight;
  }
  float scale() const { return 1 / static_cast<float>(s_.MeanOver()); }
  int64_t outputs() const { return s_.outputs; }

 private:
  CrossEntropyShape s_;
};

class Softmax : public RowLoss {
 public:
  using RowLoss::RowLoss;

 private:
  struct Norm {
    float largest, sum;  // of the scores, of exp(score - largest)
  };

  Norm NormOf(const float* scores) const {
    float largest = scores[0], sum = 0;
#pragma omp simd reduction(max : largest)
    for (int64_t o = 0; o < outputs(); ++o) largest = scores[o] > largest ? scores[o] : largest;
#pragma omp simd reduction(+ : sum)
    for (int64_t o = 0; o < outputs(); ++o) sum += Exponential(scores[o] - largest);
    return {largest, sum};
  }

  float Loss(const float* scores, const Targets& targets) const override {
    const Norm norm = NormOf(scores);
    double loss = 0;
    for (int64_t k = 0; k < targets.count; ++k)
      loss += double(norm.largest) - scores[targets.ids[k]] + std::log(double(norm.sum));
    return targets.count ? float(loss / double(targets.count)) : 0.0F;
  }

  void Gradient(const float* scores, const Targets& targets, float* gradient) const override {
    if (targets.count == 0) return void(std::fill_n(gradient, outputs(), 0.0F));
    const Norm norm = NormOf(scores);
    const float factor = scale() / norm.sum;
#pragma omp simd
    for (int64_t o = 0; o < outputs(); ++o)
      gradient[o] = factor * Exponential(scores[o] - norm.largest);
    Subtract(targets, scale() / float(targets.count), gradient);
  }
};

class SigmoidLoss : public RowLoss {
 public:
  using RowLoss::RowLoss;

 private:
  static constexpr int64_t kProduct = 512;  // each factor is at most 2: no product passes 2^512

  float Loss(const float* scores, const Targets& targets) const override {
    double loss = 0;
    for (int64_t begin = 0; begin < outputs(); begin += kProduct) {
      const int64_t end = std::min(begin + kProduct, outputs());
      double positive = 0, product = 1;
#pragma omp simd reduction(+ : positive) reduction(* : product)
      for (int64_t o = begin; o < end; ++o) {
        positive += scores[o] > 0 ? double(scores[o]) : 0.0;
        product *= 1 + double(Exponential(-std::abs(scores[o])));
      }
      loss += positive + std::log(product);
    }
    for (int64_t k = 0; k < targets.count; ++k) loss -= scores[targets.ids[k]];
    return float(loss);
  }

  void Gradient(const float* scores, const Targets& targets, float* gradient) const override {
#pragma omp simd
    for (int64_t o = 0; o < outputs(); ++o) gradient[o] = scale() / (1 + Exponential(-scores[o]));
    Subtract(targets, scale(), gradient);
  }
};

}  // namespace

std::unique_ptr<CrossEntropyKernel> CrossEntropies(const CrossEntropyShape& shape) {
  if (shape.function == CrossEntropy::kSigmoid) return std::make_unique<SigmoidLoss>(shape);
  return std::make_unique<Softmax>(shape);
}

}  // namespace yoke::cpu
