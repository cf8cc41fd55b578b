// Join: several tensors become one: their sum, or one behind the other along channels.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace yoke {

/// output = sum of the inputs, or max(0, sum) with `relu`; all of one shape, type (f32 or bf16) and
/// layout; it may be one of them. One pass over memory, on the caller's kernel threads.
void Sum(std::span<const Tensor> inputs, bool relu, const Tensor& output);

/// Lays the inputs [batch, channels, ...] behind each other along channels, or takes them apart
/// again. Equal type and layout; all axes but channels agree.
void Concatenate(std::span<const Tensor> inputs, const Tensor& output);
/// Tensors of `parts` with null data are left out.
void TakeApart(const Tensor& whole, std::span<const Tensor> parts);

}  // namespace yoke
