// The kernels of activations, best first.
#include "kernels/activation/activation.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<ActivationKernel> Activations(const ActivationShape& shape);
}
namespace reference {
std::unique_ptr<ActivationKernel> Activations(const ActivationShape& shape);
}

std::unique_ptr<ActivationKernel> MakeActivation(const ActivationShape& shape,
                                                 const Target& target) {
  return MakeFirst<ActivationCall, ActivationShape>({cpu::Activations, reference::Activations},
                                                    shape, target);
}

}  // namespace yoke
