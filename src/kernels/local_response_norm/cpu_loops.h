// The loops of local response normalization, for 8 or 16 lanes. A block of pixels is copied to f32
// in the cache. Zeros around a line's squares stand for missing channels, so a window over channels
// is a few shifted loads. Each step is done for all lines of a block before the next step reads it,
// because loads that straddle fresh stores are slow. They call nothing from the standard library:
// see wide.h.
#pragma once

#include "kernels/cpu/wide.h"
#include "kernels/local_response_norm/cpu_block.h"

namespace yoke::cpu {
namespace {

/// Exponents that need only square roots, and all others.
enum class Power : uint8_t { kHalf, kThreeQuarters, kOne, kOther };

template <typename T, int Lanes>
class NormLoops {
  using W = Wide<Lanes>;
  using Floats = typename W::Floats;

 public:
  [[gnu::always_inline]] static void Forward(const NormBlockCall& given) {
    const NormBlockCall c = given;  // a copy that stores cannot alias
    Take(c, static_cast<const T*>(c.input), c.rows.x);
    ForEachScale(
        c, [&](int64_t i, const Floats& scale, const Floats& /*inverse*/)
               __attribute__((always_inline)) { Store(Load(c.rows.x + i) * scale, c.rows.x + i); });
    Give(c, c.rows.x, static_cast<T*>(c.result));
  }

  [[gnu::always_inline]] static void Backward(const NormBlockCall& given) {
    const NormBlockCall c = given;
    Take(c, static_cast<const T*>(c.input), c.rows.x);
    Take(c, static_cast<const T*>(c.output_gradient), c.rows.gradient);
    Differentiate(c);
    Give(c, c.rows.gradient, static_cast<T*>(c.result));
  }

 private:
  [[gnu::always_inline]] static Floats Load(const float* from) {
    Floats v;
    W::Load(from, v);
    return v;
  }
  [[gnu::always_inline]] static void Store(const Floats& v, float* to) { W::Store(v, to); }

  /// to = from, for n elements.
  template <typename From, typename To>
  [[gnu::always_inline]] static void Copy(const From* from, int64_t n, To* to) {
    int64_t i = 0;
    for (; i + Lanes <= n; i += Lanes) {
      Floats v;
      W::Load(from + i, v);
      W::Store(v, to + i);
    }
    for (; i < n; ++i) {
      typename Wide<1>::Floats v;
      Wide<1>::Load(from + i, v);
      Wide<1>::Store(v, to + i);
    }
  }

  /// Calls copy(offset in the tensor, offset in the lines, count) for each contiguous run of a
  /// block.
  template <typename CopyRun>
  [[gnu::always_inline]] static void ForEachRun(const NormBlockCall& c, const CopyRun& copy) {
    const NormBlock& b = c.block;
    if (c.plain)
      for (int64_t i = 0; i < c.channels; ++i) copy(b.first + i * c.pixels, i * b.width, b.width);
    else
      for (int64_t i = 0; i < b.lines; ++i)
        copy(b.first + i * c.channels, i * c.stride, c.channels);
  }

  [[gnu::always_inline]] static void Take(const NormBlockCall& c, const T* from, float* to) {
    ForEachRun(
        c, [=](int64_t image, int64_t line, int64_t n)
               __attribute__((always_inline)) { Copy(from + image, n, to + line); });
  }

  [[gnu::always_inline]] static void Give(const NormBlockCall& c, const float* from, T* to) {
    ForEachRun(
        c, [=](int64_t image, int64_t line, int64_t n)
               __attribute__((always_inline)) { Copy(from + line, n, to + image); });
  }

  [[gnu::always_inline]] static int64_t Margin(const NormBlockCall& c) {
    return c.window / 2 * c.block.width;
  }

  /// Calls body(offset) for each vector of each line.
  template <typename Body>
  [[gnu::always_inline]] static void ForEachVector(const NormBlockCall& c, const Body& body) {
    const int64_t count = c.channels * c.block.width;
    for (int64_t line = 0; line < c.block.lines; ++line)
      for (int64_t i = 0; i < count; i += Lanes) body(line * c.stride + i);
  }

  [[gnu::always_inline]] static void Clear(float* from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) from[i] = 0;
  }

