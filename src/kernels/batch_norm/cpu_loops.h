// The loops of batch normalization's passes, for 8 or 16 lanes. Channels-last, a tile of a few rows
// is summed in registers, tiles in f32 sums that stay in the L1 cache, and a few hundred rows in
// double; planes of a plain tensor likewise. Passes that write run backwards, because the pass
// before left the end in the caches. They call nothing from the standard library: see wide.h.
#pragma once

#include "kernels/batch_norm/cpu_passes.h"
#include "kernels/cpu/wide.h"

namespace yoke::cpu {
namespace {

inline constexpr int64_t kTile = 8;           // rows per tile
inline constexpr int64_t kGroup = 256;        // rows (in a plane: vectors) with f32 sums
inline constexpr int64_t kAhead = 1024;       // elements to prefetch if a tile has fewer
inline constexpr int64_t kChunk = 64 * 1024;  // elements written in order within a chunk

[[gnu::always_inline]] inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
[[gnu::always_inline]] inline int64_t Most(int64_t a, int64_t b) { return a < b ? b : a; }

/// The constants of neighbouring elements: of several channels, or of one (`Plane`).
template <int Lanes, bool Plane>
struct Constants {
  using Floats = typename Wide<Lanes>::Floats;
  Floats center, scale, bias, slope, offset;

  [[gnu::always_inline]] Constants(const NormPass& pass, int64_t c) {
    Take(pass.center, c, center);
    Take(pass.scale, c, scale);
    Take(pass.bias, c, bias);
    Take(pass.slope, c, slope);
    Take(pass.offset, c, offset);
  }
  [[gnu::always_inline]] static void Take(const float* from, int64_t c, Floats& v) {
    v = Floats{};
    if (!from) return;
    if constexpr (Plane)
      v += from[c];
    else
      Wide<Lanes>::Load(from + c, v);
  }
};

/// Optional parts of a pass. They are template arguments, so loops have no branches for them.
enum Use : unsigned {
  kAdds = 1,     // z, or a second gradient
  kRelu = 2,     // a ReLU after the sum
  kSees = 4,     // y, for the ReLU's sign
  kKeeps = 8,    // g is stored
  kStreams = 16  // results bypass the caches
};

constexpr unsigned MayUse(NormStep step) {
  switch (step) {
    case NormStep::kMoments:
      return 0;
    case NormStep::kGradientSums:
      return kAdds | kRelu | kSees | kKeeps;
    case NormStep::kNormalize:
      return kAdds | kRelu | kStreams;
    case NormStep::kInputGradient:
      return kRelu | kStreams;
  }
  return 0;
}

[[gnu::always_inline]] inline unsigned UsesOf(const NormPass& pass) {
  unsigned uses = 0;
  if (pass.more || pass.z) uses |= kAdds;
  if (pass.relu) uses |= kRelu;
  if (pass.relu && pass.y) uses |= kSees;
  if (pass.to) uses |= kKeeps;
  if (pass.stream) uses |= kStreams;
  return uses & MayUse(pass.step);
}

/// The computation at one position in memory.
template <typename T, NormStep Step, unsigned Used>
struct Place {
  static constexpr bool kSums = Step == NormStep::kMoments || Step == NormStep::kGradientSums;
  static constexpr bool Uses(Use use) { return (Used & use) != 0; }
  template <int Lanes>
  using Floats = typename Wide<Lanes>::Floats;

  /// Loads, and prefetches the same position of a later tile into the L2 cache. Prefetching into
  /// L1, which has few outstanding misses, cost a third of the pass (Zen 4).
  template <int Lanes>
  [[gnu::always_inline]] static void Load(const NormPass& pass, const void* from, int64_t i,
                                          Floats<Lanes>& v) {
    const T* at = static_cast<const T*>(from) + i;
    __builtin_prefetch(at + pass.ahead, 0, 2);
    Wide<Lanes>::Load(at, v);
  }

  /// g: the gradient of the output before the ReLU; d: x - center.
  template <int Lanes, bool Plane>
  [[gnu::always_inline]] static void Gradient(const NormPass& pass,
                                              const Constants<Lanes, Plane>& k, int64_t i,
                                              Floats<Lanes>& g, Floats<Lanes>& d) {
    Load<Lanes>(pass, pass.dy, i, g);
    if constexpr (Uses(kAdds)) {
      Load<Lanes>(pass, pass.more, i, d);
      g += d;
    }
    Load<Lanes>(pass, pass.x, i, d);
    d -= k.center;
    if constexpr (Uses(kRelu)) {
      Floats<Lanes> y;
      if constexpr (Uses(kSees))
        Load<Lanes>(pass, pass.y, i, y);
      else
        y = d * k.scale + k.bias;
      g = y <= 0 ? Floats<Lanes>{} : g;
    }
  }

