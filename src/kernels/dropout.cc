// Dropout: four positions share one 64-bit draw.
#include "kernels/dropout.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "kernels/makers.h"

namespace yoke {
namespace {

template <typename T>
void ApplyMask(const DropoutShape& s, const T* from, const uint8_t* mask, T* to) {
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

void DrawMasks(const DropoutShape& s, const DropoutCall& call) {
  const auto threshold = static_cast<uint64_t>(std::lround(s.keep * 65536));
  const auto epoch = static_cast<uint64_t>(call.epoch ? *call.epoch : 0);
#pragma omp parallel for schedule(static) if (s.batch * s.count > 16384)
  for (int64_t n = 0; n < s.batch; ++n) {
    const auto example = static_cast<uint64_t>(call.examples ? call.examples[n] : n);
    Random key{call.seed, Word(Draw::kDropout), epoch, example, call.layer};
    DrawMask(key.Bits(), threshold, s.count, call.mask + n * s.count);
  }
}

template <typename T>
struct DropoutLoop {
  using Call = DropoutCall;
  DropoutShape shape;
  void Forward(const Call& call) const {
    DrawMasks(shape, call);
    Backward(call);
  }
  void Backward(const Call& call) const {
    ApplyMask(shape, static_cast<const T*>(call.from), call.mask, static_cast<T*>(call.to));
  }
};

}  // namespace

const KernelList<DropoutCall, DropoutShape> operation::kDropout(
    "dropout", {}, {{"cuda", "cuda", cuda::Make}, {"loops", TypedLoopsOf<DropoutLoop>}});

std::unique_ptr<DropoutKernel> MakeDropout(const DropoutShape& shape, const Target& target) {
  return operation::kDropout.Make(shape, target);
}

}  // namespace yoke
