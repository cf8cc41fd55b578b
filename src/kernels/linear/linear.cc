// The kernels of linear, best first.
#include "kernels/linear/linear.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<LinearKernel> LinearOfFew(const LinearShape& shape);
std::unique_ptr<LinearKernel> Linear(const LinearShape& shape);
}  // namespace cpu
namespace reference {
std::unique_ptr<LinearKernel> Linear(const LinearShape& shape);
}

bool AddsFaster(const LinearShape& shape) {
  constexpr int64_t kFew = 2;    // examples: the kernel of few reads each weight once
  constexpr int64_t kMany = 12;  // with fewer, threads that share the weights wait longer
  constexpr int64_t kWeights = int64_t{1} << 14;  // with fewer, the second pass is in the cache
  if (shape.batch <= kFew) return true;
  return shape.batch >= kMany && shape.inputs * shape.outputs >= kWeights;
}

std::unique_ptr<LinearKernel> MakeLinear(const LinearShape& shape, const Target& target) {
  return MakeFirst<LinearCall, LinearShape>({cpu::LinearOfFew, cpu::Linear, reference::Linear},
                                            shape, target);
}

}  // namespace yoke
