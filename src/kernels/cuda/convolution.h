// Convolution: cuDNN with channels last, weights turned to its order; else an output, an input or a
// weight's gradient a thread or team.
#pragma once

#include <algorithm>

#include "kernels/convolution/convolution.h"
#include "kernels/cuda/gradient.h"
#include "kernels/makers.h"

namespace yoke::cuda {

/// Sizes of a convolution for bodies.
struct ConvolutionSize {
  Image in, out;
  int32_t rows, columns;  ///< Of the kernel.
  int32_t row_stride, column_stride, row_padding, column_padding, row_dilation, column_dilation;
  int32_t group_channels, group_outputs;

  explicit ConvolutionSize(const ConvolutionShape& s)
      : in(s.Input(), s.layout),
        out(s.Output(), s.layout),
        rows(static_cast<int32_t>(s.rows.size)),
        columns(static_cast<int32_t>(s.columns.size)),
        row_stride(static_cast<int32_t>(s.rows.stride)),
        column_stride(static_cast<int32_t>(s.columns.stride)),
        row_padding(static_cast<int32_t>(s.rows.padding)),
        column_padding(static_cast<int32_t>(s.columns.padding)),
        row_dilation(static_cast<int32_t>(s.rows.dilation)),
        column_dilation(static_cast<int32_t>(s.columns.dilation)),
        group_channels(static_cast<int32_t>(s.channels / s.groups)),
        group_outputs(static_cast<int32_t>(s.outputs / s.groups)) {}

  YOKE_HOST_DEVICE int64_t Weight(int64_t output, int64_t c, int64_t i, int64_t j) const {
    return ((output * group_channels + c) * rows + i) * columns + j;
  }
  /// The input's row under tap i of output row y; below 0 or beyond the end: padding.
  YOKE_HOST_DEVICE int32_t Row(int32_t y, int32_t i) const {
    return y * row_stride + i * row_dilation - row_padding;
  }
  YOKE_HOST_DEVICE int32_t Column(int32_t x, int32_t j) const {
    return x * column_stride + j * column_dilation - column_padding;
  }
  YOKE_HOST_DEVICE bool Inside(int32_t y, int32_t x) const {
    return y >= 0 && y < in.height && x >= 0 && x < in.width;
  }
};

template <typename T>
struct ConvolveBody {
  ConvolutionSize size;
  const T* input;
  const T* weight;
  const T* bias;  ///< Null: none.
  T* output;
  bool relu;
  YOKE_HOST_DEVICE void operator()(int64_t at) const {
    const Image::Place p = size.out.At(at);
    const int32_t first = p.c / size.group_outputs * size.group_channels;
    float sum = bias ? Wide(bias[p.c]) : 0;
    for (int32_t i = 0; i < size.rows; ++i)
      for (int32_t j = 0; j < size.columns; ++j) {
        const int32_t y = size.Row(p.y, i), x = size.Column(p.x, j);
        if (!size.Inside(y, x)) continue;
        for (int32_t c = 0; c < size.group_channels; ++c)
          sum += Wide(input[size.in.Of(p.n, first + c, y, x)]) *
                 Wide(weight[size.Weight(p.c, c, i, j)]);
      }
    output[at] = Narrow<T>(relu && sum < 0 ? 0.0F : sum);
  }
};

template <typename T>
struct ConvolveInputBody {
  ConvolutionSize size;
  const T* gradient;
  const T* weight;
  T* input;
  YOKE_HOST_DEVICE void operator()(int64_t at) const {
    const Image::Place p = size.in.At(at);
    const int32_t group = p.c / size.group_channels, c = p.c % size.group_channels;
    float sum = 0;
    for (int32_t i = 0; i < size.rows; ++i)
      for (int32_t j = 0; j < size.columns; ++j) {
        const int32_t y = p.y + size.row_padding - i * size.row_dilation;
        const int32_t x = p.x + size.column_padding - j * size.column_dilation;
        if (y < 0 || x < 0 || y % size.row_stride != 0 || x % size.column_stride != 0) continue;
        const int32_t row = y / size.row_stride, column = x / size.column_stride;
        if (row >= size.out.height || column >= size.out.width) continue;
        for (int32_t o = group * size.group_outputs; o < (group + 1) * size.group_outputs; ++o)
          sum += Wide(gradient[size.out.Of(p.n, o, row, column)]) *
                 Wide(weight[size.Weight(o, c, i, j)]);
      }
    input[at] = Narrow<T>(sum);
  }
};

/// A team a weight: the sum over the batch's pixels.
template <typename T>
struct ConvolveWeightBody {
  ConvolutionSize size;
  int64_t batch;
  const T* input;
  const T* gradient;
  float* weight;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t at) const {
    auto rest = static_cast<int32_t>(at);
    const int32_t j = rest % size.columns, i = (rest /= size.columns) % size.rows;
    const int32_t c = (rest /= size.rows) % size.group_channels, o = rest / size.group_channels;
    const int32_t channel = o / size.group_outputs * size.group_channels + c;
    const float sum = SumOf<float>(team, batch * size.out.Pixels(), [&](int64_t place) {
      const int64_t n = place / size.out.Pixels();
      const auto pixel = static_cast<int32_t>(place % size.out.Pixels());
      const int32_t row = pixel / size.out.width, column = pixel % size.out.width;
      const int32_t y = size.Row(row, i), x = size.Column(column, j);
      if (!size.Inside(y, x)) return 0.0F;
      return Wide(gradient[size.out.Of(n, o, row, column)]) *
             Wide(input[size.in.Of(n, channel, y, x)]);
    });
    team.Once([&] { weight[at] = sum; });
  }
};

