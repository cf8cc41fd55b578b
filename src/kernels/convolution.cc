// The kernels of convolution, best first.
#include "kernels/convolution.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape);
bool ConvolvesChannelsLast(ConvolutionShape shape);
}  // namespace cpu
namespace reference {
std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape);
}

Layout PreferredLayout(const ConvolutionShape& shape, bool reference) {
  const bool last = !reference && cpu::ConvolvesChannelsLast(shape);
  return last ? Layout::kChannelsLast : Layout::kPlain;
}

std::unique_ptr<ConvolutionKernel> MakeConvolution(const ConvolutionShape& shape, bool reference) {
  return MakeFirst<ConvolutionKernel, ConvolutionShape>({cpu::Convolution, reference::Convolution},
                                                        shape, reference);
}

}  // namespace yoke
