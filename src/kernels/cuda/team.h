// Team: how the threads of a block share a row, written once for the GPU and for the host's tests.
// Whoever includes this has defined YOKE_HOST_DEVICE (gpu_grid.cuh or
// tests/kernels/support/cuda_host.h).
#pragma once

#include <cstdint>

namespace yoke::cuda {

inline constexpr int kTeam = 256;  ///< Threads of a team for wide rows.
inline constexpr int kWarp = 32;   ///< Of one for narrow rows; the columns of a tile.
inline constexpr int kMostThreads = 1024;
inline constexpr int kMostSum = 16;  ///< Bytes of what a team reduces.

/// As many threads as a row of `count` elements keeps busy.
inline int ThreadsFor(int64_t count) { return count <= 2 * kWarp ? kWarp : kTeam; }

/// A team on the host: its threads one after the other, sums in the order of the GPU's.
///
/// A body calls these alike in all of its threads, since each waits for all:
///   Reduce: thread t joins elements t, t + threads, ...; then halves of the threads are joined.
///   Columns: a tile of 32 columns; thread t takes column t % 32 of rows t / 32, ...; threads of a
///     column are joined by halves, and `finish(column, total)` is called for each of the 32.
///   Each, Once: `body(i)` for each i, or by one thread. No order among threads before Sync().
class HostTeam {
 public:
  YOKE_HOST_DEVICE explicit HostTeam(int threads) : threads_(threads) {}

  template <typename V, typename Element, typename Join>
  YOKE_HOST_DEVICE V Reduce(int64_t count, V zero, const Element& element, const Join& join) const {
    static_assert(sizeof(V) <= kMostSum);
    V partial[kMostThreads];
    for (int t = 0; t < threads_; ++t) {
      V own = zero;
      for (int64_t i = t; i < count; i += threads_) own = join(own, element(i));
      partial[t] = own;
    }
    for (int half = threads_ / 2; half > 0; half /= 2)
      for (int t = 0; t < half; ++t) partial[t] = join(partial[t], partial[t + half]);
    return partial[0];
  }

  template <typename V, typename Element, typename Join, typename Finish>
  YOKE_HOST_DEVICE void Columns(int64_t rows, V zero, const Element& element, const Join& join,
                                const Finish& finish) const {
    static_assert(sizeof(V) <= kMostSum);
    V partial[kMostThreads];
    const int lanes = threads_ / kWarp;
    for (int t = 0; t < threads_; ++t) {
      V own = zero;
      for (int64_t r = t / kWarp; r < rows; r += lanes) own = join(own, element(r, t % kWarp));
      partial[t] = own;
    }
    for (int half = threads_ / 2; half >= kWarp; half /= 2)
      for (int t = 0; t < half; ++t) partial[t] = join(partial[t], partial[t + half]);
    for (int c = 0; c < kWarp; ++c) finish(c, partial[c]);
  }

  template <typename Body>
  YOKE_HOST_DEVICE void Each(int64_t count, const Body& body) const {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
  template <typename Body>
  YOKE_HOST_DEVICE void Once(const Body& body) const {
    body();
  }
  YOKE_HOST_DEVICE void Sync() const {}

 private:
  int threads_;
};

/// The sum of element(i), in V.
template <typename V, typename Team, typename Element>
YOKE_HOST_DEVICE V SumOf(Team& team, int64_t count, const Element& element) {
  return team.Reduce(count, V{}, element, [](const V& a, const V& b) { return a + b; });
}

}  // namespace yoke::cuda
