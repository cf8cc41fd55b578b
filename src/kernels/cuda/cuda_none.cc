// Without CUDA: its kernels decline.
#include "kernels/elementwise.h"
#include "kernels/makers.h"
#include "kernels/update.h"

namespace yoke::cuda {

#define YOKE_OPERATION(name, Call, Shape)                                                      \
  template <>                                                                                  \
  std::unique_ptr<Kernel<Call>> Make<Call>(const Shape& /*shape*/, const Target& /*target*/) { \
    return nullptr;                                                                            \
  }
#include "kernels/operations.def"
YOKE_OPERATION(, ElementwiseCall, NamedFunction)
YOKE_OPERATION(, UpdateCall, RuleConstants)
YOKE_OPERATION(, UpdateStart, NoShape)
#undef YOKE_OPERATION

}  // namespace yoke::cuda
