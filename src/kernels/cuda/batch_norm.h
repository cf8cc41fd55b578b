// Batch norm: partial moments of rows, then 16 bytes a thread where channels lie side by side: a
// kernel that only moves bytes is fast if it has few instructions.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/cuda/numbers.h"
#include "kernels/makers.h"

namespace yoke::cuda {

/// Count, mean and sum of squared distances from it, joined as Chan, Golub and LeVeque (1979) do.
struct RunningMoments {
  float count, mean, squares;
  YOKE_HOST_DEVICE static RunningMoments Join(const RunningMoments& a, const RunningMoments& b) {
    if (a.count == 0) return b;
    if (b.count == 0) return a;
    const float n = a.count + b.count, apart = b.mean - a.mean, part = b.count / n;
    return {n, a.mean + apart * part, a.squares + b.squares + apart * apart * a.count * part};
  }
};

/// Team i: tile i % tiles of 32 channels, rows of chunk i / tiles.
struct Chunks {
  int64_t rows, channels, tiles, count, each;
  Chunks(int64_t all_rows, int64_t all_channels)
      : rows(all_rows), channels(all_channels), tiles((all_channels + kWarp - 1) / kWarp) {
    constexpr int64_t kTeams = 1024, kLeastRows = 256;
    each = Most((rows * tiles + kTeams - 1) / kTeams, kLeastRows);
    count = Most((rows + each - 1) / each, 1);
  }
  int64_t Teams() const { return tiles * count; }
  YOKE_HOST_DEVICE int64_t Channel(int64_t team, int column) const {
    return team % tiles * kWarp + column;
  }
  YOKE_HOST_DEVICE int64_t First(int64_t team) const { return team / tiles * each; }
  YOKE_HOST_DEVICE int64_t Rows(int64_t team) const {
    return Most(Least(each, rows - First(team)), 0);
  }
};

/// Sums of distances from the chunk's first row, which is about as far from the mean as the others.
template <typename T>
struct MomentsBody {
  Chunks chunks;
  RowIndex index;
  const T* x;
  RunningMoments* partial;  ///< [chunks, channels]
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    const int64_t first = chunks.First(i), rows = chunks.Rows(i);
    team.Columns(
        rows, PairSum{},
        [&](int64_t r, int column) {
          const int64_t c = chunks.Channel(i, column);
          if (c >= chunks.channels) return PairSum{};
          const float apart = Wide(x[index(first + r, c)]) - Wide(x[index(first, c)]);
          return PairSum{apart * apart, apart};
        },
        [](const PairSum& a, const PairSum& b) { return a + b; },
        [&](int column, const PairSum& total) {
          const int64_t c = chunks.Channel(i, column);
          if (c >= chunks.channels) return;
          RunningMoments moments = {};
          if (rows > 0) {
            const auto n = static_cast<float>(rows);
            const float squares = total.product - total.value * (total.value / n);
            moments = {n, Wide(x[index(first, c)]) + total.value / n, squares > 0 ? squares : 0};
          }
          partial[i / chunks.tiles * chunks.channels + c] = moments;
        });
  }
};

/// SaveMoments of a tile's channels out of the chunks' moments.
struct SaveMomentsBody {
  BatchNormCall call;
  const RunningMoments* partial;
  int64_t chunks, channels;
  double epsilon, momentum;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t tile) const {
    team.Columns(
        chunks, RunningMoments{},
        [&](int64_t k, int column) {
          const int64_t c = tile * kWarp + column;
          return c < channels ? partial[k * channels + c] : RunningMoments{};
        },
        [](const RunningMoments& x, const RunningMoments& y) { return RunningMoments::Join(x, y); },
        [&](int column, const RunningMoments& all) {
          if (const int64_t c = tile * kWarp + column; c < channels) Save(c, all);
        });
  }

 private:
  YOKE_HOST_DEVICE void Save(int64_t c, const RunningMoments& all) const {
    const double rows = all.count, variance = all.squares / rows;
    const double inverse = 1 / sqrt(variance + epsilon);
    call.saved[c] = all.mean;
    call.saved[channels + c] = static_cast<float>(inverse);
    call.saved[2 * channels + c] =
        static_cast<float>(call.weight ? inverse * double(call.weight[c]) : inverse);
    call.saved[3 * channels + c] = call.bias ? call.bias[c] : 0.0F;
    if (!call.moved_mean) return;
    const double unbiased = variance * rows / (rows > 2 ? rows - 1 : 1);
    const double keep = 1 - momentum;
    call.moved_mean[c] = static_cast<float>(keep * call.moved_mean[c] + momentum * all.mean);
    call.moved_variance[c] =
        static_cast<float>(keep * call.moved_variance[c] + momentum * unbiased);
  }
};

