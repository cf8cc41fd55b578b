// Dropout: four positions share one 64-bit draw.
#include "kernels/dropout.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace yoke {
namespace {

template <typename T>
void Apply(const DropoutShape& s, const T* from, const uint8_t* mask, T* to) {
  const float scale = static_cast<float>(1 / s.keep);
#pragma omp parallel for schedule(static) if (s.batch * s.count > 16384)
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t i = n * s.count; i < (n + 1) * s.count; ++i)
      to[i] = mask[i] ? T(float(from[i]) * scale) : T(0.0F);
}

void DrawMask(uint64_t key, uint64_t threshold, int64_t count, uint8_t* mask) {
  for (int64_t i = 0; i < count; i += 4) {
    const auto counter = static_cast<uint64_t>(i / 4 + 1);
    const uint64_t bits = Random::Mix(key + 0x9E3779B97F4A7C15ULL * counter);
    for (int64_t j = 0; j < std::min<int64_t>(4, count - i); ++j)
      mask[i + j] = (bits >> (16 * j) & 0xFFFF) < threshold;
  }
}

}  // namespace

void DrawMasks(const DropoutShape& shape, std::span<const uint64_t> keys, uint8_t* mask) {
  const auto threshold = static_cast<uint64_t>(std::lround(shape.keep * 65536));
#pragma omp parallel for schedule(static) if (shape.batch * shape.count > 16384)
  for (int64_t n = 0; n < shape.batch; ++n)
    DrawMask(keys[n], threshold, shape.count, mask + n * shape.count);
}

void ApplyMask(const DropoutShape& shape, const void* from, const uint8_t* mask, void* to) {
  if (shape.type == DType::kBf16)
    Apply(shape, static_cast<const Bf16*>(from), mask, static_cast<Bf16*>(to));
  else
    Apply(shape, static_cast<const float*>(from), mask, static_cast<float*>(to));
}

}  // namespace yoke
