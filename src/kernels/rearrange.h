// Rearrange: images with a border, and channels in another order.
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// output [batch, channels, height, width] = the input from (top, left) on, `value` around it.
/// Equal type (f32 or bf16) and layout. On the caller's kernel threads.
void PadImages(const Tensor& input, int64_t top, int64_t left, float value, const Tensor& output);
/// The other way: what lies at (top, left) of the input, as large as the output.
void CropImages(const Tensor& input, int64_t top, int64_t left, const Tensor& output);

/// Channels [groups, n] become [n, groups]: output channel j * groups + i is input channel i * n +
/// j (of images and rows). With n in place of groups it goes back. Equal type and layout.
void ShuffleChannels(const Tensor& input, int64_t groups, const Tensor& output);

}  // namespace yoke
