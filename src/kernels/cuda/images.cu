// Kernels of images.
#include "kernels/cuda/gpu_grid.cuh"
//
#include "kernels/cuda/images.h"
#include "kernels/cuda/pooling.h"

namespace yoke::cuda {

YOKE_CUDA_KERNEL(PadCall, PadShape, PadOn<GpuGrid>)
YOKE_CUDA_KERNEL(ShortcutCall, ShortcutShape, ShortcutOn<GpuGrid>)
YOKE_CUDA_KERNEL(ShuffleCall, ShuffleShape, ShuffleOn<GpuGrid>)
YOKE_CUDA_KERNEL(ConcatenateCall, NoShape, ConcatenateOn<GpuGrid>)
YOKE_CUDA_KERNEL(MultiplyCall, NoShape, MultiplyOn<GpuGrid>)
YOKE_CUDA_KERNEL(GlobalAverageCall, NoShape, GlobalAverageOn<GpuGrid>)
YOKE_CUDA_KERNEL(NormalizeCall, NoShape, NormalizeOn<GpuGrid>)
YOKE_CUDA_KERNEL(PoolingCall, PoolingShape, PoolingOn<GpuGrid>)

}  // namespace yoke::cuda
