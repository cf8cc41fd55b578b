// The attributes of nodes with a sliding window.
#pragma once

#include "model/onnx/importer.h"

namespace yoke::onnx_file {

/// Height and width of each.
struct WindowAttributes {
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;  ///< For both sides, or top, left, bottom, right.
  std::vector<int64_t> dilation = {1, 1};
  bool ceil_mode = false;

  /// As the options `kernel`, `stride` and `padding` of a layer.
  Table Options() const;
};

/// Throws UserError if no layer supports the window. `kernel` is the kernel size from the node's
/// weights, or empty.
WindowAttributes ReadWindow(const Node& node, const Shape& image, std::vector<int64_t> kernel);

}  // namespace yoke::onnx_file
