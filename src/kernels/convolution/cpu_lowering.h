// Lowering: writes the windows of a channels-last image as rows of a matrix (im2col), and sums rows
// back (col2im).
#pragma once

#include "kernels/convolution/convolution.h"

namespace yoke::cpu {

/// The windows of one group of input channels.
class Lowering {
 public:
  Lowering(const ConvolutionShape& shape, int64_t group);
  /// Row (y, x) of `rows` is the window of output pixel (y, x): [kernel height][kernel width]
  /// [channels of the group], zeros outside the image.
  void Lower(const float* image, float* rows) const;
  /// Adds the rows back to the image under each window; writes only the group's channels.
  void AddBack(const float* rows, float* image) const;
  /// Reorders the weights of all groups to match the rows: [outputs][kernel height][kernel width]
  /// [channels of a group], from [outputs][channels of a group][kernel height][kernel width].
  void PackWeights(const float* weights, float* packed) const;
  /// weights += packed, converting between their orders.
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
