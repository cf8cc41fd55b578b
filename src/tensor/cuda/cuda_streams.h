// CudaStreams: makes the streams of a GPU.
#pragma once

#include <memory>

#include "tensor/cuda/cuda_context.h"
#include "tensor/device.h"

namespace yoke {

std::unique_ptr<Stream> NewCudaStream(std::shared_ptr<CudaContext> context);

}  // namespace yoke