/// What training saves, in evaluation.
struct RunningScaleBody {
  BatchNormCall call;
  float* saved;  ///< [4, channels]
  int64_t channels;
  double epsilon;
  YOKE_HOST_DEVICE void operator()(int64_t c) const {
    saved[c] = call.running_mean[c];
    saved[2 * channels + c] = static_cast<float>((call.weight ? call.weight[c] : 1) /
                                                 sqrt(double(call.running_variance[c]) + epsilon));
    saved[3 * channels + c] = call.bias ? call.bias[c] : 0.0F;
  }
};

/// Mean, scale and bias of N channels side by side.
template <int N>
struct ChannelScales {
  Pack<float, N> mean, scale, bias;
  YOKE_HOST_DEVICE ChannelScales(const float* saved, int64_t channels, int64_t first)
      : mean(Pack<float, N>::Of(saved + first, 0)),
        scale(Pack<float, N>::Of(saved + 2 * channels + first, 0)),
        bias(Pack<float, N>::Of(saved + 3 * channels + first, 0)) {}
  YOKE_HOST_DEVICE float operator()(float x, int k) const {
    return (x - mean.at[k]) * scale.at[k] + bias.at[k];
  }
};

/// A thread takes N elements that lie side by side.
template <typename T, int N>
struct ScaleChannelsBody {
  BatchNormCall call;
  const float* saved;
  RowIndex index;
  bool add, relu;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const ChannelScales<N> scaled(saved, index.channels, index.Channel(i * N));
    const auto x = Pack<T, N>::Of(call.input, i);
    Pack<T, N> addend = {}, y;
    if (add) addend = Pack<T, N>::Of(call.addend, i);
    for (int k = 0; k < N; ++k) {
      float value = scaled(Wide(x.at[k]), k);
      if (add) value += Wide(addend.at[k]);
      y.at[k] = Narrow<T>(relu && value < 0 ? 0.0F : value);
    }
    y.To(call.output, i);
  }
};

/// The gradients behind the ReLU, from its calls' gradients: of N elements side by side.
template <typename T, int N>
struct BatchNormGradient {
  BatchNormCall call;
  int64_t channels;
  bool add, relu;
  struct Values {
    float at[N];
  };
  /// Of the pack at i, which begins at channel `first`.
  YOKE_HOST_DEVICE Values operator()(int64_t i, int64_t first) const {
    Values g;
    const auto came = Pack<T, N>::Of(call.output_gradient, i);
    for (int k = 0; k < N; ++k) g.at[k] = Wide(came.at[k]);
    if (call.more_gradient) {
      const auto more = Pack<T, N>::Of(call.more_gradient, i);
      for (int k = 0; k < N; ++k) g.at[k] = Wide(Narrow<T>(g.at[k] + Wide(more.at[k])));
    }
    if (!relu) return g;
    const auto seen = Pack<T, N>::Of(add ? call.output : call.input, i);
    if (add) {
      for (int k = 0; k < N; ++k)
        if (Wide(seen.at[k]) <= 0) g.at[k] = 0;
      return g;
    }
    const ChannelScales<N> scaled(call.saved, channels, first);
    for (int k = 0; k < N; ++k)
      if (scaled(Wide(seen.at[k]), k) <= 0) g.at[k] = 0;
    return g;
  }
};

template <typename T>
struct GradientSumsBody {
  Chunks chunks;
  RowIndex index;
  BatchNormGradient<T, 1> gradient;
  PairSum* partial;  ///< [chunks, channels]
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    const BatchNormCall& call = gradient.call;
    team.Columns(
        chunks.Rows(i), PairSum{},
        [&](int64_t r, int column) {
          const int64_t c = chunks.Channel(i, column);
          if (c >= chunks.channels) return PairSum{};
          const int64_t at = index(chunks.First(i) + r, c);
          const float g = gradient(at, c).at[0];
          return PairSum{g * (Wide(static_cast<const T*>(call.input)[at]) - call.saved[c]), g};
        },
        [](const PairSum& a, const PairSum& b) { return a + b; },
        [&](int column, const PairSum& total) {
          const int64_t c = chunks.Channel(i, column);
          if (c < chunks.channels) partial[i / chunks.tiles * chunks.channels + c] = total;
        });
  }
};

/// Of a tile's channels: the gradients of weight and bias, and what a row's gradient loses, for
/// each unit of distance from the mean and at all, in the place of chunk 0's sums.
struct JoinSumsBody {
  BatchNormCall call;
  PairSum* partial;
  int64_t chunks, channels;
  float rows;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t tile) const {
    team.Columns(
        chunks, PairSum{},
        [&](int64_t k, int column) {
          const int64_t c = tile * kWarp + column;
          return c < channels ? partial[k * channels + c] : PairSum{};
        },
        [](const PairSum& a, const PairSum& b) { return a + b; },
        [&](int column, const PairSum& all) {
          if (const int64_t c = tile * kWarp + column; c < channels) Save(c, all);
        });
  }

 private:
  YOKE_HOST_DEVICE void Save(int64_t c, const PairSum& all) const {
    const float inverse = call.saved[channels + c];
    if (call.weight_gradient) call.weight_gradient[c] = all.product * inverse;
    if (call.bias_gradient) call.bias_gradient[c] = all.value;
    partial[c] = {inverse * inverse * all.product / rows, all.value / rows};
  }
};

