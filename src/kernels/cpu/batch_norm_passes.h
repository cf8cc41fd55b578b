// The passes over memory that batch normalization is made of, each with all that can be done on the
// way.
#pragma once

#include "tensor/tensor.h"

namespace yoke::cpu {

enum class NormStep : uint8_t {
  kMoments,        ///< Sums of u = x - center and of u * u.
  kGradientSums,   ///< Sums of g and of g * (x - center); g, behind the ReLU, is stored when asked.
  kNormalize,      ///< y = (x - center) * scale + bias + z, and a ReLU.
  kInputGradient,  ///< dx = g * scale + (x - center) * slope + offset
};

/// One pass. Where `relu` is set, g is zero where the ReLU was off, which shows in y when given,
/// and in (x - center) * scale + bias otherwise.
struct NormPass {
  NormStep step = NormStep::kMoments;
  const void* x = nullptr;
  const void* z = nullptr;  ///< Null: nothing is added.
  const void* dy = nullptr;
  const void* more = nullptr;  ///< Added to dy; null: nothing.
  const void* y = nullptr;     ///< Only to see where the ReLU was off.
  void* to = nullptr;          ///< Where g (or null), y or dx goes.
  bool relu = false;
  bool stream = false;  ///< Results go past the caches.
  int64_t batch = 0, channels = 0, pixels = 0;
  Layout layout = Layout::kPlain;
  int64_t ahead = 0;  ///< How many numbers are called for before they are needed: set by the part.
  const float* center = nullptr;  ///< [channels], as all that follow
  const float* scale = nullptr;
  const float* bias = nullptr;
  const float* slope = nullptr;
  const float* offset = nullptr;

  /// What a thread's range counts: channels of a plain tensor's sums, and rows (pixels of the whole
  /// batch) or planes otherwise.
  bool ByChannel() const {
    return layout == Layout::kPlain &&
           (step == NormStep::kMoments || step == NormStep::kGradientSums);
  }
  int64_t Ranges() const {
    if (layout == Layout::kChannelsLast) return batch * pixels;
    return ByChannel() ? channels : batch * channels;
  }
};

/// Does the part [begin, end) of a pass. `sums` [3, channels]: its first two rows are written by a
/// pass that sums (of a plain tensor, only the part's channels), the third is for its own use.
using NormPart = void (*)(const NormPass& pass, int64_t begin, int64_t end, double* sums);

/// The fastest loops of this CPU; `name` is set to what they are.
NormPart PassesFor(DType type, const char** name);
/// Those of AVX-512, which the machine must have.
NormPart PassesAvx512(DType type);

}  // namespace yoke::cpu
