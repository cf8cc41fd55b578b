// Join: sums tensors, concatenates them along channels, or multiplies two elementwise.
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

struct SumShape {
  bool relu = false;  ///< The sum is followed by a ReLU.
};

/// All have the same shape, type (f32 or bf16) and layout; output may be one of the inputs.
struct SumCall {
  std::vector<Tensor> inputs;
  Tensor output;

  int64_t Bytes() const { return static_cast<int64_t>(inputs.size() + 1) * output.Bytes(); }
  template <typename Reach>
  void Addresses(const Reach& reach) {
    for (Tensor& input : inputs) reach(input.data);
    reach(output.data);
  }
};

using SumKernel = Kernel<SumCall>;

/// output = sum of the inputs, or max(0, sum) with `relu`. One pass over memory, on the caller's
/// kernel threads. It has no Backward.
std::unique_ptr<SumKernel> MakeSum(bool relu, const Target& target = {});

/// The parts [batch, channels, ...] have the same type, layout and axes except channels.
struct ConcatenateCall {
  std::vector<Tensor> parts;
  Tensor whole;

  template <typename Reach>
  void Addresses(const Reach& reach) {
    for (Tensor& part : parts) reach(part.data);
    reach(whole.data);
  }
};

using ConcatenateKernel = Kernel<ConcatenateCall>;

/// Forward concatenates the parts along channels, Backward takes the whole apart. Parts with null
/// data are skipped.
std::unique_ptr<ConcatenateKernel> MakeConcatenate(const Target& target = {});

/// Two tensors, or an image and one value per channel (a gate).
/// The gate has x's shape, or [batch, channels] for an x of [batch, channels, height, width], in
/// either layout; all f32 or all bf16.
struct MultiplyCall {
  Tensor x, gate, output, output_gradient;
  Tensor x_gradient;     ///< Null data: not needed. May use output_gradient's memory.
  Tensor gate_gradient;  ///< Null data: not needed. For a channel, the sum over its pixels, in f32.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(x.data, gate.data, output.data, output_gradient.data, x_gradient.data,
          gate_gradient.data);
  }
};

using MultiplyKernel = Kernel<MultiplyCall>;

/// output = x * gate, on the caller's kernel threads. Backward writes both gradients in one pass
/// over memory (two passes if the shapes are equal).
std::unique_ptr<MultiplyKernel> MakeMultiply(const Target& target = {});

}  // namespace yoke
