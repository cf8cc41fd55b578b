// Kernels of one element a thread, and of updates.
#include "kernels/cuda/gpu_grid.cuh"
//
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/updates.h"

namespace yoke::cuda {

YOKE_CUDA_KERNEL(ActivationCall, ActivationShape, ActivationOn<GpuGrid>)
YOKE_CUDA_KERNEL(SumCall, SumShape, SumOn<GpuGrid>)
YOKE_CUDA_KERNEL(WeighRowsCall, NoShape, WeighRowsOn<GpuGrid>)
YOKE_CUDA_KERNEL(ConvertCall, NoShape, ConvertOn<GpuGrid>)
YOKE_CUDA_KERNEL(DropoutCall, DropoutShape, DropoutOn<GpuGrid>)
YOKE_CUDA_KERNEL(UpdateStart, NoShape, UpdateStartOn<GpuGrid>)

template <>
std::unique_ptr<Kernel<ElementwiseCall>> Make<ElementwiseCall>(const NamedFunction& function,
                                                               const Target& target) {
  if (FunctionOf(function.name) == Function::kNone) return nullptr;
  return std::make_unique<ElementwiseOn<GpuGrid>>(function, GpuGrid(target));
}

template <>
std::unique_ptr<Kernel<UpdateCall>> Make<UpdateCall>(const RuleConstants& rule,
                                                     const Target& target) {
  if (rule.formula == UpdateFormula::kNone) return nullptr;
  return std::make_unique<UpdateOn<GpuGrid>>(rule, GpuGrid(target));
}

}  // namespace yoke::cuda
