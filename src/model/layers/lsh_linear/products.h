// Products: the arithmetic of a hashed layer's training step: values of the active ids, and from
// their gradient those of the touched rows and of the input.
#pragma once

#include "model/layer.h"
#include "model/layers/lsh_linear/state.h"

namespace yoke::layer {

struct LshPlanShape {
  LshSettings settings;
  bool bias = true;
  bool relu = false;
  int index = 0;  ///< Index of the layer: part of the key of its draws.
};

constexpr int64_t kPad = 64;  ///< Block sizes are multiples of it, so that few kernels suffice.

class Products {
 public:
  virtual ~Products() = default;
  /// Writes the values of the output's active set, whose ids are known. Adds its time to `counts`.
  virtual void Forward(const LayerCall& call, LshCounts& counts) = 0;
  /// After Forward of the same step. Adds its time to `counts`.
  virtual void Backward(const LayerCall& call, LshCounts& counts) = 0;
  /// As of WorkingMemory.
  virtual int64_t WorkingBytes() const = 0;
};

}  // namespace yoke::layer
