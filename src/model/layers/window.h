// The options of layers that move a window over an image: kernel, stride, padding.
#pragma once

#include "kernels/image.h"
#include "model/layers/support.h"

namespace yoke::layer {

struct WindowPair {
  Window rows, columns;
};

/// Zeros or a border around an image.
struct Border {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

/// Reads the option `padding`: one number, [height, width] or [top, left, bottom, right]. Throws
/// UserError.
Border BorderOption(const Options& options);

/// Reads `kernel`, `stride` (the kernel's size unless given) and `padding`. Throws UserError.
WindowPair WindowOptions(const Options& options);

/// An option of one number for both axes or [height, width]; required where it has no fallback.
OptionSpec AxesOption(const std::string& name, Value fallback, const std::string& help);
/// `padding`; `help` says what it is, a sentence without its end.
OptionSpec BorderOptionSpec(const std::string& help);

}  // namespace yoke::layer
