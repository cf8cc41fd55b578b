// Batch: the examples of one step: input, labels and ids. Its storage is reused from step to step
// and only grows.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/device.h"
#include "tensor/tensor.h"

namespace yoke {

class BatchArrays;

/// Growing CSR storage for a batch.
struct SparseStorage {
  int64_t width = 0;
  std::vector<int64_t> offsets;
  std::vector<int32_t> ids;
  std::vector<float> values;  ///< Empty when all values are 1.

  void Clear() { offsets.assign(1, 0), ids.clear(), values.clear(); }
  SparseRows View() const {
    return {.rows = static_cast<int64_t>(offsets.size()) - 1,
            .width = width,
            .offsets = offsets.data(),
            .ids = ids.data(),
            .values = values.empty() ? nullptr : values.data()};
  }
};

/// A batch's targets, wherever they lie: one class an example, a set of labels each, or numbers.
struct Labels {
  const int32_t* classes = nullptr;
  SparseRows sets = {};
  const float* targets = nullptr;  ///< Batch::targets.
  const float* weights = nullptr;  ///< Batch::weights; null: every example counts 1.
};

/// How stored numbers become input, for all or by channel, the first axis of an example: stored *
/// factor + offset.
struct ChannelScales {
  int64_t channels = 1;
  /// [3, channels]: factors, offsets, and the input that black is, which surrounds an image.
  const float* values = nullptr;
};

/// The part of an image that takes its place, stretched to its size. It may lie partly outside.
struct ImageCrop {
  int32_t top = 0;
  int32_t left = 0;
  int32_t height = 0;
  int32_t width = 0;
  int32_t mirrored = 0;  ///< 1: of the image mirrored left to right.

  bool operator==(const ImageCrop&) const = default;
};

class Batch {
 public:
  int64_t size = 0;  ///< Examples in this batch.
  uint64_t seed = 0;
  /// With the seed and an example's id, the key of its augmentation and dropout.
  int64_t epoch = 0;
  std::vector<int64_t> examples;  ///< Ids of the examples in the data set.

  /// Dense input [size, axes...] in plain layout; null data when the input is sparse. f32, or u8:
  /// bytes as stored, which `scales` and `crops` make input (kernels/normalize.h).
  Tensor dense;
  std::vector<float> scales;     ///< Of bytes: ChannelScales::values.
  std::vector<ImageCrop> crops;  ///< Of bytes: of each image, or empty.
  SparseStorage sparse;          ///< Sparse input, one row per example.
  bool is_sparse = false;

  std::vector<int32_t> classes;  ///< One class per example, or empty.
  SparseStorage labels;          ///< Label sets (values empty), or empty.
  /// Regression: [size, outputs], normalized as DataInfo says, or empty.
  std::vector<float> targets;
  std::vector<float> weights;  ///< How much each example counts in the loss, or empty: 1 each.

  /// Of a part of a step's batch, for hashed layers and the loss above them: the examples that the
  /// gradient is a mean over (0: `size`), and whether another part came before, so that it is the
  /// same step.
  int64_t mean_over = 0;
  bool goes_on = false;

  /// Copies of these arrays on a device, which may be under way (BatchArrays::Send). Null: a plan
  /// on a device copies them itself.
  const BatchArrays* sent = nullptr;

  std::vector<int64_t> scratch;  ///< For a reader that wraps another one, while it reads.

  Labels Targets() const {
    Labels all;
    if (!weights.empty()) all.weights = weights.data();
    if (!classes.empty())
      all.classes = classes.data();
    else if (!targets.empty())
      all.targets = targets.data();
    else
      all.sets = labels.View();
    return all;
  }

  /// Makes `dense` a tensor of [size, axes...] in this batch's storage, which only grows.
  void ResizeDense(const Shape& example, DType type = DType::kF32) {
    dense = {.shape = example.Batched(size), .type = type};
    if (storage_.bytes() < dense.Bytes()) storage_ = Buffer(Cpu(), dense.Bytes());
    dense.data = storage_.data();
  }

 private:
  Buffer storage_;
};

/// "classes": one each; "labels": a set each; "targets": numbers.
inline const char* LabelKind(bool regression, bool multi_label) {
  return regression ? "targets" : multi_label ? "labels" : "classes";
}

}  // namespace yoke
