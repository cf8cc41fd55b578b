// Multiply: a gated image is a run of pixels for each channel, or of channels for each pixel.
#include "kernels/join/join.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/elementwise.h"
#include "kernels/image.h"
#include "kernels/makers.h"

namespace yoke {
namespace {

constexpr int64_t kGatedChannels = 64;  // channels whose sums stay in registers and cache

template <typename T>
void ScaleAll(const T* x, float factor, int64_t n, T* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(static_cast<float>(x[i]) * factor);
}

template <typename T>
void ScaleEach(const T* x, const T* factors, int64_t n, T* y) {
  for (int64_t i = 0; i < n; ++i)
    y[i] = static_cast<T>(static_cast<float>(x[i]) * static_cast<float>(factors[i]));
}

template <typename T>
float SumOfProducts(const T* a, const T* b, int64_t n) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += static_cast<float>(a[i]) * static_cast<float>(b[i]);
  return sum;
}

template <typename T>
void AddProducts(const T* a, const T* b, int64_t n, float* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] += static_cast<float>(a[i]) * static_cast<float>(b[i]);
}

template <typename T>
void Gate(const Tensor& x, const Tensor& gate, const Tensor& output) {
  const ImageRuns runs(x);
#pragma omp parallel for schedule(static) collapse(2)
  for (int64_t n = 0; n < x.shape[0]; ++n)
    for (int64_t r = 0; r < runs.count(); ++r) {
      const int64_t at = n * runs.image() + r * runs.length();
      const T* factors = gate.As<T>() + n * runs.channels;
      if (runs.last)
        ScaleEach(x.As<T>() + at, factors, runs.length(), output.As<T>() + at);
      else
        ScaleAll(x.As<T>() + at, static_cast<float>(factors[r]), runs.length(),
                 output.As<T>() + at);
    }
}

/// Of channels [begin, begin + count) of image n.
template <typename T>
void GateBack(const MultiplyCall& call, int64_t n, int64_t begin, int64_t count) {
  const ImageRuns runs(call.x);
  float sums[kGatedChannels] = {};
  const T* factors = call.gate.As<T>() + n * runs.channels + begin;
  T* const dx = call.x_gradient.As<T>();
  const int64_t steps = runs.last ? runs.pixels : count;
  const int64_t length = runs.last ? count : runs.pixels;
  for (int64_t s = 0; s < steps; ++s) {
    const int64_t at =
        n * runs.image() + (runs.last ? s * runs.channels + begin : (begin + s) * runs.pixels);
    const T *x = call.x.As<T>() + at, *dy = call.output_gradient.As<T>() + at;
    if (call.gate_gradient.data && runs.last) AddProducts(x, dy, length, sums);
    if (call.gate_gradient.data && !runs.last) sums[s] = SumOfProducts(x, dy, length);
    if (dx && runs.last) ScaleEach(dy, factors, length, dx + at);
    if (dx && !runs.last) ScaleAll(dy, static_cast<float>(factors[s]), length, dx + at);
  }
  for (int64_t c = 0; call.gate_gradient.data && c < count; ++c)
    call.gate_gradient.As<T>()[n * runs.channels + begin + c] = static_cast<T>(sums[c]);
}

template <typename T>
void AllGateBack(const MultiplyCall& call) {
  const int64_t channels = call.x.shape[1];
#pragma omp parallel for schedule(static) collapse(2)
  for (int64_t n = 0; n < call.x.shape[0]; ++n)
    for (int64_t c = 0; c < channels; c += kGatedChannels)
      GateBack<T>(call, n, c, std::min(kGatedChannels, channels - c));
}

/// to = a * b, number by number; it may be one of them.
template <typename T>
void MultiplyEach(const Tensor& a, const Tensor& b, const Tensor& to) {
  const T *x = a.As<T>(), *y = b.As<T>();
  FillEach(to.As<T>(), a.Count(), [=](int64_t i) { return float(x[i]) * float(y[i]); });
}

/// The gate's first: the other may overwrite what both read.
template <typename T>
void EachBack(const MultiplyCall& call) {
  if (call.gate_gradient.data) MultiplyEach<T>(call.output_gradient, call.x, call.gate_gradient);
  if (call.x_gradient.data) MultiplyEach<T>(call.output_gradient, call.gate, call.x_gradient);
}

struct MultiplyLoop {
  using Call = MultiplyCall;
  static void Forward(const Call& call) {
    const Tensor &x = call.x, &gate = call.gate, &output = call.output;
    Check(x.type == gate.type && x.type == output.type, "products are of one type");
    const bool each = gate.Count() == x.Count();
    if (x.type == DType::kF32)
      return each ? MultiplyEach<float>(x, gate, output) : Gate<float>(x, gate, output);
    Check(x.type == DType::kBf16, "products are of f32 or bf16");
    each ? MultiplyEach<Bf16>(x, gate, output) : Gate<Bf16>(x, gate, output);
  }
  static void Backward(const Call& call) {
    const bool each = call.gate.Count() == call.x.Count();
    if (call.x.type == DType::kF32) return each ? EachBack<float>(call) : AllGateBack<float>(call);
    each ? EachBack<Bf16>(call) : AllGateBack<Bf16>(call);
  }
};

}  // namespace

const KernelList<MultiplyCall, NoShape> operation::kMultiply("multiply", {},
                                                             {{"cuda", "cuda", cuda::Make},
                                                              {"loops", LoopsOf<MultiplyLoop>}});

std::unique_ptr<MultiplyKernel> MakeMultiply(const Target& target) {
  return operation::kMultiply.Make({}, target);
}

}  // namespace yoke
