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
/// copied into a dense block once per group. A thread takes one group after the other; where groups
/// are too few for that, threads share each in blocks of 256 columns. Which of the two it is
/// depends on the number of threads, so where groups are fewer than threads the last bits of a step
/// may depend on it.
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
  /// The columns [begin, end) of a group's scores, for one thread.
  struct Block {
    size_t group = 0;
    int64_t begin = 0, end = 0;
    int64_t columns() const { return end - begin; }
  };
  /// The examples [begin, end) of a group.
  struct Examples {
    size_t group = 0;
    int64_t begin = 0, end = 0;
  };
  void DivideGroups(const ActiveSet& set);
  void TakeInput(const LayerCall& call, size_t group);
  void TakeDense(const LayerCall& call, const ActiveGroup& group, Work& work);
  void TakeSparse(const LayerCall& call, const ActiveGroup& group, Work& work);
  /// Makes room for what the group's blocks write.
  void Reserve(const ActiveGroup& group, Work& work) const;
  void Gather(const LayerCall& call, const Block& block);
  void Multiply(const LayerCall& call, const Block& block);
  /// Of the block's rows; of the group's input too if the block is the whole group.
  void GradientsOf(const LayerCall& call, const Block& block);
  void InputGradientOf(const LayerCall& call, const Examples& some);
  void ReturnInputGradient(const LayerCall& call, const Examples& some, const void* gradient);
  void Merge(const LayerCall& call);
  bool bf16() const { return type_ == DType::kBf16; }
  /// `from` in the products' type: itself, or converted into `scratch`.
  void* ToOperands(float* from, int64_t count, ScratchBuffer& scratch) const;
  static void ToBf16(const float* from, int64_t count, Bf16* to);
  /// Copies elements of the products' type to f32.
  void ToF32(const void* from, int64_t count, float* to) const;
  /// The block's rows in the dense block of its group.
  void* WeightAt(const Work& work, const Block& block) const {
    return work.weight.As<char>() + block.begin * work.width * SizeOf(type_);
  }
  void* BiasAt(const Work& work, const Block& block) const {
    return work.bias.As<char>() + block.begin * SizeOf(type_);
  }
  /// From element `at` on of a block [examples, columns] that is kept as f32 and, if the products'
  /// type is another, as that.
  void* Operands(float* f32, const ScratchBuffer& low, int64_t at) const {
    return bf16() ? static_cast<void*>(low.As<Bf16>() + at) : f32 + at;
  }
  LinearKernel& KernelFor(int64_t examples, int64_t inputs, int64_t columns, int64_t stride);
  Local& local();

  LshPlanShape shape_;
  PlanRequest request_;
  DType type_;  ///< Type of the products' operands.
  std::vector<Local> locals_;
  std::vector<Work> works_;
  bool whole_ = true;  ///< Each block is a whole group.
  std::vector<Block> blocks_;
  std::vector<Examples> examples_;  ///< Of groups that are divided.
  RowMerge merge_;
  std::vector<RowBlock> row_blocks_;
};

}  // namespace yoke::layer
