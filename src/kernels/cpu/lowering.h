// Lowering: windows of a channels-last image as the rows of a matrix, and the sum back (im2col,
// col2im).
#pragma once

#include "kernels/convolution.h"

namespace yoke::cpu {

/// The windows of one group of input channels.
class Lowering {
 public:
  Lowering(const ConvolutionShape& shape, int64_t group);
  /// Row (y, x) of `rows` is the window of output pixel (y, x): [kernel height][kernel width]
  /// [channels of the group], zeros outside the image.
  void Lower(const float* image, float* rows) const;
  /// image += what lies under each window; writes the group's channels only.
  void AddBack(const float* rows, float* image) const;
  /// The weights of all groups in the order of such rows, [outputs][kernel height][kernel width]
  /// [channels of a group], from [outputs][channels of a group][kernel height][kernel width].
  void PackWeights(const float* weights, float* packed) const;
  /// weights += packed, each in its order.
  void AddWeights(const float* packed, float* weights) const;
  int64_t width() const { return s_.rows.size * run_; }

 private:
  template <typename Copy>
  void ForEachRun(const Copy& copy) const;
  template <typename Take>
  void ForEachWeight(const Take& take) const;

  ConvolutionShape s_;
  Shape out_;
  int64_t first_, channels_, run_;
};

}  // namespace yoke::cpu