/// Zeroes the gradient where the ReLU was off and sums a channel of a plain image: a team a
/// channel.
template <typename T>
struct MaskPlaneBody {
  Image size;
  int64_t batch;
  const T* relu_output;  ///< Null: no ReLU.
  T* gradient;
  float* sums;  ///< Null: only the mask.
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t c) const {
    const float sum = SumOf<float>(team, batch * size.Pixels(), [&](int64_t place) {
      const int64_t n = place / size.Pixels(), at = size.Of(n, c, 0, 0) + place % size.Pixels();
      if (relu_output && Wide(relu_output[at]) == 0) gradient[at] = Narrow<T>(0);
      return Wide(gradient[at]);
    });
    team.Once([&] {
      if (sums) sums[c] = sum;
    });
  }
};

/// Weights between [outputs, channels, taps] and [outputs, taps, channels]: element i of `to`,
/// whose inner axis is `inner`.
template <typename From, typename To>
struct TurnBody {
  const From* from;
  To* to;
  int64_t outer, inner;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t matrix = outer * inner, at = i % matrix;
    to[i] = Narrow<To>(Wide(from[i - at + at % inner * outer + at / inner]));
  }
};

/// Adds the bias of each channel, the last axis, and applies a ReLU, in place.
template <typename T>
struct AddBiasBody {
  T* output;
  const T* bias;  ///< Null: none.
  int64_t channels;
  bool relu;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const float value = Wide(output[i]) + (bias ? Wide(bias[i % channels]) : 0.0F);
    output[i] = Narrow<T>(relu && value < 0 ? 0.0F : value);
  }
};

template <typename Grid>
class ConvolutionOn : public GridKernel<Grid, ConvolutionCall> {
 public:
  using Convolver = typename Grid::Convolver;

  ConvolutionOn(const ConvolutionShape& shape, const Grid& grid, bool library = true)
      : GridKernel<Grid, ConvolutionCall>(grid),
        s_(shape),
        size_(shape),
        mask_(shape.batch * size_.out.Pixels(), shape.outputs, shape.outputs) {
    if (library && shape.layout == Layout::kChannelsLast) Plan();
  }

  int64_t scratch_bytes() const override {
    return turned_bytes_ + std::max(library_scratch_, mask_.scratch_bytes());
  }
  std::string name() const override {
    return forward_.made() || with_bias_.made() ? "cudnn" : "cuda";
  }

