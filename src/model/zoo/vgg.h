// VGG networks: stages of 3x3 convolutions, each followed by a 2x2 pool, and three linear layers.
#pragma once

#include <array>

#include "model/graph.h"

namespace yoke::zoo {

/// The network with this many convolutions in each of its five stages. Simonyan and Zisserman,
/// "Very Deep Convolutional Networks for Large-Scale Image Recognition" (2014), table 1.
List BuildVgg(const char* name, const std::array<int, 5>& convolutions, const ModelTask& task);

}  // namespace yoke::zoo