  /// Writes zeros around each line.
  [[gnu::always_inline]] static void Surround(const NormBlockCall& c, float* padded) {
    const int64_t count = c.channels * c.block.width, margin = Margin(c);
    for (int64_t line = 0; line < c.block.lines; ++line, padded += c.stride) {
      Clear(padded, margin);
      Clear(padded + margin + count, margin + Lanes);
    }
  }

  /// Sums over windows of channels, from `padded` on.
  [[gnu::always_inline]] static Floats SumWindows(const NormBlockCall& c, const float* padded) {
    const int64_t width = c.block.width;
    Floats sum = Load(padded);
    if (c.window == 5) {  // the most common size, unrolled
      sum += Load(padded + width) + Load(padded + 2 * width);
      return sum + (Load(padded + 3 * width) + Load(padded + 4 * width));
    }
    for (int64_t j = 1; j < c.window; ++j) sum += Load(padded + j * width);
    return sum;
  }

  /// 1 / sqrt(s): the CPU's estimate and one Newton step, which doubles the
  /// bits.
  [[gnu::always_inline]] static Floats InverseRoot(const Floats& s) {
    Floats r;
    EstimateInverseRoot(s, r);
    return r * (1.5F - 0.5F * s * r * r);
  }

  /// s^-beta
  template <Power P>
  [[gnu::always_inline]] static Floats PowerOfSum(const Floats& s, const Floats& root, float beta) {
    if constexpr (P == Power::kHalf) return root;
    if constexpr (P == Power::kThreeQuarters) return root * root * InverseRoot(root);
    if constexpr (P == Power::kOne) return root * root;
    Floats power;
    for (int lane = 0; lane < Lanes; ++lane) power[lane] = __builtin_powf(s[lane], -beta);
    return power;
  }

  /// Calls use(offset, s^-beta, 1 / s) for each vector of a block.
  template <typename Use>
  [[gnu::always_inline]] static void ForEachScale(const NormBlockCall& c, const Use& use) {
    if (c.beta == 0.75) return ForEachPower<Power::kThreeQuarters>(c, use);
    if (c.beta == 0.5) return ForEachPower<Power::kHalf>(c, use);
    if (c.beta == 1) return ForEachPower<Power::kOne>(c, use);
    ForEachPower<Power::kOther>(c, use);
  }

  template <Power P, typename Use>
  [[gnu::always_inline]] static void ForEachPower(const NormBlockCall& c, const Use& use) {
    const NormRows& rows = c.rows;
    float* squares = rows.squares + Margin(c);
    ForEachVector(
        c, [&](int64_t i) __attribute__((always_inline)) {
          const Floats x = Load(rows.x + i);
          Store(x * x, squares + i);
        });
    Surround(c, rows.squares);
    const auto k = static_cast<float>(c.k), beta = static_cast<float>(c.beta);
    const auto share = static_cast<float>(c.alpha / static_cast<double>(c.size));
    ForEachVector(
        c, [&](int64_t i) __attribute__((always_inline)) {
          const Floats sum = k + share * SumWindows(c, rows.squares + i);
          const Floats root = InverseRoot(sum);
          use(i, PowerOfSum<P>(sum, root, beta), root * root);
        });
  }

  /// Turns the output's gradient into the input's.
  [[gnu::always_inline]] static void Differentiate(const NormBlockCall& c) {
    const NormRows& rows = c.rows;
    float* shares = rows.shares + Margin(c);
    ForEachScale(
        c, [&](int64_t i, const Floats& scale, const Floats& inverse)
               __attribute__((always_inline)) {
                 const Floats g = Load(rows.gradient + i) * scale;
                 Store(g, rows.gradient + i);
                 Store(g * Load(rows.x + i) * inverse, shares + i);
               });
    Surround(c, rows.shares);
    const auto factor = static_cast<float>(2 * c.alpha * c.beta / static_cast<double>(c.size));
    ForEachVector(
        c, [&](int64_t i) __attribute__((always_inline)) {
          const Floats sum = SumWindows(c, rows.shares + i);
          Store(Load(rows.gradient + i) - factor * Load(rows.x + i) * sum, rows.gradient + i);
        });
  }
};

}  // namespace
}  // namespace yoke::cpu
