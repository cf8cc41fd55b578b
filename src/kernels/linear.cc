// The kernels of linear, best first.
#include "kernels/linear.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<LinearKernel> LinearOfFew(const LinearShape& shape);
std::unique_ptr<LinearKernel> Linear(const LinearShape& shape);
}  // namespace cpu
namespace reference {
std::unique_ptr<LinearKernel> Linear(const LinearShape& shape);
}

std::unique_ptr<LinearKernel> MakeLinear(const LinearShape& shape, bool reference) {
  return MakeFirst<LinearKernel, LinearShape>({cpu::LinearOfFew, cpu::Linear, reference::Linear},
                                              shape, reference);
}

}  // namespace yoke
