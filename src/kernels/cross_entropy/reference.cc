// Cross-entropies in plain loops. Softmax subtracts the largest score first, sigmoid uses
// log(1 + exp(s)) = max(s, 0) + log1p(exp(-|s|)), so that no exponential overflows.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/cross_entropy/cross_entropy.h"

namespace yoke::reference {
namespace {

class Softmax : public CrossEntropyKernel {
 public:
  explicit Softmax(const CrossEntropyShape& shape) : s_(shape) {}

  void Forward(const CrossEntropyCall& call) override {
    for (int64_t n = 0; n < s_.batch; ++n) {
      const float* row = call.scores + n * s_.outputs;
      const Targets targets = TargetsOf(call.labels, s_, n);
      const double log_sum = LogSum(row);
      double loss = 0;
      for (int64_t k = 0; k < targets.count; ++k)
        loss += (log_sum - row[targets.ids[k]]) / static_cast<double>(targets.count);
      call.losses[n] = static_cast<float>(loss);
    }
  }

  void Backward(const CrossEntropyCall& call) override {
    for (int64_t n = 0; n < s_.batch; ++n) {
      const float* row = call.scores + n * s_.outputs;
      float* g = call.gradient + n * s_.outputs;
      const Targets targets = TargetsOf(call.labels, s_, n);
      const double log_sum = LogSum(row), scale = 1.0 / static_cast<double>(s_.MeanOver());
      for (int64_t o = 0; o < s_.outputs; ++o)
        g[o] = targets.count ? static_cast<float>(scale * std::exp(row[o] - log_sum)) : 0.0F;
      for (int64_t k = 0; k < targets.count; ++k)
        g[targets.ids[k]] -= static_cast<float>(scale / static_cast<double>(targets.count));
    }
  }

  std::string name() const override { return "reference"; }

 private:
  double LogSum(const float* row) const {
    const double largest = *std::max_element(row, row + s_.outputs);
    double sum = 0;
    for (int64_t o = 0; o < s_.outputs; ++o) sum += std::exp(row[o] - largest);
    return largest + std::log(sum);
  }

  CrossEntropyShape s_;
};

class SigmoidLoss : public CrossEntropyKernel {
 public:
  explicit SigmoidLoss(const CrossEntropyShape& shape) : s_(shape) {}

  void Forward(const CrossEntropyCall& call) override {
    for (int64_t n = 0; n < s_.batch; ++n) {
      const float* row = call.scores + n * s_.outputs;
      const Targets targets = TargetsOf(call.labels, s_, n);
      double loss = 0;
      for (int64_t o = 0; o < s_.outputs; ++o)
        loss += (row[o] > 0 ? row[o] : 0.0) + std::log1p(std::exp(-std::abs(double(row[o]))));
      for (int64_t k = 0; k < targets.count; ++k) loss -= row[targets.ids[k]];
      call.losses[n] = static_cast<float>(loss);
    }
  }

  void Backward(const CrossEntropyCall& call) override {
    const double scale = 1.0 / static_cast<double>(s_.MeanOver());
    for (int64_t n = 0; n < s_.batch; ++n) {
      const float* row = call.scores + n * s_.outputs;
      float* g = call.gradient + n * s_.outputs;
      const Targets targets = TargetsOf(call.labels, s_, n);
      for (int64_t o = 0; o < s_.outputs; ++o)
        g[o] = static_cast<float>(scale / (1 + std::exp(-double(row[o]))));
      for (int64_t k = 0; k < targets.count; ++k) g[targets.ids[k]] -= static_cast<float>(scale);
    }
  }

  std::string name() const override { return "reference"; }

 private:
  CrossEntropyShape s_;
};

}  // namespace

std::unique_ptr<CrossEntropyKernel> CrossEntropies(const CrossEntropyShape& shape) {
  if (shape.function == CrossEntropy::kSigmoid) return std::make_unique<SigmoidLoss>(shape);
  return std::make_unique<Softmax>(shape);
}

}  // namespace yoke::reference

namespace yoke {

void CheckLabels(const Batch& batch, const CrossEntropyShape& shape) {
  const auto size = static_cast<size_t>(batch.size);
  const bool classes = !batch.classes.empty();
  Check(classes ? batch.classes.size() == size : batch.labels.offsets.size() == size + 1,
        "a loss needs a class or a label set for each example");
  const bool binary = classes && shape.outputs == 1 && shape.function == CrossEntropy::kSigmoid;
  const int64_t limit = binary ? 2 : shape.outputs;
  for (const int32_t id : classes ? batch.classes : batch.labels.ids)
    Check(id >= 0 && id < limit, "a label is not among the model's outputs");
}

}  // namespace yoke