  template <int Lanes, bool Plane>
  [[gnu::always_inline]] static void Sum(const NormPass& pass, const Constants<Lanes, Plane>& k,
                                         int64_t i, Floats<Lanes>& u, Floats<Lanes>& v) {
    Floats<Lanes> d, g;
    if constexpr (Step == NormStep::kMoments) {
      Load<Lanes>(pass, pass.x, i, d);
      d -= k.center;
      g = d;
    } else {
      Gradient(pass, k, i, g, d);
      if constexpr (Uses(kKeeps)) Wide<Lanes>::Store(g, static_cast<T*>(pass.to) + i);
    }
    u += g;
    v += g * d;
  }

  template <int Lanes, bool Plane>
  [[gnu::always_inline]] static void Write(const NormPass& pass, const Constants<Lanes, Plane>& k,
                                           int64_t i) {
    Floats<Lanes> d, g, result;
    if constexpr (Step == NormStep::kNormalize) {
      Load<Lanes>(pass, pass.x, i, d);
      result = (d - k.center) * k.scale + k.bias;
      if constexpr (Uses(kAdds)) {
        Load<Lanes>(pass, pass.z, i, g);
        result += g;
      }
      if constexpr (Uses(kRelu)) result = result < 0 ? Floats<Lanes>{} : result;  // a NaN stays one
    } else {
      Gradient(pass, k, i, g, d);
      result = g * k.scale + (d * k.slope + k.offset);
    }
    T* to = static_cast<T*>(pass.to) + i;
    if constexpr (Uses(kStreams))
      Wide<Lanes>::Stream(result, to);
    else
      Wide<Lanes>::Store(result, to);
  }
};

/// Processes `rows` channels-last rows from `row` on, Lanes channels at a time. Adds to f32 sums
/// [2, channels], or writes. Returns the first channel that is left.
template <typename At, int Lanes, typename Count>
[[gnu::always_inline]] inline int64_t Columns(const NormPass& pass, int64_t row, Count rows,
                                              int64_t c, float* sums) {
  const int64_t channels = pass.channels;
  for (; c + Lanes <= channels; c += Lanes) {
    const Constants<Lanes, false> k(pass, c);
    if constexpr (At::kSums) {
      typename Wide<Lanes>::Floats u, v;
      Wide<Lanes>::Load(sums + c, u);
      Wide<Lanes>::Load(sums + channels + c, v);
      for (int r = 0; r < rows; ++r) At::Sum(pass, k, (row + r) * channels + c, u, v);
      Wide<Lanes>::Store(u, sums + c);
      Wide<Lanes>::Store(v, sums + channels + c);
    } else {
      for (int r = 0; r < rows; ++r) At::Write(pass, k, (row + r) * channels + c);
    }
  }
  return c;
}

/// The channels that a vector does not fill. Its loops are not unrolled, which would double the
/// time to compile. It takes a copy: a pass whose address is known elsewhere leaves the registers.
template <typename At, int Lanes>
[[gnu::noinline]] void Rest(const NormPass pass, int64_t row, int rows, int64_t c, float* sums) {
  c = Columns<At, Lanes>(pass, row, rows, c, sums);
  if constexpr (Lanes > 1)
    if (c < pass.channels) Rest<At, kFewerLanes<Lanes>>(pass, row, rows, c, sums);
}

template <typename At, int Lanes, int Rows>
[[gnu::always_inline]] inline void Tile(const NormPass& pass, int64_t row, float* sums) {
  const int64_t c = Columns<At, Lanes>(pass, row, std::integral_constant<int, Rows>(), 0, sums);
  if (c < pass.channels) Rest<At, kFewerLanes<Lanes>>(pass, row, Rows, c, sums);
}

template <typename At, int Lanes>
[[gnu::always_inline]] inline void Rows(const NormPass& pass, int64_t begin, int64_t end,
                                        float* sums) {
  int64_t row = begin;
  for (; row + kTile <= end; row += kTile) Tile<At, Lanes, kTile>(pass, row, sums);
  for (; row < end; ++row) Tile<At, Lanes, 1>(pass, row, sums);
}

template <typename At, int Lanes>
[[gnu::always_inline]] inline void SumRows(const NormPass& pass, int64_t begin, int64_t end,
                                           double* sums) {
  for (int64_t i = 0; i < 2 * pass.channels; ++i) sums[i] = 0;
  float* near = reinterpret_cast<float*>(sums + 2 * pass.channels);
  for (int64_t row = begin; row < end; row += kGroup) {
    for (int64_t i = 0; i < 2 * pass.channels; ++i) near[i] = 0;
    Rows<At, Lanes>(pass, row, Least(row + kGroup, end), near);
    for (int64_t i = 0; i < 2 * pass.channels; ++i) sums[i] += double(near[i]);
  }
}

template <typename At, int Lanes>
[[gnu::always_inline]] inline void SumSpan(const NormPass& pass, int64_t c, int64_t begin,
                                           int64_t end, double* sums) {
  typename Wide<Lanes>::Floats u = {}, v = {};
  const Constants<Lanes, true> k(pass, c);
  for (int64_t i = begin; i < end; i += Lanes) At::Sum(pass, k, i, u, v);
  for (int lane = 0; lane < Lanes; ++lane) {
    sums[c] += double(u[lane]);
    sums[pass.channels + c] += double(v[lane]);
  }
}

/// The planes of channels [begin, end).
template <typename At, int Lanes>
[[gnu::always_inline]] inline void SumPlanes(const NormPass& pass, int64_t begin, int64_t end,
                                             double* sums) {
  const int64_t wide = pass.pixels / Lanes * Lanes;
  for (int64_t c = begin; c < end; ++c) {
    sums[c] = sums[pass.channels + c] = 0;
    for (int64_t n = 0; n < pass.batch; ++n) {
      const int64_t plane = (n * pass.channels + c) * pass.pixels;
      for (int64_t p = 0; p < wide; p += kGroup * Lanes)
        SumSpan<At, Lanes>(pass, c, plane + p, plane + Least(p + kGroup * Lanes, wide), sums);
      SumSpan<At, 1>(pass, c, plane + wide, plane + pass.pixels, sums);
    }
  }
}

/// The planes [begin, end) of batch * channels.
template <typename At, int Lanes>
[[gnu::always_inline]] inline void WritePlanes(const NormPass& pass, int64_t begin, int64_t end) {
  for (int64_t plane = end - 1; plane >= begin; --plane) {
    const int64_t last = (plane + 1) * pass.pixels;
    int64_t i = plane * pass.pixels;
    const Constants<Lanes, true> k(pass, plane % pass.channels);
    for (; i + Lanes <= last; i += Lanes) At::Write(pass, k, i);
    const Constants<1, true> one(pass, plane % pass.channels);
    for (; i < last; ++i) At::Write(pass, one, i);
  }
}

template <typename At, int Lanes>
[[gnu::always_inline]] inline void WriteRows(const NormPass& pass, int64_t begin, int64_t end) {
  const int64_t chunk = (kChunk / pass.channels / kTile + 1) * kTile;
  for (int64_t last = end; last > begin; last -= chunk)
    Rows<At, Lanes>(pass, last - begin < chunk ? begin : last - chunk, last, nullptr);
}

template <typename At, int Lanes>
void Run(const NormPass& pass, int64_t begin, int64_t end, double* sums) {
  const bool plain = pass.layout == Layout::kPlain;
  if constexpr (At::kSums) {
    plain ? SumPlanes<At, Lanes>(pass, begin, end, sums)
          : SumRows<At, Lanes>(pass, begin, end, sums);
  } else {
    plain ? WritePlanes<At, Lanes>(pass, begin, end) : WriteRows<At, Lanes>(pass, begin, end);
    if constexpr (At::Uses(kStreams)) EndStream();
  }
}

/// Selects the loop for what the pass uses; `Next` is the next use to test.
template <typename T, NormStep Step, int Lanes, unsigned Used = 0, unsigned Next = 1>
[[gnu::always_inline]] inline void Choose(const NormPass& pass, int64_t begin, int64_t end,
                                          double* sums) {
  // The sign of y is needed only with a ReLU: do not compile a loop for the other case.
  constexpr bool kUseless = (Used & kSees) && !(Used & kRelu);
  if constexpr (kUseless) {
  } else if constexpr (Next > kStreams) {
    Run<Place<T, Step, Used>, Lanes>(pass, begin, end, sums);
  } else if constexpr ((MayUse(Step) & Next) == 0) {
    Choose<T, Step, Lanes, Used, 2 * Next>(pass, begin, end, sums);
  } else {
    if (UsesOf(pass) & Next)
      Choose<T, Step, Lanes, Used | Next, 2 * Next>(pass, begin, end, sums);
    else
      Choose<T, Step, Lanes, Used, 2 * Next>(pass, begin, end, sums);
  }
}

template <typename T, int Lanes>
[[gnu::always_inline]] inline void Part(const NormPass& given, int64_t begin, int64_t end,
                                        double* sums) {
  NormPass pass = given;  // a copy that stores cannot alias, so it stays in registers
  pass.ahead = kTile * Most(pass.channels, kAhead / kTile);
  switch (pass.step) {
    case NormStep::kMoments:
      return Choose<T, NormStep::kMoments, Lanes>(pass, begin, end, sums);
    case NormStep::kGradientSums:
      return Choose<T, NormStep::kGradientSums, Lanes>(pass, begin, end, sums);
    case NormStep::kNormalize:
      return Choose<T, NormStep::kNormalize, Lanes>(pass, begin, end, sums);
    case NormStep::kInputGradient:
      return Choose<T, NormStep::kInputGradient, Lanes>(pass, begin, end, sums);
  }
}

}  // namespace
}  // namespace yoke::cpu
