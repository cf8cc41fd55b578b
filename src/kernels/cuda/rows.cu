// Kernels of rows, losses, vectors and norms.
#include "kernels/cuda/gpu_grid.cuh"
//
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/local_response_norm.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/vectors.h"

namespace yoke::cuda {

YOKE_CUDA_KERNEL(LayerNormCall, LayerNormShape, LayerNormOn<GpuGrid>)
YOKE_CUDA_KERNEL(CrossEntropyCall, CrossEntropyShape, CrossEntropyOn<GpuGrid>)
YOKE_CUDA_KERNEL(RegressionLossCall, RegressionLossShape, RegressionLossOn<GpuGrid>)
YOKE_CUDA_KERNEL(StepLossCall, NoShape, StepLossOn<GpuGrid>)
YOKE_CUDA_KERNEL(VectorCall, NoShape, VectorsOn<GpuGrid>)
YOKE_CUDA_KERNEL(BatchNormCall, BatchNormShape, BatchNormOn<GpuGrid>)
YOKE_CUDA_KERNEL(LocalResponseNormCall, LocalResponseNormShape, LocalResponseNormOn<GpuGrid>)

}  // namespace yoke::cuda
