// Convert: converts tensors between types and image layouts.
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// Copies `from` to `to`, which has the same shape but may have another type (f32, bf16) or layout.
/// Layouts may differ only for [batch, channels, height, width]. Runs on the caller's kernel
/// threads.
void Convert(const Tensor& from, const Tensor& to);

}  // namespace yoke
