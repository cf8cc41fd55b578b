// GlobalAverage: an image at a time; channels are summed side by side where they lie so.
#include "kernels/pooling/pooling.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/image.h"
#include "kernels/makers.h"

namespace yoke {
namespace {

constexpr int64_t kChannelsAtOnce = 256;  // channels whose sums stay in registers and cache

template <typename T>
void AddRow(const T* x, int64_t n, float* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<float>(x[i]);
}

template <typename T>
float SumOf(const T* x, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<float>(x[i]);
  return sum;
}

/// Channels [begin, begin + count) of an image.
template <typename T>
void AverageBlock(const T* x, const ImageRuns& size, int64_t begin, int64_t count, T* y) {
  float sums[kChannelsAtOnce] = {};
  for (int64_t c = 0; !size.last && c < count; ++c)
    sums[c] = SumOf(x + (begin + c) * size.pixels, size.pixels);
  for (int64_t p = 0; size.last && p < size.pixels; ++p)
    AddRow(x + p * size.channels + begin, count, sums);
  for (int64_t c = 0; c < count; ++c)
    y[begin + c] = static_cast<T>(sums[c] / static_cast<float>(size.pixels));
}

template <typename T>
void Average(const Tensor& image, const Tensor& output) {
  const ImageRuns size(image);
#pragma omp parallel for schedule(static) collapse(2)
  for (int64_t n = 0; n < image.shape[0]; ++n)
    for (int64_t c = 0; c < size.channels; c += kChannelsAtOnce)
      AverageBlock(image.As<T>() + n * size.channels * size.pixels, size, c,
                   std::min(kChannelsAtOnce, size.channels - c),
                   output.As<T>() + n * size.channels);
}

template <typename T>
void SpreadImage(const T* dy, const ImageRuns& size, T* dx) {
  const float share = 1 / static_cast<float>(size.pixels);
  const int64_t run = size.length();
  for (int64_t r = 0; r < size.count(); ++r)
    for (int64_t i = 0; i < run; ++i)
      dx[r * run + i] = static_cast<T>(share * static_cast<float>(dy[size.last ? i : r]));
}

template <typename T>
void Spread(const Tensor& output, const Tensor& image) {
  const ImageRuns size(image);
#pragma omp parallel for schedule(static)
  for (int64_t n = 0; n < image.shape[0]; ++n)
    SpreadImage(output.As<T>() + n * size.channels, size,
                image.As<T>() + n * size.channels * size.pixels);
}

struct GlobalAverageLoop {
  using Call = GlobalAverageCall;
  static void Forward(const Call& call) {
    if (call.image.type == DType::kF32) return Average<float>(call.image, call.average);
    Check(call.image.type == DType::kBf16, "averages are of f32 or bf16");
    Average<Bf16>(call.image, call.average);
  }
  static void Backward(const Call& call) {
    if (call.image.type == DType::kF32) return Spread<float>(call.average, call.image);
    Spread<Bf16>(call.average, call.image);
  }
};

}  // namespace

const KernelList<GlobalAverageCall, NoShape> operation::kGlobalAverage(
    "global average", {}, {{"cuda", "cuda", cuda::Make}, {"loops", LoopsOf<GlobalAverageLoop>}});

std::unique_ptr<GlobalAverageKernel> MakeGlobalAverage(const Target& target) {
  return operation::kGlobalAverage.Make({}, target);
}

}  // namespace yoke
