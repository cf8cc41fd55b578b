// Convert: converts tensors between types and image layouts.
#pragma once

#include <memory>
#include <vector>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

struct ConvertCall {
  ConstTensor from;
  Tensor to;

  int64_t Bytes() const { return from.Count() * SizeOf(from.type) + to.Bytes(); }
  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(from.data, to.data);
  }
};

using ConvertKernel = Kernel<ConvertCall>;

/// Copies `from` to `to`, which has the same shape but may have another type (f32, bf16) or layout.
/// Layouts may differ only for [batch, channels, height, width]. Runs on the caller's kernel
/// threads.
std::unique_ptr<ConvertKernel> MakeConvert(const Target& target = {});

/// The same on the host, at once.
void Convert(const ConstTensor& from, const Tensor& to);

/// Elements [first, first + count) of an f32 or bf16 tensor in f32: where they are, or copied to
/// `copy` by the calling thread.
const float* InF32(const ConstTensor& from, int64_t first, int64_t count, std::vector<float>& copy);

}  // namespace yoke
