// The attributes of nodes that move a window over an image.
#pragma once

#include "model/onnx/importer.h"

namespace yoke::onnx_file {

/// Height and width of each.
struct WindowAttributes {
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;  ///< Of both sides, or top, left, bottom, right.
  std::vector<int64_t> dilation = {1, 1};
  bool ceil_mode = false;

  /// As the options `kernel`, `stride` and `padding` of a layer.
  Table Options() const;
};

/// Throws UserError where no layer moves its window so. `kernel` is what the node's weights say, or
/// empty.
WindowAttributes ReadWindow(const Node& node, const Shape& image, std::vector<int64_t> kernel);

}  // namespace yoke::onnx_file
