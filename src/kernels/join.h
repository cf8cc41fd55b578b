// Join: sums tensors, or concatenates them along channels.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace yoke {

/// output = sum of the inputs, or max(0, sum) with `relu`. All have the same shape, type (f32 or
/// bf16) and layout; output may be one of the inputs. One pass over memory, on the caller's kernel
/// threads.
void Sum(std::span<const Tensor> inputs, bool relu, const Tensor& output);

/// Concatenates the inputs [batch, channels, ...] along channels; TakeApart does the reverse. They
/// have the same type, layout and axes except channels.
void Concatenate(std::span<const Tensor> inputs, const Tensor& output);
/// Skips tensors of `parts` with null data.
void TakeApart(const Tensor& whole, std::span<const Tensor> parts);

}  // namespace yoke
