// Weight gradients of depthwise convolutions (each channel a group of its own), channels last, for
// the windows that the library has only slow loops for: those of more than 3x3, and with gaps.
#pragma once

#include <memory>

#include "kernels/cpu/convolution_weights.h"

namespace yoke::cpu {

/// Null where the library does it better or alone.
std::unique_ptr<WeightGradient> MakeDepthwiseWeightGradient(const ConvolutionShape& shape);

}  // namespace yoke::cpu
