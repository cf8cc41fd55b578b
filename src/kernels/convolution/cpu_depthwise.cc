// Depthwise weight gradients: dW[c][i][j] = sum over pixels of dY[pixel][c] X[pixel under tap (i,
// j)][c]. Channels are the lanes of a vector; the sums of up to five taps of a row stay in
// registers while an image passes. Images are dealt to parts, whose sums are added at the end.
#include "kernels/convolution/cpu_weights.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/wide.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kDepthwiseBlock = 32;  // channels that a thread takes at a time

/// Taps [first, first + count) of a row of the window: the outputs whose pixels under all of them
/// are inside the image.
struct InsideWindow {
  int64_t begin, end;
  InsideWindow(const Window& w, int64_t length, int64_t first, int64_t count) {
    const int64_t before = w.padding - first * w.dilation;
    const int64_t after = length - 1 + w.padding - (first + count - 1) * w.dilation;
    begin = before > 0 ? (before + w.stride - 1) / w.stride : 0;
    end = after < 0 ? 0 : after / w.stride + 1;
  }
};

template <typename T>
class Depthwise : public WeightGradient {
 public:
  explicit Depthwise(const ConvolutionShape& shape)
      : s_(shape), out_(shape.Output()), parts_(std::min<int64_t>(shape.batch, KernelThreads())) {}

  int64_t scratch_bytes() const override { return parts_ * Sums() * 4; }

  void Run(const WeightGradientCall& call) override {
    auto* sums = static_cast<float*>(call.scratch);
#pragma omp parallel for schedule(static) collapse(2)
    for (int64_t part = 0; part < parts_; ++part)
      for (int64_t c = 0; c < s_.channels; c += kDepthwiseBlock)
        SumBlock(call, part, c, std::min(kDepthwiseBlock, s_.channels - c), sums + part * Sums());
    AddParts(sums, call.weight_gradient);
  }

 private:
  int64_t Taps() const { return s_.rows.size * s_.columns.size; }
  int64_t Sums() const { return Taps() * s_.channels; }

  void SumBlock(const WeightGradientCall& call, int64_t part, int64_t begin, int64_t count,
                float* sums) const {
    for (int64_t t = 0; t < Taps(); ++t) std::fill_n(sums + t * s_.channels + begin, count, 0.0F);
    const int64_t last = s_.batch * (part + 1) / parts_;
    for (int64_t n = s_.batch * part / parts_; n < last; ++n) {
      const T* x = static_cast<const T*>(call.input) + n * s_.height * s_.width * s_.channels;
      const T* dy =
          static_cast<const T*>(call.output_gradient) + n * out_[2] * out_[3] * s_.channels;
      int64_t c = begin;
      for (; c + 8 <= begin + count; c += 8) SumWindow<8>(x + c, dy + c, sums + c);
      for (; c < begin + count; ++c) SumWindow<1>(x + c, dy + c, sums + c);
    }
  }

  template <int Lanes>
  void SumWindow(const T* x, const T* dy, float* sums) const {
    for (int64_t i = 0; i < s_.rows.size; ++i) {
      int64_t j = 0;
      for (; j + 5 <= s_.columns.size; j += 5) SumTaps<Lanes, 5>(x, dy, i, j, sums);
      for (; j + 3 <= s_.columns.size; j += 3) SumTaps<Lanes, 3>(x, dy, i, j, sums);
      for (; j < s_.columns.size; ++j) SumTaps<Lanes, 1>(x, dy, i, j, sums);
    }
  }

  /// Taps [j, j + Count) of row i of the window.
  template <int Lanes, int Count>
  void SumTaps(const T* x, const T* dy, int64_t i, int64_t j, float* sums) const {
    typename Wide<Lanes>::Floats sum[Count] = {}, v, g;
    const Window &rows = s_.rows, &columns = s_.columns;
    const InsideWindow inside(columns, s_.width, j, Count);
    const int64_t gap = columns.dilation * s_.channels;
    for (int64_t row = 0; row < out_[2]; ++row) {
      const int64_t y = row * rows.stride + i * rows.dilation - rows.padding;
      if (y < 0 || y >= s_.height) continue;
      for (int64_t column = 0; column < out_[3]; ++column) {
        const int64_t first = column * columns.stride + j * columns.dilation - columns.padding;
        const int64_t at = (y * s_.width + first) * s_.channels;
        const bool all = column >= inside.begin && column < inside.end;
        Wide<Lanes>::Load(dy + (row * out_[3] + column) * s_.channels, g);
        for (int t = 0; t < Count; ++t) {
          const int64_t pixel = first + t * columns.dilation;
          if (!all && (pixel < 0 || pixel >= s_.width)) continue;
          Wide<Lanes>::Load(x + at + t * gap, v);
          sum[t] += g * v;
        }
      }
    }
    for (int t = 0; t < Count; ++t) {
      float* to = sums + (i * columns.size + j + t) * s_.channels;
      Wide<Lanes>::Load(to, v);
      Wide<Lanes>::Store(sum[t] + v, to);
    }
  }

  /// [parts][taps][channels] -> [channels][taps]
  void AddParts(const float* sums, float* gradient) const {
    for (int64_t c = 0; c < s_.channels; ++c)
      for (int64_t t = 0; t < Taps(); ++t) {
        float sum = 0;
        for (int64_t part = 0; part < parts_; ++part)
          sum += sums[part * Sums() + t * s_.channels + c];
        gradient[c * Taps() + t] = sum;
      }
  }

  ConvolutionShape s_;
  Shape out_;
  int64_t parts_;
};

}  // namespace

std::unique_ptr<WeightGradient> MakeDepthwiseWeightGradient(const ConvolutionShape& s) {
  const bool depthwise = s.groups > 1 && s.groups == s.channels && s.groups == s.outputs;
  const auto slow = [](const Window& w) { return w.size > 3 || w.dilation > 1; };
  if (!depthwise || s.layout != Layout::kChannelsLast || (!slow(s.rows) && !slow(s.columns)))
    return nullptr;
  if (s.type == DType::kBf16) return std::make_unique<Depthwise<Bf16>>(s);
  return std::make_unique<Depthwise<float>>(s);
}

}  // namespace yoke::cpu
