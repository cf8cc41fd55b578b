// Convolution: output = bias + sum of input windows times weight, its gradients, and a ReLU behind
// it when absorbed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/image.h"

namespace yoke {

/// How a convolution is computed.
enum class ConvolutionWay {
  kAuto,    ///< A fixed function of shape and CPU, as measured: Winograd's for many channels and
            ///< tiles, else the direct kernels; with these, f32 gradients are lowered where
            ///< channels fill vectors badly.
  kDirect,  ///< oneDNN's direct kernels, and our own for weight gradients.
  kLowerBatch,  ///< Each core lowers and multiplies its part of the batch (Omnivore).
  kLowerImage,  ///< One image after the other, its product on all cores (Caffe).
  kWinograd,    ///< Tiles of 4x4 pixels by fewer products (Lavin and Gray), where FitsWinograd.
};
/// "auto", "direct", "lower_batch", "lower_image", "winograd", in that order.
const std::vector<std::string>& ConvolutionWayNames();

struct ConvolutionShape {
  int64_t batch = 0;
  int64_t channels = 0;  ///< Of the input; divisible by groups.
  int64_t height = 0;
  int64_t width = 0;
  int64_t outputs = 0;  ///< Channels of the output; divisible by groups.
  int64_t groups = 1;   ///< Output group g sees input group g only.
  Window rows;
  Window columns;
  DType type =
      DType::kF32;  ///< Of activations, weight and bias (f32 or bf16); parameter gradients are f32.
  Layout layout = Layout::kPlain;  ///< Of input and output.
  bool bias = true;
  bool relu = false;
  bool training = false;                       ///< Backward will be called.
  bool input_gradient = false;                 ///< Backward computes it.
  ConvolutionWay way = ConvolutionWay::kAuto;  ///< All but direct in f32, channels-last only.
  int64_t partitions = 0;      ///< Of the batch when it is lowered; 0: one a kernel thread.
  int64_t lowered_images = 0;  ///< Lowered and multiplied at once; 0: all of a partition.

  Shape Input() const { return {batch, channels, height, width}; }
  Shape Output() const { return {batch, outputs, rows.Count(height), columns.Count(width)}; }
  /// [outputs, channels / groups, kernel height, kernel width], row-major.
  Shape Weight() const { return {outputs, channels / groups, rows.size, columns.size}; }
};

struct ConvolutionCall {
  const void* input = nullptr;
  const void* weight = nullptr;
  const void* bias = nullptr;       ///< [outputs]
  void* output = nullptr;           ///< Written by Forward, read by Backward when relu.
  void* output_gradient = nullptr;  ///< Zeroed where the ReLU was off.
  void* input_gradient = nullptr;
  float* weight_gradient = nullptr;
  float* bias_gradient = nullptr;
  void* scratch = nullptr;  ///< scratch_bytes() of the kernel, 64-byte aligned.
};

class ConvolutionKernel {
 public:
  virtual ~ConvolutionKernel() = default;
  virtual void Forward(const ConvolutionCall& call) = 0;
  /// Writes all gradients that the shape and the call ask for.
  virtual void Backward(const ConvolutionCall& call) = 0;
  virtual int64_t scratch_bytes() const { return 0; }
  virtual std::string name() const = 0;
};

/// Whether Winograd's way computes it: f32, 3x3 windows of stride 1, one group, channels of input
/// and output multiples of 16.
bool FitsWinograd(const ConvolutionShape& shape);

/// The image layout in which this convolution is fastest: a fixed function of shape, way and CPU.
Layout PreferredLayout(const ConvolutionShape& shape, bool reference = false);

std::unique_ptr<ConvolutionKernel> MakeConvolution(const ConvolutionShape& shape,
                                                   bool reference = false);

}  // namespace yoke
