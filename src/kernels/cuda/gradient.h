// Gradient: zeroes a gradient where a ReLU was off, and sums its columns, in one pass.
#pragma once

#include "kernels/cuda/numbers.h"

namespace yoke::cuda {

/// A matrix of gradients, `stride` from row to row. Large ones are summed by chunks of rows.
template <typename T>
struct MaskAndSumBody {
  const T* relu_output;  ///< Null: no ReLU.
  T* gradient;
  float* sums;  ///< [chunks, columns]; null: only the mask.
  int64_t rows, columns, stride, tiles, each;

  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    const int64_t first = i / tiles * each, own = Most(Least(each, rows - first), 0);
    team.Columns(
        own, 0.0F,
        [&](int64_t r, int column) {
          const int64_t c = i % tiles * kWarp + column, at = (first + r) * stride + c;
          if (c >= columns) return 0.0F;
          if (relu_output && Wide(relu_output[at]) == 0) gradient[at] = Narrow<T>(0);
          return Wide(gradient[at]);
        },
        [](float a, float b) { return a + b; },
        [&](int column, float sum) {
          const int64_t c = i % tiles * kWarp + column;
          if (sums && c < columns) sums[i / tiles * columns + c] = sum;
        });
  }
};

/// The sum of each column of a tile over rows of chunks' sums.
struct SumChunksBody {
  const float* partial;
  float* sums;
  int64_t chunks, columns;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t tile) const {
    team.Columns(
        chunks, 0.0F,
        [&](int64_t k, int column) {
          const int64_t c = tile * kWarp + column;
          return c < columns ? partial[k * columns + c] : 0.0F;
        },
        [](float a, float b) { return a + b; },
        [&](int column, float sum) {
          if (const int64_t c = tile * kWarp + column; c < columns) sums[c] = sum;
        });
  }
};

/// The pass for one shape.
class MaskAndSum {
 public:
  MaskAndSum(int64_t rows, int64_t columns, int64_t stride)
      : rows_(rows), columns_(columns), stride_(stride), tiles_((columns + kWarp - 1) / kWarp) {
    constexpr int64_t kTeams = 512, kLeastRows = 1024;
    each_ = Most((rows * tiles_ + kTeams - 1) / kTeams, kLeastRows);
    chunks_ = Most((rows + each_ - 1) / each_, 1);
  }
  int64_t scratch_bytes() const {
    return chunks_ > 1 ? chunks_ * columns_ * static_cast<int64_t>(sizeof(float)) : 0;
  }
  /// Nothing is done where neither is given.
  template <typename T, typename Grid>
  void Run(const Grid& grid, const T* relu_output, T* gradient, float* sums, void* scratch) const {
    if (!relu_output && !sums) return;
    auto* const partial = static_cast<float*>(scratch);
    grid.Teams(tiles_ * chunks_, kMostThreads,
               MaskAndSumBody<T>{relu_output, gradient, chunks_ > 1 && sums ? partial : sums, rows_,
                                 columns_, stride_, tiles_, each_});
    if (chunks_ > 1 && sums)
      grid.Teams(tiles_, kMostThreads, SumChunksBody{partial, sums, chunks_, columns_});
  }

 private:
  int64_t rows_, columns_, stride_, tiles_, each_, chunks_;
};

}  // namespace yoke::cuda