template <typename T, int N>
struct BatchNormBackBody {
  RowIndex index;
  BatchNormGradient<T, N> gradient;
  const PairSum* lost;  ///< [channels], of JoinSumsBody.
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const BatchNormCall& call = gradient.call;
    const int64_t first = index.Channel(i * N), channels = index.channels;
    const auto g = gradient(i, first);
    Pack<T, N> to;
    if (call.addend_gradient) {
      for (int k = 0; k < N; ++k) to.at[k] = Narrow<T>(g.at[k]);
      to.To(call.addend_gradient, i);
    }
    if (!call.input_gradient) return;
    const auto x = Pack<T, N>::Of(call.input, i);
    const auto mean = Pack<float, N>::Of(call.saved + first, 0),
               scale = Pack<float, N>::Of(call.saved + 2 * channels + first, 0);
    const auto less = Pack<PairSum, N>::Of(lost + first, 0);
    for (int k = 0; k < N; ++k)
      to.at[k] = Narrow<T>(scale.at[k] * (g.at[k] - less.at[k].value -
                                          (Wide(x.at[k]) - mean.at[k]) * less.at[k].product));
    to.To(call.input_gradient, i);
  }
};

template <typename Grid>
class BatchNormOn : public GridKernel<Grid, BatchNormCall> {
 public:
  BatchNormOn(const BatchNormShape& shape, const Grid& grid)
      : GridKernel<Grid, BatchNormCall>(grid),
        s_(shape),
        index_{shape.channels, shape.pixels, shape.layout == Layout::kChannelsLast},
        chunks_(shape.Rows(), shape.channels) {}

  int64_t scratch_bytes() const override {
    return s_.channels * (s_.training ? chunks_.count * static_cast<int64_t>(sizeof(RunningMoments))
                                      : 4 * SizeOf(DType::kF32));
  }

  void Forward(const BatchNormCall& call) override {
    auto* const saved = s_.training ? call.saved : static_cast<float*>(call.scratch);
    WithType(s_.type, [&]<typename T>(T) {
      if (s_.training)
        FindMoments<T>(call);
      else
        this->grid_.Each(s_.channels, RunningScaleBody{call, saved, s_.channels, s_.epsilon});
      WithPacks<T>({call.input, call.addend, call.output, saved}, [&]<int N>() {
        this->grid_.Each(s_.Count() / N,
                         ScaleChannelsBody<T, N>{call, saved, index_, s_.add, s_.relu});
      });
    });
  }

  /// Reads the gradient that came and writes none over it but where results share its memory: each
  /// thread its own elements.
  void Backward(const BatchNormCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      auto* const partial = static_cast<PairSum*>(call.scratch);
      this->grid_.Teams(
          chunks_.Teams(), kTeam,
          GradientSumsBody<T>{chunks_, index_, {call, s_.channels, s_.add, s_.relu}, partial});
      this->grid_.Teams(
          chunks_.tiles, kMostThreads,
          JoinSumsBody{call, partial, chunks_.count, s_.channels, static_cast<float>(s_.Rows())});
      if (!call.input_gradient && !call.addend_gradient) return;
      WithPacks<T>({call.input, call.output, call.output_gradient, call.more_gradient,
                    call.input_gradient, call.addend_gradient, call.saved, partial},
                   [&]<int N>() {
                     this->grid_.Each(s_.Count() / N,
                                      BatchNormBackBody<T, N>{
                                          index_, {call, s_.channels, s_.add, s_.relu}, partial});
                   });
    });
  }

 private:
  template <typename T>
  void FindMoments(const BatchNormCall& call) const {
    auto* const partial = static_cast<RunningMoments*>(call.scratch);
    this->grid_.Teams(chunks_.Teams(), kTeam,
                      MomentsBody<T>{chunks_, index_, static_cast<const T*>(call.input), partial});
    this->grid_.Teams(
        chunks_.tiles, kMostThreads,
        SaveMomentsBody{call, partial, chunks_.count, s_.channels, s_.epsilon, s_.momentum});
  }

  /// Calls run<N>() with as many elements as 16 bytes hold, or 1 where these lie apart or some of
  /// the memory is not aligned.
  template <typename T, typename Run>
  void WithPacks(std::initializer_list<const void*> memory, const Run& run) const {
    constexpr int kMost = 16 / sizeof(T);
    const bool aligned = std::ranges::all_of(
        memory, [](const void* address) { return reinterpret_cast<uintptr_t>(address) % 16 == 0; });
    if (aligned && s_.layout == Layout::kChannelsLast && s_.channels % kMost == 0)
      run.template operator()<kMost>();
    else
      run.template operator()<1>();
  }

  BatchNormShape s_;
  RowIndex index_;
  Chunks chunks_;
};

}  // namespace yoke::cuda
