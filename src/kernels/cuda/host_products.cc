// Host products: convolutions by the reference's loops.
#include "kernels/cuda/host_products.h"

#include <algorithm>
#include <vector>

namespace yoke::cuda {
namespace {

/// Of each of `count` matrices [rows, columns], the transposed one.
template <typename T>
std::vector<T> TransposedOf(const T* from, int64_t count, int64_t rows, int64_t columns) {
  std::vector<T> to(static_cast<size_t>(count * rows * columns));
  for (int64_t n = 0, at = 0; n < count; ++n)
    for (int64_t c = 0; c < columns; ++c)
      for (int64_t r = 0; r < rows; ++r) to[at++] = from[(n * rows + r) * columns + c];
  return to;
}

}  // namespace

void HostConvolver::Run(const ConvolverCall& call) const {
  Check(call.scratch != nullptr, "a convolution gets its scratch memory");
  Check(s_.layout == Layout::kChannelsLast, "cuDNN convolves with channels last");
  const bool back = pass_ != ConvolutionPass::kForward && pass_ != ConvolutionPass::kForwardBias;
  ConvolutionShape shape = s_;
  shape.bias = pass_ == ConvolutionPass::kForwardBias;
  shape.relu = shape.relu && shape.bias;
  shape.training = back;
  shape.input_gradient = pass_ == ConvolutionPass::kInput;
  shape.algorithm = ConvolutionAlgorithm::kAuto;
  const auto kernel = MakeConvolution(shape, {.reference = true});
  const int64_t outputs = s_.outputs, channels = s_.channels / s_.groups;
  const int64_t taps = s_.rows.size * s_.columns.size;
  const bool bf16 = s_.type == DType::kBf16;
  const auto elements = static_cast<size_t>(std::max(s_.Weight().Count(), s_.Input().Count()));
  const std::vector<float> zeros(elements);
  std::vector<float> f32_weight, weight_gradient(elements);
  std::vector<Bf16> bf16_weight;
  const void* weight = zeros.data();
  const bool of_weight = back && pass_ != ConvolutionPass::kInput;
  if (!of_weight && bf16)
    weight =
        (bf16_weight = TransposedOf(static_cast<const Bf16*>(call.weight), outputs, taps, channels))
            .data();
  else if (!of_weight)
    weight =
        (f32_weight = TransposedOf(static_cast<const float*>(call.weight), outputs, taps, channels))
            .data();
  if (!back)
    return kernel->Forward(
        {.input = call.input, .weight = weight, .bias = call.bias, .output = call.output});
  const bool of_input = pass_ == ConvolutionPass::kInput;
  kernel->Backward({.input = of_input ? zeros.data() : call.input,
                    .weight = weight,
                    .output_gradient = call.output,
                    .input_gradient = of_input ? call.input : nullptr,
                    .weight_gradient = weight_gradient.data()});
  if (of_input) return;
  const std::vector<float> turned = TransposedOf(weight_gradient.data(), outputs, channels, taps);
  if (bf16 && pass_ == ConvolutionPass::kNarrowWeight)
    std::ranges::transform(turned, static_cast<Bf16*>(call.weight),
                           [](float x) { return Bf16(x); });
  else
    std::ranges::copy(turned, static_cast<float*>(call.weight));
}

}  // namespace yoke::cuda
