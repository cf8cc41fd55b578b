// The kernels of pooling, best first.
#include "kernels/pooling/pooling.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape);
}
namespace reference {
std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape);
}

std::unique_ptr<PoolingKernel> MakePooling(const PoolingShape& shape, const Target& target) {
  return MakeFirst<PoolingCall, PoolingShape>({cpu::Pool, reference::Pool}, shape, target);
}

}  // namespace yoke
