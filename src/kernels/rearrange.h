// Rearrange: pads and crops images, and shuffles channels.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

struct PadShape {
  int64_t top = 0;
  int64_t left = 0;
  float value = 0;
};

/// Of the same type (f32 or bf16) and layout.
struct PadCall {
  Tensor image;   ///< [batch, channels, height, width]
  Tensor padded;  ///< The image placed at (top, left), surrounded by `value`.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(image.data, padded.data);
  }
};

using PadKernel = Kernel<PadCall>;

/// Forward pads, Backward crops: the image becomes the part of `padded` that starts at (top, left).
/// On the caller's kernel threads.
std::unique_ptr<PadKernel> MakePad(const PadShape& shape, const Target& target = {});

struct ShuffleShape {
  int64_t groups = 1;
};

struct ShuffleCall {
  Tensor input;
  Tensor output;  ///< Of the same type and layout.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input.data, output.data);
  }
};

using ShuffleKernel = Kernel<ShuffleCall>;

/// Forward transposes channels from [groups, n] to [n, groups]: output channel j * groups + i is
/// input channel i * n + j, for images and rows. Backward does the reverse, from input to output,
/// too.
std::unique_ptr<ShuffleKernel> MakeShuffle(int64_t groups, const Target& target = {});

}  // namespace yoke
