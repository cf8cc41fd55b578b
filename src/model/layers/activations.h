// Activations: the operations of layers that apply a function to each element.
#pragma once

#include <vector>

#include "kernels/makers.h"

namespace yoke::layer {

/// Of those whose derivative follows from the input. (The others are forms of one: kActivation.)
std::vector<const OperationEntry*> ActivationOperations();

}  // namespace yoke::layer
