// Cross-entropy of scores and labels, per example, and the gradient of the batch's mean.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "tensor/batch.h"

namespace yoke {

enum class CrossEntropy : uint8_t {
  kSoftmax,  ///< log sum exp(s) - sum of t s, where t is 1 at the class or 1/|labels| at each
             ///< label. Without labels: 0.
  kSigmoid,  ///< Sum over outputs of log(1 + exp(s)) - t s, where t is 1 at each label.
};

struct CrossEntropyShape {
  CrossEntropy function = CrossEntropy::kSoftmax;
  int64_t batch = 0;
  int64_t outputs = 0;
  int64_t mean_over = 0;  ///< Number of examples in the gradient's mean; 0: batch.
  int64_t MeanOver() const { return mean_over > 0 ? mean_over : batch; }
};

/// Scores are f32 [batch, outputs]. For kSigmoid with one output the target is the class itself, 0
/// or 1. Finite scores give finite losses; a NaN score gives a NaN loss.
struct CrossEntropyCall {
  const float* scores = nullptr;
  Labels labels;
  float* losses = nullptr;    ///< [batch], written by Forward.
  float* gradient = nullptr;  ///< [batch, outputs], written by Backward: of the mean loss.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(scores, labels.classes, labels.sets.offsets, labels.sets.ids, losses, gradient);
  }
};

using CrossEntropyKernel = Kernel<CrossEntropyCall>;

std::unique_ptr<CrossEntropyKernel> MakeCrossEntropy(const CrossEntropyShape& shape,
                                                     const Target& target = {});

/// Throws Error unless `batch` has a class or a label set for each example, all within the outputs.
void CheckLabels(const Batch& batch, const CrossEntropyShape& shape);

/// The target outputs of one example: ids[0..count).
struct Targets {
  const int32_t* ids = nullptr;
  int64_t count = 0;
};
inline Targets TargetsOf(const Labels& labels, const CrossEntropyShape& shape, int64_t example) {
  static constexpr int32_t kZero = 0;
  if (labels.classes) {
    const int32_t* id = labels.classes + example;
    if (shape.outputs == 1 && shape.function == CrossEntropy::kSigmoid) return {&kZero, *id};
    return {id, 1};
  }
  const int64_t* offsets = labels.sets.offsets;
  return {labels.sets.ids + offsets[example], offsets[example + 1] - offsets[example]};
}

}  // namespace yoke
