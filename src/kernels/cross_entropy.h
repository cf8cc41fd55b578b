// Cross-entropy of scores and labels, per example, and the gradient of the batch's mean.
#pragma once

#include <memory>
#include <string>

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

/// Scores are f32 [batch, outputs]. Targets are the batch's label sets if it has any, otherwise its
/// classes; for kSigmoid with one output, the class itself, 0 or 1. Finite scores give finite
/// losses; a NaN score gives a NaN loss.
class CrossEntropyKernel {
 public:
  virtual ~CrossEntropyKernel() = default;
  /// losses: [batch]
  virtual void Forward(const float* scores, const Batch& labels, float* losses) = 0;
  /// gradient: [batch, outputs], the gradient of the mean loss.
  virtual void Backward(const float* scores, const Batch& labels, float* gradient) = 0;
  virtual std::string name() const = 0;
};

std::unique_ptr<CrossEntropyKernel> MakeCrossEntropy(const CrossEntropyShape& shape,
                                                     bool reference = false);

/// Throws Error unless `batch` has a class or a label set for each example, all within the outputs.
void CheckLabels(const Batch& batch, const CrossEntropyShape& shape);

/// The target outputs of one example: ids[0..count).
struct Targets {
  const int32_t* ids = nullptr;
  int64_t count = 0;
};
inline Targets TargetsOf(const Batch& batch, const CrossEntropyShape& shape, int64_t example) {
  static constexpr int32_t kZero = 0;
  if (!batch.classes.empty()) {
    const int32_t* id = &batch.classes[example];
    if (shape.outputs == 1 && shape.function == CrossEntropy::kSigmoid) return {&kZero, *id};
    return {id, 1};
  }
  const auto& offsets = batch.labels.offsets;
  return {batch.labels.ids.data() + offsets[example], offsets[example + 1] - offsets[example]};
}

}  // namespace yoke
