// LshPlan: the training step of a hashed layer with active sets shared by groups of examples.
#pragma once

#include <memory>
#include <vector>

#include "lsh/sampler.h"
#include "model/layer.h"
#include "model/layers/lsh_linear/products.h"

namespace yoke::layer {

/// Groups a batch's examples and chooses each group's active ids; Products computes with them (Chen
/// et al., "SLIDE", 2020, section 3.1, with groups of one example).
class LshPlan : public LayerPlan, public WorkingMemory {
 public:
  LshPlan(const LshPlanShape& shape, const PlanRequest& request);
  void CheckBatch(const Batch& batch) const override;
  void Forward(const LayerCall& call) override;
  void Backward(const LayerCall& call) override;
  int64_t WorkingBytes() const override;
  int64_t RowGradientBytes() const override;

 private:
  /// Working memory of one thread of the team, or of a group that threads share.
  struct Local {
    std::unique_ptr<Sampler> hard, random;
    std::vector<uint32_t> keys;
  };
  /// The state that the layer made, or the plan's own.
  LshState& StateOf(const LayerCall& call);
  /// Adds up what a step's active sets hold.
  void Count(const ActiveSet& set, LshCounts& counts) const;
  void FindKeys(const LayerCall& call);
  void KeysOfActive(const ActiveSet& input);
  void MakeGroups(const LayerCall& call);
  void ChooseIds(const LayerCall& call);
  void BeginChoice(const LayerCall& call, size_t group, Local& own, int64_t parts);
  void EndChoice(const LayerCall& call, size_t group, Local& own);
  void AddLabels(const LayerCall& call, const ActiveGroup& group, std::vector<int32_t>& ids) const;
  void LayOut(ActiveSet& set) const;

  LshPlanShape shape_;
  PlanRequest request_;
  std::unique_ptr<Products> products_;
  std::unique_ptr<LshState> own_state_;  ///< For callers without a state.
  LshTables tables_;                     ///< Of this step.
  std::vector<uint32_t> keys_;           ///< [batch, L]
  std::vector<std::vector<int32_t>> chosen_;
  std::vector<int64_t> label_counts_, hard_counts_;
  std::vector<Local> locals_;
};

}  // namespace yoke::layer
