// Local response norm: an element a thread, which sums its neighbouring channels.
#pragma once

#include <cmath>

#include "kernels/cuda/numbers.h"
#include "kernels/local_response_norm/local_response_norm.h"
#include "kernels/makers.h"

namespace yoke::cuda {

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
