// LshPlan: the training step of a hashed layer with active sets shared by groups of examples.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "kernels/linear/linear.h"
#include "kernels/rows.h"
#include "lsh/sampler.h"
#include "model/layer.h"
#include "model/layers/lsh_linear/state.h"
#include "model/working_memory.h"

namespace yoke::layer {

struct LshPlanShape {
  LshSettings settings;
  bool bias = true;
  bool relu = false;
  int index = 0;  ///< Index of the layer: part of the key of its draws.
};

/// Memory that only grows; 64-byte aligned.
class ScratchBuffer {
 public:
  template <typename T>
  T* Get(int64_t count) {
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    if (buffer_.bytes() < bytes) buffer_ = Buffer(Cpu(), bytes + bytes / 4);
    return buffer_.As<T>();
  }
  template <typename T>
  T* As() const {
    return buffer_.As<T>();
  }

 private:
  Buffer buffer_;
};

/// For a group of G examples x [G, inputs] with active ids A: y = x W[A]^T + b[A]; backward
/// computes the gradients of these rows only (Chen et al., "SLIDE", 2020, section 3.1, with G = 1).
/// Cost: 6 G |A| inputs operations; the rows W[A] are read once per group.
class LshPlan : public LayerPlan, public WorkingMemory {
 public:
  LshPlan(const LshPlanShape& shape, const PlanRequest& request);
  void Forward(const LayerCall& call) override;
  void Backward(const LayerCall& call) override;
  int64_t WorkingBytes() const override;

 private:
  /// One group's dense problem, kept from Forward to Backward.
  struct Work {
    std::vector<int32_t> columns;  ///< Nonzero inputs; empty: all.
    int64_t width = 0;             ///< Row length of the blocks: columns, rounded up.
    const void* input = nullptr;   ///< [examples, width]
    ScratchBuffer dense, input_scratch, weight, bias, output, output_gradient, weight_gradient,
        bias_gradient;
  };

  /// The state that the layer made, or the plan's own.
  LshState& StateOf(const LayerCall& call);
  /// Adds up what a step's active sets hold.
  void Count(const ActiveSet& set, LshCounts& counts) const;
  /// Divides the wall time of a region among gather and product.
  void Divide(double seconds, LshCounts& counts);
  void FindKeys(const LayerCall& call);
  void KeysOfActive(const ActiveSet& input);
  void MakeGroups(const LayerCall& call);
  void ChooseIds(const LayerCall& call);
  void ChooseFor(const LayerCall& call, size_t group);
  void AddLabels(const LayerCall& call, const ActiveGroup& group, std::vector<int32_t>& ids) const;
  void LayOut(ActiveSet& set) const;
  void TakeInput(const LayerCall& call, size_t group);
  void TakeSparse(const LayerCall& call, const ActiveGroup& group, Work& work);
  void Multiply(const LayerCall& call, size_t group);
  void FinishScores(const LayerCall& call, const ActiveGroup& group) const;
  void GradientsOf(const LayerCall& call, size_t group);
  void ReturnInputGradient(const LayerCall& call, size_t group, const void* gradient);
  void Merge(const LayerCall& call);
  bool bf16() const { return type_ == DType::kBf16; }
  /// `from` in the products' type: itself, or converted into `scratch`.
  void* ToOperands(float* from, int64_t count, ScratchBuffer& scratch) const;
  /// Copies elements of the products' type to f32.
  void ToF32(const void* from, int64_t count, float* to) const;

  LshPlanShape shape_;
  PlanRequest request_;
  DType type_;                           ///< Type of the products' operands.
  std::unique_ptr<LshState> own_state_;  ///< For callers without a state.
  LshTables tables_;                     ///< Of this step.
  std::vector<uint32_t> keys_;           ///< [batch, L]
  std::vector<std::vector<int32_t>> chosen_;
  std::vector<int64_t> label_counts_, hard_counts_;
  /// Working memory of one thread of the team.
  struct Local {
    std::unique_ptr<Sampler> hard, random;
    std::vector<uint32_t> keys;
    std::map<std::array<int64_t, 4>, std::unique_ptr<LinearKernel>> kernels;
    ScratchBuffer scratch, input_gradient;
    double gather = 0, product = 0;  ///< Seconds, of a region.
  };
  LinearKernel& KernelFor(const ActiveGroup& group, int64_t inputs);
  Local& local();

  std::vector<Local> locals_;
  std::vector<Work> works_;
  RowMerge merge_;
  std::vector<RowBlock> blocks_;
};

}  // namespace yoke::layer
