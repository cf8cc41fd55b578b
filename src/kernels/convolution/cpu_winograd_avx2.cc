// Winograd's transforms for AVX2, and which ones this CPU runs.
#include "kernels/convolution/cpu_winograd_loops.h"

namespace yoke::cpu {
namespace {

void Patches(const WinogradPass& pass) { ImageToPoints<PatchLine, 8>(pass); }
void Gradients(const WinogradPass& pass) { ImageToPoints<GradientLine, 8>(pass); }
void Outputs(const WinogradPass& pass) { PointsToImage<8>(pass); }
void Kernels(const WinogradKernels& kernels) { KernelsToPoints<8>(kernels); }
void KernelGradients(const WinogradKernels& kernels) { PointsToKernels<8>(kernels); }

}  // namespace

WinogradLoops WinogradLoopsFor() {
  if (HasAvx512()) return WinogradLoopsAvx512();
  return {Patches, Gradients, Outputs, Kernels, KernelGradients};
}

}  // namespace yoke::cpu
