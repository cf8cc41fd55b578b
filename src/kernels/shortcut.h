// Shortcut: every stride-th pixel of an image, with channels of zeros behind its own.
#pragma once

#include "kernels/image.h"

namespace yoke {

struct ShortcutShape {
  int64_t batch = 0;
  int64_t channels = 0;  ///< Of the input.
  int64_t height = 0;
  int64_t width = 0;
  int64_t outputs = 0;  ///< Channels of the output: at least as many.
  int64_t stride = 1;
  DType type = DType::kF32;        ///< f32 or bf16, of input and output.
  Layout layout = Layout::kPlain;  ///< Of input and output.

  Shape Input() const { return {batch, channels, height, width}; }
  Shape Output() const {
    return {batch, outputs, (height - 1) / stride + 1, (width - 1) / stride + 1};
  }
};

/// One pass over memory, on the caller's kernel threads.
void TakeShortcut(const ShortcutShape& shape, const void* input, void* output);
/// The gradient of the input: zero in pixels that were left out.
void TakeShortcutBack(const ShortcutShape& shape, const void* output_gradient,
                      void* input_gradient);

}  // namespace yoke