  void Forward(const ConvolutionCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      const auto* bias = static_cast<const T*>(s_.bias ? call.bias : nullptr);
      auto* output = static_cast<T*>(call.output);
      const bool fused = bias && with_bias_.made();
      if (!fused && !forward_.made())
        return this->grid_.Each(
            s_.Output().Count(),
            ConvolveBody<T>{size_, static_cast<const T*>(call.input),
                            static_cast<const T*>(call.weight), bias, output, s_.relu});
      (fused ? with_bias_ : forward_)
          .Run({const_cast<void*>(call.input), TurnWeight<T>(call), bias, output, Rest(call)});
      if (!fused && (bias || s_.relu))
        this->grid_.Each(s_.Output().Count(), AddBiasBody<T>{output, bias, s_.outputs, s_.relu});
    });
  }

  void Backward(const ConvolutionCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      Mask<T>(call);
      if (call.input_gradient) InputBack<T>(call);
      if (call.weight_gradient)
        WithType(narrow_ ? s_.type : DType::kF32,
                 [&]<typename Result>(Result) { WeightBack<T, Result>(call); });
    });
  }

 private:
  /// Our own bodies compute the passes that the library declines.
  void Plan() {
    forward_ = Make(ConvolutionPass::kForward);
    if (s_.bias) with_bias_ = Make(ConvolutionPass::kForwardBias);
    if (s_.training) weight_ = Make(ConvolutionPass::kWeight);
    if (s_.training && !weight_.made() && s_.type != DType::kF32) {
      weight_ = Make(ConvolutionPass::kNarrowWeight);
      narrow_ = weight_.made();
    }
    if (s_.training && s_.input_gradient) input_ = Make(ConvolutionPass::kInput);
    const bool any = forward_.made() || with_bias_.made() || weight_.made() || input_.made();
    if (any && (Turns() || narrow_))
      turned_bytes_ = (s_.Weight().Count() * SizeOf(DType::kF32) + 255) / 256 * 256;
  }
  Convolver Make(ConvolutionPass pass) {
    Convolver made(s_, pass, Target{&this->grid_.device(), &this->grid_.stream()});
    if (made.made()) library_scratch_ = std::max(library_scratch_, made.scratch_bytes());
    return made;
  }

  int64_t Taps() const { return s_.rows.size * s_.columns.size; }
  int64_t GroupChannels() const { return s_.channels / s_.groups; }
  /// Whether cuDNN's order of a weight is another.
  bool Turns() const { return Taps() > 1 && GroupChannels() > 1; }
  void* Rest(const ConvolutionCall& call) const {
    return static_cast<char*>(call.scratch) + turned_bytes_;
  }
  template <typename T>
  void* TurnWeight(const ConvolutionCall& call) {
    if (!Turns()) return const_cast<void*>(call.weight);
    this->grid_.Each(s_.Weight().Count(),
                     TurnBody<T, T>{static_cast<const T*>(call.weight),
                                    static_cast<T*>(call.scratch), Taps(), GroupChannels()});
    return call.scratch;
  }

  template <typename T>
  void Mask(const ConvolutionCall& call) {
    const auto* output = static_cast<const T*>(s_.relu ? call.output : nullptr);
    auto* gradient = static_cast<T*>(call.output_gradient);
    float* const sums = s_.bias ? call.bias_gradient : nullptr;
    if (s_.layout == Layout::kChannelsLast)
      return mask_.Run(this->grid_, output, gradient, sums, Rest(call));
    if (output || sums)
      this->grid_.Teams(s_.outputs, kTeam,
                        MaskPlaneBody<T>{size_.out, s_.batch, output, gradient, sums});
  }

  template <typename T>
  void InputBack(const ConvolutionCall& call) {
    if (input_.made())
      return input_.Run(
          {call.input_gradient, TurnWeight<T>(call), nullptr, call.output_gradient, Rest(call)});
    this->grid_.Each(s_.Input().Count(),
                     ConvolveInputBody<T>{size_, static_cast<const T*>(call.output_gradient),
                                          static_cast<const T*>(call.weight),
                                          static_cast<T*>(call.input_gradient)});
  }

  /// The library's result is of type `Result`.
  template <typename T, typename Result>
  void WeightBack(const ConvolutionCall& call) {
    if (!weight_.made())
      return this->grid_.Teams(
          s_.Weight().Count(), kTeam,
          ConvolveWeightBody<T>{size_, s_.batch, static_cast<const T*>(call.input),
                                static_cast<const T*>(call.output_gradient), call.weight_gradient});
    void* const result = Turns() || narrow_ ? call.scratch : call.weight_gradient;
    weight_.Run({const_cast<void*>(call.input), result, nullptr, call.output_gradient, Rest(call)});
    if (result == call.scratch)
      this->grid_.Each(s_.Weight().Count(),
                       TurnBody<Result, float>{static_cast<const Result*>(result),
                                               call.weight_gradient, GroupChannels(), Taps()});
  }

  ConvolutionShape s_;
  ConvolutionSize size_;
  MaskAndSum mask_;
  Convolver forward_, with_bias_, weight_, input_;
  bool narrow_ = false;  // weight_ does not give f32
  int64_t library_scratch_ = 0, turned_bytes_ = 0;
};

}  // namespace yoke::cuda
