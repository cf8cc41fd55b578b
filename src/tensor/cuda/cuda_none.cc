// The CUDA runtime of a program that is built without the toolkit: none.
#include "tensor/cuda/cuda_driver.h"

namespace yoke {

const CudaDriver* LinkedCudaDriver() { return nullptr; }

}  // namespace yoke
