// Weight gradients of channels-last depthwise convolutions (each channel is its own group), for
// windows where the library is slow: larger than 3x3, or dilated.
#pragma once

#include <memory>

#include "kernels/convolution/cpu_weights.h"

namespace yoke::cpu {

/// Returns null where the library is better or the only option.
std::unique_ptr<WeightGradient> MakeDepthwiseWeightGradient(const ConvolutionShape& shape);

}  // namespace yoke::cpu
