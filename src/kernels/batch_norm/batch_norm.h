// Batch normalization: normalizes each channel to mean 0 and variance 1 over a batch, then applies
// its weight and bias. A following addition and ReLU are done in the same pass.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

struct BatchNormShape {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t pixels = 1;        ///< Height times width; 1: rows of `channels` features.
  DType type = DType::kF32;  ///< Type of input, addend, output and their gradients: f32 or bf16.
  Layout layout = Layout::kPlain;  ///< Layout of the same tensors.
  bool training = false;           ///< Use the batch's statistics; Backward will be called.
  bool add = false;                ///< output = normalized input + addend
  bool relu = false;               ///< Followed by a ReLU.
  double epsilon = 1e-5;           ///< Added to the variance.
  double momentum = 0.1;           ///< Weight of the batch in the new running statistics.

  int64_t Rows() const { return batch * pixels; }  ///< Elements per channel.
  int64_t Count() const { return Rows() * channels; }
};

struct BatchNormCall {
  const void* input = nullptr;
  const void* addend = nullptr;         ///< Read when `add`.
  void* output = nullptr;               ///< Read by Backward when `add` and `relu`.
  const float* weight = nullptr;        ///< [channels]; null: ones.
  const float* bias = nullptr;          ///< [channels]; null: zeros.
  const float* running_mean = nullptr;  ///< [channels], like the next five. Read unless training.
  const float* running_variance = nullptr;  ///< Unbiased, as in PyTorch.
  float* moved_mean = nullptr;  ///< Running statistics that training updates; null: none.
  float* moved_variance = nullptr;
  float* weight_gradient = nullptr;  ///< Null: not needed.
  float* bias_gradient = nullptr;    ///< Null: not needed.
  void* output_gradient = nullptr;  ///< Overwritten if `add` and `relu` are set and addend_gradient
                                    ///< is null, and if more_gradient is set.
  const void* more_gradient = nullptr;  ///< Added to output_gradient; null: nothing.
  /// Null: not needed. May be output_gradient's memory unless `add` is set.
  void* input_gradient = nullptr;
  void* addend_gradient = nullptr;  ///< Null: not needed. May be output_gradient's memory.
  float* saved = nullptr;   ///< [4, channels], kept from Forward to Backward: mean, 1 / standard
                            ///< deviation, scale and bias.
  void* scratch = nullptr;  ///< scratch_bytes() of the kernel, 64-byte aligned.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, addend, output, weight, bias, running_mean, running_variance, moved_mean,
          moved_variance, weight_gradient, bias_gradient, output_gradient, more_gradient,
          input_gradient, addend_gradient, saved, scratch);
  }
};

using BatchNormKernel = Kernel<BatchNormCall>;

std::unique_ptr<BatchNormKernel> MakeBatchNorm(const BatchNormShape& shape,
                                               const Target& target = {});

/// Mean and variance of one channel of a batch.
struct Moments {
  double mean = 0;
  double variance = 0;  ///< Divided by the number of rows.
};

/// Saves a channel's moments for Backward and updates the running statistics with them.
void SaveMoments(const BatchNormShape& shape, const BatchNormCall& call, int64_t channel,
                 const Moments& moments);

}  // namespace yoke
