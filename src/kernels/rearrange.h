// Rearrange: pads and crops images, and shuffles channels.
#pragma once

#include "tensor/tensor.h"

namespace yoke {

/// output [batch, channels, height, width] = the input placed at (top, left), surrounded by
/// `value`. Same type (f32 or bf16) and layout. On the caller's kernel threads.
void PadImages(const Tensor& input, int64_t top, int64_t left, float value, const Tensor& output);
/// The reverse: output = the part of the input that starts at (top, left).
void CropImages(const Tensor& input, int64_t top, int64_t left, const Tensor& output);

/// Transposes channels from [groups, n] to [n, groups]: output channel j * groups + i is input
/// channel i * n + j, for images and rows. Calling it with n as groups reverses it. Same type and
/// layout.
void ShuffleChannels(const Tensor& input, int64_t groups, const Tensor& output);

}  // namespace yoke
