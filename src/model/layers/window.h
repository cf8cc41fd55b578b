// The options of layers with a sliding window: kernel, stride, padding.
#pragma once

#include "kernels/image.h"
#include "model/layers/support.h"

namespace yoke::layer {

/// One number for both axes or [height, width].
struct Pair {
  int64_t height = 0;
  int64_t width = 0;
};
/// Reads an option declared as kInts. Throws UserError unless it holds one or two numbers, none
/// below `minimum`.
Pair PairOption(const Options& options, std::string_view name, int64_t minimum);

struct WindowPair {
  Window rows, columns;
};

/// Widths of a border around an image.
struct Border {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
};

/// Reads the option `padding`: one number, [height, width] or [top, left, bottom, right]. Throws
/// UserError.
Border BorderOption(const Options& options);

/// Reads `kernel`, `stride` (the kernel's size unless given) and `padding`. Throws UserError.
WindowPair WindowOptions(const Options& options);

/// An option with one number for both axes or [height, width]; required if it has no fallback.
OptionSpec AxesOption(const std::string& name, Value fallback, const std::string& help);
/// The option `padding`; `help` is the beginning of its help sentence.
OptionSpec BorderOptionSpec(const std::string& help);

}  // namespace yoke::layer
