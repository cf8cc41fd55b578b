// Shortcut: every stride-th pixel of an image, with additional channels of zeros.
#pragma once

#include "kernels/image.h"

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

/// One pass over memory, on the caller's kernel threads.
void TakeShortcut(const ShortcutShape& shape, const void* input, void* output);
/// The gradient of the input, zero at skipped pixels.
void TakeShortcutBack(const ShortcutShape& shape, const void* output_gradient,
                      void* input_gradient);

}  // namespace yoke
