// Shortcut: every stride-th pixel of an image, with additional channels of zeros.
#pragma once

#include <memory>

#include "kernels/image.h"
#include "kernels/kernel.h"

namespace yoke {

struct ShortcutShape {
  int64_t batch = 0;
  int64_t channels = 0;  ///< Input channels.
  int64_t height = 0;
  int64_t width = 0;
  int64_t outputs = 0;  ///< Output channels, at least as many.
  int64_t stride = 1;
  DType type = DType::kF32;        ///< Type of input and output: f32 or bf16.
  Layout layout = Layout::kPlain;  ///< Layout of input and output.

  Shape Input() const { return {batch, channels, height, width}; }
  Shape Output() const {
    return {batch, outputs, (height - 1) / stride + 1, (width - 1) / stride + 1};
  }
};

struct ShortcutCall {
  const void* input = nullptr;
  void* output = nullptr;
  const void* output_gradient = nullptr;
  void* input_gradient = nullptr;  ///< Zero at skipped pixels.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, output, output_gradient, input_gradient);
  }
};

using ShortcutKernel = Kernel<ShortcutCall>;

/// One pass over memory, on the caller's kernel threads.
std::unique_ptr<ShortcutKernel> MakeShortcut(const ShortcutShape& shape, const Target& target = {});

}  // namespace yoke
