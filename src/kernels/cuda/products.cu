// Kernels around products: linear layers, dense and sparse, convolutions, top scores.
#include "kernels/cuda/gpu_grid.cuh"
//
#include "kernels/active_rows/active_rows.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/sparse.h"
#include "kernels/cuda/top_scores.h"

namespace yoke::cuda {

YOKE_CUDA_KERNEL(SparseLinearCall, SparseLinearShape, SparseLinearOn<GpuGrid>)
YOKE_CUDA_KERNEL(ConvolutionCall, ConvolutionShape, ConvolutionOn<GpuGrid>)

template <>
std::unique_ptr<Kernel<LinearCall>> Make<LinearCall>(const LinearShape& shape,
                                                     const Target& target) {
  auto kernel = std::make_unique<LinearOn<GpuGrid>>(shape, GpuGrid(target));
  if (!kernel->made()) return nullptr;
  return kernel;
}

template <>
std::unique_ptr<Kernel<TopScoresCall>> Make<TopScoresCall>(const TopScoresShape& shape,
                                                           const Target& target) {
  auto kernel = std::make_unique<TopScoresOn<GpuGrid>>(shape, GpuGrid(target));
  if (!kernel->made()) return nullptr;
  return kernel;
}

}  // namespace yoke::cuda
