// Winograd's transforms for AVX-512.
#include <immintrin.h>

#include "kernels/convolution/cpu_winograd_tiles.h"
#include "kernels/cpu/vector.h"

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")

#include "kernels/convolution/cpu_winograd_loops.h"

namespace yoke::cpu {
namespace {

void Patches(const WinogradPass& pass) { ImageToPoints<PatchLine, 16>(pass); }
void Gradients(const WinogradPass& pass) { ImageToPoints<GradientLine, 16>(pass); }
void Outputs(const WinogradPass& pass) { PointsToImage<16>(pass); }
void Kernels(const WinogradKernels& kernels) { KernelsToPoints<16>(kernels); }
void KernelGradients(const WinogradKernels& kernels) { PointsToKernels<16>(kernels); }

}  // namespace

WinogradLoops WinogradLoopsAvx512() {
  return {Patches, Gradients, Outputs, Kernels, KernelGradients};
}

}  // namespace yoke::cpu
