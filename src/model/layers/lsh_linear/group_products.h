// GroupProducts: three small dense products for each group of examples that shares an active set.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "kernels/linear/linear.h"
#include "kernels/rows.h"
#include "model/layers/lsh_linear/products.h"

namespace yoke::layer {

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
/// computes the gradients of these rows only. Cost: 6 G |A| inputs operations; the rows W[A] are
/// copied into a dense block once per group.
class GroupProducts : public Products {
 public:
  GroupProducts(const LshPlanShape& shape, const PlanRequest& request);
  void Forward(const LayerCall& call, LshCounts& counts) override;
  void Backward(const LayerCall& call, LshCounts& counts) override;
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
  /// Working memory of one thread of the team.
  struct Local {
    std::map<std::array<int64_t, 4>, std::unique_ptr<LinearKernel>> kernels;
    ScratchBuffer scratch, input_gradient;
    double gather = 0, product = 0;  ///< Seconds, of a region.
  };

  /// Divides the wall time of a region among gather and product.
  void Divide(double seconds, LshCounts& counts);
  void TakeInput(const LayerCall& call, size_t group);
  void TakeSparse(const LayerCall& call, const ActiveGroup& group, Work& work);
  void Multiply(const LayerCall& call, size_t group);
  void GradientsOf(const LayerCall& call, size_t group);
  void ReturnInputGradient(const LayerCall& call, size_t group, const void* gradient);
  void Merge(const LayerCall& call);
  bool bf16() const { return type_ == DType::kBf16; }
  /// `from` in the products' type: itself, or converted into `scratch`.
  void* ToOperands(float* from, int64_t count, ScratchBuffer& scratch) const;
  /// Copies elements of the products' type to f32.
  void ToF32(const void* from, int64_t count, float* to) const;
  LinearKernel& KernelFor(const ActiveGroup& group, int64_t inputs);
  Local& local();

  LshPlanShape shape_;
  PlanRequest request_;
  DType type_;  ///< Type of the products' operands.
  std::vector<Local> locals_;
  std::vector<Work> works_;
  RowMerge merge_;
  std::vector<RowBlock> blocks_;
};

}  // namespace yoke::layer
