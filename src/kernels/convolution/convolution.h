// Convolution: output = bias + sum of input windows times weight, optionally followed by a ReLU,
// and its gradients.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/image.h"
#include "kernels/kernel.h"

namespace yoke {

/// The algorithm of a convolution.
enum class ConvolutionAlgorithm {
  kAuto,  ///< A fixed function of shape and CPU, from measurements: Winograd for many channels and
          ///< tiles, otherwise the direct kernels, with lowered f32 gradients if the channels fill
          ///< vectors badly.
  kDirect,      ///< oneDNN's direct kernels, and our own kernels for weight gradients.
  kLowerBatch,  ///< Each core lowers (im2col) and multiplies its part of the batch (Omnivore).
  kLowerImage,  ///< Image by image, each product on all cores (Caffe).
  kWinograd,    ///< 4x4 tiles with fewer products (Lavin and Gray); requires FitsWinograd.
};
/// "auto", "direct", "lower_batch", "lower_image", "winograd", in that order.
const std::vector<std::string>& ConvolutionAlgorithmNames();

struct ConvolutionShape {
  int64_t batch = 0;
  int64_t channels = 0;  ///< Input channels; divisible by groups.
  int64_t height = 0;
  int64_t width = 0;
  int64_t outputs = 0;  ///< Output channels; divisible by groups.
  int64_t groups = 1;   ///< Output group g reads only input group g.
  Window rows;
  Window columns;
  DType type = DType::kF32;        ///< Type of activations, weight and bias: f32 or bf16. Parameter
                                   ///< gradients are f32.
  Layout layout = Layout::kPlain;  ///< Layout of input and output.
  bool bias = true;
  bool relu = false;
  bool training = false;        ///< Backward will be called.
  bool input_gradient = false;  ///< Backward computes it.
  ConvolutionAlgorithm algorithm =
      ConvolutionAlgorithm::kAuto;  ///< All except direct need f32 and channels-last.
  int64_t partitions = 0;  ///< Partitions of the batch for lower_batch; 0: one per kernel thread.
  int64_t lowered_images = 0;  ///< Images lowered and multiplied together; 0: a whole partition.

  Shape Input() const { return {batch, channels, height, width}; }
  Shape Output() const { return {batch, outputs, rows.Count(height), columns.Count(width)}; }
  /// [outputs, channels / groups, kernel height, kernel width], row-major.
  Shape Weight() const { return {outputs, channels / groups, rows.size, columns.size}; }
};

struct ConvolutionCall {
  const void* input = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;       ///< [outputs]
  void* output = nullptr;           ///< Written by Forward; read by Backward if relu.
  void* output_gradient = nullptr;  ///< Zeroed where the ReLU was off.
  void* input_gradient = nullptr;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
  void* scratch = nullptr;  ///< scratch_bytes() of the kernel, 64-byte aligned.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input, weight, bias, output, output_gradient, input_gradient, weight_gradient,
          bias_gradient, scratch);
  }
};

using ConvolutionKernel = Kernel<ConvolutionCall>;

/// Whether the Winograd algorithm applies: f32, 3x3 windows of stride 1, one group, and input and
/// output channels in multiples of 16.
bool FitsWinograd(const ConvolutionShape& shape);

/// The fastest image layout of this convolution: what the device's kernel wants, on the CPU a fixed
/// function of shape, algorithm and CPU.
Layout PreferredLayout(const ConvolutionShape& shape, const Target& target = {});

std::unique_ptr<ConvolutionKernel> MakeConvolution(const ConvolutionShape& shape,
                                                   const Target& target = {});

}  // namespace yoke
