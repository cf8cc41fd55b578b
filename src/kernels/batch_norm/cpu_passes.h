// The memory passes of batch normalization, each with everything that can be fused into it.
#pragma once

#include "tensor/tensor.h"

namespace yoke::cpu {

enum class NormStep : uint8_t {
  kMoments,        ///< Sums of u = x - center and of u * u.
  kGradientSums,   ///< Sums of g and of g * (x - center); stores g, masked by the ReLU, if
                   ///< requested.
  kNormalize,      ///< y = (x - center) * scale + bias + z, and a ReLU.
  kInputGradient,  ///< dx = g * scale + (x - center) * slope + offset
};

/// One pass. If `relu` is set, g is zero where the ReLU was off, which is determined from y if
/// given, otherwise from (x - center) * scale + bias.
struct NormPass {
  NormStep step = NormStep::kMoments;
  const void* x = nullptr;
  const void* z = nullptr;  ///< Null: nothing is added.
  const void* dy = nullptr;
  const void* more = nullptr;  ///< Added to dy; null: nothing.
  const void* y = nullptr;     ///< Used only to determine where the ReLU was off.
  void* to = nullptr;          ///< Destination of g (may be null), y or dx.
  bool relu = false;
  bool stream = false;  ///< Results bypass the caches.
  int64_t batch = 0, channels = 0, pixels = 0;
  Layout layout = Layout::kPlain;
  int64_t ahead = 0;              ///< Prefetch distance in elements, set by the part.
  const float* center = nullptr;  ///< [channels], like the following
  const float* scale = nullptr;
  const float* bias = nullptr;
  const float* slope = nullptr;
  const float* offset = nullptr;

  /// Unit of a thread's range: channels for sums of a plain tensor; otherwise rows (pixels of the
  /// whole batch) or planes.
  bool ByChannel() const {
    return layout == Layout::kPlain &&
           (step == NormStep::kMoments || step == NormStep::kGradientSums);
  }
  int64_t Ranges() const {
    if (layout == Layout::kChannelsLast) return batch * pixels;
    return ByChannel() ? channels : batch * channels;
  }
};

/// Computes the part [begin, end) of a pass. A summing pass writes the first two rows of `sums` [3,
/// channels] (for a plain tensor, only the part's channels) and uses the third internally.
using NormPart = void (*)(const NormPass& pass, int64_t begin, int64_t end, double* sums);

/// The fastest loops for this CPU; sets `name` to their name.
NormPart PassesFor(DType type, const char** name);
/// The AVX-512 loops; the CPU must support AVX-512.
NormPart PassesAvx512(DType type);

}  // namespace yoke::cpu
