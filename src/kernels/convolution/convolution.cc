// The kernels of convolution, best first.
#include "kernels/convolution/convolution.h"

#include <algorithm>

#include "base/algorithms.h"
#include "kernels/instructions.h"
#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape);
std::unique_ptr<ConvolutionKernel> LoweredConvolution(const ConvolutionShape& shape);
std::unique_ptr<ConvolutionKernel> ConvolutionWithLoweredGradients(const ConvolutionShape& shape);
std::unique_ptr<ConvolutionKernel> WinogradOf(const ConvolutionShape& shape);
bool ConvolvesChannelsLast(ConvolutionShape shape);
}  // namespace cpu
namespace reference {
std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape);
}

namespace {
bool Lowers(const ConvolutionShape& shape) {
  return shape.algorithm == ConvolutionAlgorithm::kLowerBatch ||
         shape.algorithm == ConvolutionAlgorithm::kLowerImage;
}

/// With fewer channels transforms cost what products save; with fewer tiles those of the weights
/// do.
bool PaysWinograd(const ConvolutionShape& s) {
  constexpr int64_t kTiles = 192, kChannels = 32;
  const Shape out = s.Output();
  const int64_t tiles = s.batch * ((out[2] + 3) / 4) * ((out[3] + 3) / 4);
  return FitsWinograd(s) && std::min(s.channels, s.outputs) >= kChannels && tiles >= kTiles;
}

/// Where channels fill vectors badly, of the input by a fifth and more: the windows of a lowered
/// image fill them. With few outputs adding the windows up costs more than that; so do windows in
/// the padding, and large images, whose rows a core's second cache does not hold. The direct
/// kernels are always faster on an Intel with AMX (LeNet's second layer 2.5 ms for 3.2).
bool PaysLoweredGradients(const ConvolutionShape& s) {
  constexpr int64_t kLanes = 16, kOutputs = 20, kElements = 1 << 16;
  if (s.algorithm != ConvolutionAlgorithm::kAuto || !s.training || !s.input_gradient ||
      s.type != DType::kF32 || s.layout != Layout::kChannelsLast || s.groups > 1 || cpu::HasAmx())
    return false;
  const Shape out = s.Output();
  const int64_t window = s.rows.size * s.columns.size;
  return 5 * s.channels <= 4 * RoundUp(s.channels, kLanes) && s.outputs % kLanes > 0 &&
         s.outputs >= kOutputs && window > 1 && s.rows.padding + s.columns.padding == 0 &&
         out[2] * out[3] * window * s.channels <= kElements;
}

bool TakesWinograd(const ConvolutionShape& s) {
  return s.algorithm == ConvolutionAlgorithm::kWinograd ||
         (s.algorithm == ConvolutionAlgorithm::kAuto && PaysWinograd(s));
}

std::unique_ptr<ConvolutionKernel> ByWinograd(const ConvolutionShape& shape) {
  return TakesWinograd(shape) ? cpu::WinogradOf(shape) : nullptr;
}

std::unique_ptr<ConvolutionKernel> Lowered(const ConvolutionShape& shape) {
  return Lowers(shape) ? cpu::LoweredConvolution(shape) : nullptr;
}

std::unique_ptr<ConvolutionKernel> WithLoweredGradients(const ConvolutionShape& shape) {
  return PaysLoweredGradients(shape) ? cpu::ConvolutionWithLoweredGradients(shape) : nullptr;
}
}  // namespace

const KernelList<ConvolutionCall, ConvolutionShape> operation::kConvolution(
    "convolution", {.others = "bias, relu, groups"},
    {{"cudnn", "cuda", cuda::Make,
      [](const ConvolutionShape& /*shape*/) { return Layout::kChannelsLast; }},
     {"winograd", ByWinograd},
     {"lowered", Lowered},
     {"lowered gradients", WithLoweredGradients},
     {"onednn", cpu::Convolution},
     {"reference", reference::Convolution}});

bool FitsWinograd(const ConvolutionShape& s) {
  const auto fits = [](const Window& w) {
    return w.size == 3 && w.stride == 1 && w.padding <= 2 && !w.round_up && w.IsPlain();
  };
  return s.type == DType::kF32 && s.groups == 1 && fits(s.rows) && fits(s.columns) &&
         s.channels % 16 == 0 && s.outputs % 16 == 0;
}

const std::vector<std::string>& ConvolutionAlgorithmNames() {
  static const std::vector<std::string> names = {"auto", "direct", "lower_batch", "lower_image",
                                                 "winograd"};
  return names;
}

Layout PreferredLayout(const ConvolutionShape& shape, const Target& target) {
  if (const auto wanted = operation::kConvolution.LayoutOn(*target.device, shape)) return *wanted;
  const bool last = !target.reference &&
                    (Lowers(shape) || TakesWinograd(shape) || cpu::ConvolvesChannelsLast(shape));
  return last ? Layout::kChannelsLast : Layout::kPlain;
}

std::unique_ptr<ConvolutionKernel> MakeConvolution(const ConvolutionShape& shape,
                                                   const Target& target) {
  return operation::kConvolution.Make(shape, target);
}

}  // namespace yoke
