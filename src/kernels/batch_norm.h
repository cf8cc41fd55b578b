// Batch normalization: each channel shifted and scaled to mean 0 and variance 1 over a batch, then
// by its own weight and bias; what follows (an addition, a ReLU) is done in the same pass.
#pragma once

#include <memory>
#include <string>

#include "tensor/tensor.h"

namespace yoke {

struct BatchNormShape {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t pixels = 1;              ///< Height times width; 1: rows of `channels` features.
  DType type = DType::kF32;        ///< f32 or bf16, of input, addend, output and their gradients.
  Layout layout = Layout::kPlain;  ///< Of the same.
  bool training = false;           ///< Statistics of the batch, and Backward will be called.
  bool add = false;                ///< output = normalized input + addend
  bool relu = false;               ///< A ReLU behind that.
  double epsilon = 1e-5;           ///< Added to the variance.
  double momentum = 0.1;           ///< The batch's share of the new running statistics.

  int64_t Rows() const { return batch * pixels; }  ///< Numbers of one channel.
  int64_t Count() const { return Rows() * channels; }
};

struct BatchNormCall {
  const void* input = nullptr;
  const void* addend = nullptr;         ///< Read when `add`.
  void* output = nullptr;               ///< Read by Backward when `add` and `relu`.
  const float* weight = nullptr;        ///< [channels]; null: ones.
  const float* bias = nullptr;          ///< [channels]; null: zeros.
  float* running_mean = nullptr;        ///< [channels], as the next three. Updated when training.
  float* running_variance = nullptr;    ///< Unbiased, as PyTorch keeps it.
  float* weight_gradient = nullptr;     ///< Null: not wanted.
  float* bias_gradient = nullptr;       ///< Null: not wanted.
  void* output_gradient = nullptr;      ///< Overwritten when `add` and `relu` and nobody wants the
                                        ///< addend's gradient, and where more_gradient is given.
  const void* more_gradient = nullptr;  ///< Added to output_gradient; null: nothing.
  void* input_gradient =
      nullptr;  ///< Null: not wanted. Unless `add`, may be output_gradient's memory.
  void* addend_gradient = nullptr;  ///< Null: not wanted. May be output_gradient's memory.
  float* saved = nullptr;   ///< [4, channels], from Forward to Backward: mean, 1 / deviation, and
                            ///< scale and bias as they were.
  void* scratch = nullptr;  ///< scratch_bytes() of the kernel, 64-byte aligned.
};

class BatchNormKernel {
 public:
  virtual ~BatchNormKernel() = default;
  virtual void Forward(const BatchNormCall& call) = 0;
  virtual void Backward(const BatchNormCall& call) = 0;
  virtual int64_t scratch_bytes() const { return 0; }
  virtual std::string name() const = 0;
};

std::unique_ptr<BatchNormKernel> MakeBatchNorm(const BatchNormShape& shape, bool reference = false);

/// Mean and variance of one channel of a batch.
struct Moments {
  double mean = 0;
  double variance = 0;  ///< Divided by the number of rows.
};

/// Writes what Forward saves of a channel's moments, and moves the running statistics towards them.
void SaveMoments(const BatchNormShape& shape, const BatchNormCall& call, int64_t channel,
                 const Moments& moments);

}  // namespace yoke
