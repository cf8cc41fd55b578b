// The kernels of linear, best first.
#include "kernels/linear.h"

#include "kernels/makers.h"

namespace yoke {
namespace reference {
std::unique_ptr<LinearKernel> Linear(const LinearShape& shape);
}

std::unique_ptr<LinearKernel> MakeLinear(const LinearShape& shape, bool reference) {
  return MakeFirst<LinearKernel, LinearShape>({reference::Linear}, shape, reference);
}

}  // namespace yoke
