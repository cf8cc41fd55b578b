// NCCL in a program that is built without CUDA: none.
#include "comm/nccl.h"

namespace yoke {

const NcclCalls* LinkedNccl() { return nullptr; }

}  // namespace yoke
