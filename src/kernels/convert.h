// Convert: numbers from one type and image layout to another.
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// Copies `from` into `to`, which has the same shape and another type (f32, bf16) or layout.
/// Layouts differ only for [batch, channels, height, width]. Runs on the caller's kernel threads.
void Convert(const Tensor& from, const Tensor& to);

}  // namespace yoke
