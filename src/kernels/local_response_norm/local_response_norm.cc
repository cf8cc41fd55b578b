// The kernels of local response normalization, best first.
#include "kernels/local_response_norm/local_response_norm.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<LocalResponseNormKernel> LocalResponseNorm(const LocalResponseNormShape& shape);
}
namespace reference {
std::unique_ptr<LocalResponseNormKernel> LocalResponseNorm(const LocalResponseNormShape& shape);
}

std::unique_ptr<LocalResponseNormKernel> MakeLocalResponseNorm(const LocalResponseNormShape& shape,
                                                               const Target& target) {
  return MakeFirst<LocalResponseNormCall, LocalResponseNormShape>(
      {cpu::LocalResponseNorm, reference::LocalResponseNorm}, shape, target);
}

}  // namespace yoke
