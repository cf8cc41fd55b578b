// The kernels of convolution, best first.
#include "kernels/convolution.h"

#include "kernels/makers.h"

namespace yoke {
namespace reference {
std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape);
}

Layout PreferredLayout(const ConvolutionShape& /*shape*/, bool /*reference*/) {
  return Layout::kPlain;
}

std::unique_ptr<ConvolutionKernel> MakeConvolution(const ConvolutionShape& shape, bool reference) {
  return MakeFirst<ConvolutionKernel, ConvolutionShape>({reference::Convolution}, shape, reference);
}

}  // namespace yoke
