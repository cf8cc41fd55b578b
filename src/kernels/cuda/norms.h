// Norms: batch normalization by partial moments of rows, local response normalization, pooling.
#pragma once

#include <cmath>

#include "kernels/batch_norm/batch_norm.h"
#include "kernels/cuda/numbers.h"
#include "kernels/local_response_norm/local_response_norm.h"
#include "kernels/makers.h"

namespace yoke::cuda {

/// Elements by row (an example's pixel) and channel.
struct RowIndex {
  int64_t channels, pixels;
  bool last;
  YOKE_HOST_DEVICE int64_t operator()(int64_t row, int64_t c) const {
    return last ? row * channels + c : (row / pixels * channels + c) * pixels + row % pixels;
  }
  YOKE_HOST_DEVICE int64_t Channel(int64_t i) const {
    return last ? i % channels : i / pixels % channels;
  }
};

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
    constexpr int64_t kTeams = 512, kLeastRows = 256;
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

template <typename T>
struct MomentsBody {
  Chunks chunks;
  RowIndex index;
  const T* x;
  RunningMoments* partial;  ///< [chunks, channels]
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    team.Columns(
        chunks.Rows(i), RunningMoments{},
        [&](int64_t r, int column) {
          const int64_t c = chunks.Channel(i, column);
          if (c >= chunks.channels) return RunningMoments{};
          return RunningMoments{1, Wide(x[index(chunks.First(i) + r, c)]), 0};
        },
        [](const RunningMoments& a, const RunningMoments& b) { return RunningMoments::Join(a, b); },
        [&](int column, const RunningMoments& total) {
          const int64_t c = chunks.Channel(i, column);
          if (c < chunks.channels) partial[i / chunks.tiles * chunks.channels + c] = total;
        });
  }
};

/// SaveMoments of a channel out of the chunks' moments.
struct SaveMomentsBody {
  BatchNormCall call;
  const RunningMoments* partial;
  int64_t chunks, channels;
  double epsilon, momentum;
  YOKE_HOST_DEVICE void operator()(int64_t c) const {
    RunningMoments all = {};
    for (int64_t k = 0; k < chunks; ++k) all = RunningMoments::Join(all, partial[k * channels + c]);
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

template <typename T>
struct ScaleChannelsBody {
  BatchNormCall call;
  RowIndex index;
  bool training, add, relu;
  double epsilon;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t c = index.Channel(i), channels = index.channels;
    float mean, scale;
    if (training) {
      mean = call.saved[c];
      scale = call.saved[2 * channels + c];
    } else {
      mean = call.running_mean[c];
      scale = static_cast<float>((call.weight ? call.weight[c] : 1) /
                                 sqrt(double(call.running_variance[c]) + epsilon));
    }
    float value = (Wide(static_cast<const T*>(call.input)[i]) - mean) * scale +
                  (call.bias ? call.bias[c] : 0.0F);
    if (add) value += Wide(static_cast<const T*>(call.addend)[i]);
    static_cast<T*>(call.output)[i] = Narrow<T>(relu && value < 0 ? 0.0F : value);
  }
};

/// The gradient behind the ReLU, from what its calls give.
template <typename T>
struct BatchNormGradient {
  BatchNormCall call;
  int64_t channels;
  bool add, relu;
  YOKE_HOST_DEVICE float operator()(int64_t i, int64_t c) const {
    float g = Wide(static_cast<const T*>(call.output_gradient)[i]);
    if (call.more_gradient)
      g = Wide(Narrow<T>(g + Wide(static_cast<const T*>(call.more_gradient)[i])));
    if (!relu) return g;
    const float value = add ? Wide(static_cast<const T*>(call.output)[i])
                            : (Wide(static_cast<const T*>(call.input)[i]) - call.saved[c]) *
                                      call.saved[2 * channels + c] +
                                  call.saved[3 * channels + c];
    return value <= 0 ? 0.0F : g;
  }
};

struct GradientSums {
  float sum, product;
  YOKE_HOST_DEVICE GradientSums operator+(const GradientSums& other) const {
    return {sum + other.sum, product + other.product};
  }
};

template <typename T>
struct GradientSumsBody {
  Chunks chunks;
  RowIndex index;
  BatchNormGradient<T> gradient;
  GradientSums* partial;  ///< [chunks, channels]
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    const BatchNormCall& call = gradient.call;
    team.Columns(
        chunks.Rows(i), GradientSums{},
        [&](int64_t r, int column) {
          const int64_t c = chunks.Channel(i, column);
          if (c >= chunks.channels) return GradientSums{};
          const int64_t at = index(chunks.First(i) + r, c);
          const float g = gradient(at, c);
          return GradientSums{g, g * (Wide(static_cast<const T*>(call.input)[at]) - call.saved[c])};
        },
        [](const GradientSums& a, const GradientSums& b) { return a + b; },
        [&](int column, const GradientSums& total) {
          const int64_t c = chunks.Channel(i, column);
          if (c < chunks.channels) partial[i / chunks.tiles * chunks.channels + c] = total;
        });
  }
};

/// Chunk 0 gets the channel's totals.
struct JoinSumsBody {
  BatchNormCall call;
  GradientSums* partial;
  int64_t chunks, channels;
  YOKE_HOST_DEVICE void operator()(int64_t c) const {
    double sum = 0, product = 0;
    for (int64_t k = 0; k < chunks; ++k) {
      sum += partial[k * channels + c].sum;
      product += partial[k * channels + c].product;
    }
    if (call.weight_gradient)
      call.weight_gradient[c] = static_cast<float>(product * double(call.saved[channels + c]));
    if (call.bias_gradient) call.bias_gradient[c] = static_cast<float>(sum);
    partial[c] = {static_cast<float>(sum), static_cast<float>(product)};
  }
};

