// Residual networks: blocks of convolutions whose output is added to their input.
#pragma once

#include <array>

#include "model/graph.h"

namespace yoke::zoo {

/// The network for large images, with this many blocks in each of its four stages. `bottleneck`:
/// blocks of 1x1, 3x3 (with the stride, as in torchvision) and 1x1 convolutions instead of two 3x3.
/// He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition" (2015), table 1.
List BuildResnet(const char* name, const std::array<int, 4>& blocks, bool bottleneck,
                 const ModelTask& task);

/// The network for 32x32 images with `blocks` blocks in each of three stages of 16, 32 and 64
/// channels (section 4.2 of the paper; parameter-free shortcuts, its option A).
List BuildSmallResnet(const char* name, int blocks, const ModelTask& task);

}  // namespace yoke::zoo
