// Products: the arithmetic of a hashed layer's training step: values of the active ids, and from
// their gradient those of the touched rows and of the input.
#pragma once

#include <memory>

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
  /// Bytes of a step, about: its own, and the active set's values and their gradient.
  virtual int64_t WorkingBytes() const = 0;
};

/// Those that are fastest for the shape.
std::unique_ptr<Products> MakeProducts(const LshPlanShape& shape, const PlanRequest& request);

/// Ids of a set besides labels, about: without fill no more than its buckets hold.
double ActiveOf(const LshSettings& settings);
/// Of a batch.
double SetsOf(const LshSettings& settings, int64_t batch);
/// Different ones of so many ids, if they are independent.
double TouchedOf(const LshSettings& settings, double ids);

/// Of the group's columns [begin, end): corrects the scores of random ids, and excludes padding
/// from the loss.
void FinishScores(const LshSettings& settings, const LayerCall& call, const ActiveGroup& group,
                  int64_t begin, int64_t end);

}  // namespace yoke::layer