template <typename T>
struct BatchNormBackBody {
  RowIndex index;
  BatchNormGradient<T> gradient;
  const GradientSums* totals;  ///< [channels]
  float rows;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const BatchNormCall& call = gradient.call;
    const int64_t c = index.Channel(i), channels = index.channels;
    const float g = gradient(i, c);
    if (call.addend_gradient) static_cast<T*>(call.addend_gradient)[i] = Narrow<T>(g);
    if (!call.input_gradient) return;
    const float inverse = call.saved[channels + c];
    const float slope = inverse * inverse * totals[c].product / rows;
    const float apart = Wide(static_cast<const T*>(call.input)[i]) - call.saved[c];
    static_cast<T*>(call.input_gradient)[i] =
        Narrow<T>(call.saved[2 * channels + c] * (g - totals[c].sum / rows - apart * slope));
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
    return s_.training ? chunks_.count * s_.channels * static_cast<int64_t>(sizeof(RunningMoments))
                       : 0;
  }

  void Forward(const BatchNormCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      if (s_.training) {
        auto* const partial = static_cast<RunningMoments*>(call.scratch);
        this->grid_.Teams(
            chunks_.Teams(), kTeam,
            MomentsBody<T>{chunks_, index_, static_cast<const T*>(call.input), partial});
        this->grid_.Each(s_.channels, SaveMomentsBody{call, partial, chunks_.count, s_.channels,
                                                      s_.epsilon, s_.momentum});
      }
      this->grid_.Each(
          s_.Count(), ScaleChannelsBody<T>{call, index_, s_.training, s_.add, s_.relu, s_.epsilon});
    });
  }

  /// Reads the gradient that came and writes none over it but where results share its memory: each
  /// thread its own element.
  void Backward(const BatchNormCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      auto* const partial = static_cast<GradientSums*>(call.scratch);
      const BatchNormGradient<T> gradient = {call, s_.channels, s_.add, s_.relu};
      this->grid_.Teams(chunks_.Teams(), kTeam,
                        GradientSumsBody<T>{chunks_, index_, gradient, partial});
      this->grid_.Each(s_.channels, JoinSumsBody{call, partial, chunks_.count, s_.channels});
      if (call.input_gradient || call.addend_gradient)
        this->grid_.Each(s_.Count(), BatchNormBackBody<T>{index_, gradient, partial,
                                                          static_cast<float>(s_.Rows())});
    });
  }

 private:
  BatchNormShape s_;
  RowIndex index_;
  Chunks chunks_;
};

/// Of all elements: s = k + alpha / size * (sum of squares of the neighbouring channels).
template <typename T>
struct NeighbourBody {
  LocalResponseNormCall call;
  RowIndex index;
  int64_t reach;
  float k, alpha_each, beta;
  float* parts;  ///< Null: forward. Written by the first pass back: dy x s^(-beta - 1).
  bool first;

  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const T* const x = static_cast<const T*>(call.input);
    const int64_t c = index.Channel(i), apart = index.last ? 1 : index.pixels;
    const int64_t low = Most(c - reach, 0) - c, high = Least(c + reach, index.channels - 1) - c;
    float sum = 0;
    for (int64_t j = low; j <= high; ++j) sum += Wide(x[i + j * apart]) * Wide(x[i + j * apart]);
    const float s = k + alpha_each * sum, scale = powf(s, -beta);
    if (!parts) {
      static_cast<T*>(call.output)[i] = Narrow<T>(Wide(x[i]) * scale);
      return;
    }
    const float own = Wide(static_cast<const T*>(call.output_gradient)[i]) * scale;
    if (first) {
      parts[i] = own * Wide(x[i]) / s;
      return;
    }
    float share = 0;
    for (int64_t j = low; j <= high; ++j) share += parts[i + j * apart];
    static_cast<T*>(call.input_gradient)[i] =
        Narrow<T>(own - 2 * alpha_each * beta * Wide(x[i]) * share);
  }
};

template <typename Grid>
class LocalResponseNormOn : public GridKernel<Grid, LocalResponseNormCall> {
 public:
  LocalResponseNormOn(const LocalResponseNormShape& shape, const Grid& grid)
      : GridKernel<Grid, LocalResponseNormCall>(grid), s_(shape) {}
  int64_t scratch_bytes() const override { return s_.Count() * SizeOf(DType::kF32); }
  void Forward(const LocalResponseNormCall& call) override { Run(call, nullptr, false); }
  void Backward(const LocalResponseNormCall& call) override {
    Run(call, static_cast<float*>(call.scratch), true);
    Run(call, static_cast<float*>(call.scratch), false);
  }

 private:
  void Run(const LocalResponseNormCall& call, float* parts, bool first) {
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Each(
          s_.Count(), NeighbourBody<T>{call,
                                       {s_.channels, s_.pixels, s_.layout == Layout::kChannelsLast},
                                       s_.size / 2,
                                       static_cast<float>(s_.k),
                                       static_cast<float>(s_.alpha / static_cast<double>(s_.size)),
                                       static_cast<float>(s_.beta),
                                       parts,
                                       first});
    });
  }

  LocalResponseNormShape s_;
};

}  // namespace yoke::cuda
