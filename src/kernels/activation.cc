// The kernels of activations, best first.
#include "kernels/activation.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<ActivationKernel> Activations(const ActivationShape& shape);
}
namespace reference {
std::unique_ptr<ActivationKernel> Activations(const ActivationShape& shape);
}

std::unique_ptr<ActivationKernel> MakeActivation(const ActivationShape& shape, bool reference) {
  return MakeFirst<ActivationKernel, ActivationShape>({cpu::Activations, reference::Activations},
                                                      shape, reference);
}

}  // namespace yoke
