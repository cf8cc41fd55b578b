// RowProducts: the products of small groups, row by row: no row is copied, and its gradient is
// computed at once from all examples that use it.
#pragma once

#include <memory>
#include <vector>

#include "kernels/active_rows/active_rows.h"
#include "model/layers/lsh_linear/products.h"

namespace yoke::layer {

/// For dense input, always in f32: reading f32 rows is most of the work. Cost of a step: 6 inputs
/// operations an active id and example; each touched row is read twice, its gradient written once.
class RowProducts : public Products {
 public:
  RowProducts(const LshPlanShape& shape, const PlanRequest& request);
  void Forward(const LayerCall& call, LshCounts& counts) override;
  void Backward(const LayerCall& call, LshCounts& counts) override;
  int64_t WorkingBytes() const override;

 private:
  /// The uses of the set's ids, by row.
  void ListUses(const ActiveSet& set);
  void ListGroup(const ActiveSet& set, const ActiveGroup& group, RowUse* uses);
  /// Corrects and pads the values.
  void Finish(const LayerCall& call) const;
  ActiveRowsCall CallOf(const LayerCall& call) const;

  LshPlanShape shape_;
  PlanRequest request_;
  std::unique_ptr<ActiveRowsKernel> kernel_;
  UsedRowList used_;
  std::vector<int64_t> starts_;  ///< The first use of each group, before they are sorted.
  std::vector<ExamplePlaces> places_;
  Buffer scratch_;
};

}  // namespace yoke::layer
