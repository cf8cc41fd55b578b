// Wide: vectors of 16 lanes for files compiled for AVX-512, and of 8 elsewhere. Such a file has
// `#pragma GCC target(...)` after its other headers and before this one: only then are operations
// on 64 bytes one instruction. It must not emit functions that other files share, such as those of
// the standard library, so everything here is inlined.
#pragma once

#include <processor_vectors.h>

#include "kernels/cpu/vector.h"
#include "kernels/instructions.h"

namespace yoke::cpu {

/// The next narrower vector.
template <int Lanes>
inline constexpr int kFewerLanes = Lanes == 16 ? 8 : (Lanes == 8 ? 4 : 1);

/// FetchAhead (base/algorithms.h) for such files: prefetches the first elements of a row of `n`.
template <typename T>
[[gnu::always_inline]] inline void FetchFrom(const T* row, int64_t n) {
  constexpr int64_t kLine = 64 / sizeof(T);
  for (int64_t i = 0; i < n && i < 512; i += kLine) __builtin_prefetch(row + i);
}

template <int Lanes>
struct Wide {
  using Floats = typename VectorTypes<Lanes>::Floats;
  using Words = typename VectorTypes<Lanes>::Words;
  using Halves = typename VectorTypes<Lanes>::Halves;
  using Ints = typename VectorTypes<Lanes>::Ints;
  using Bytes = typename VectorTypes<Lanes>::Bytes;

  [[gnu::always_inline]] static void Load(const float* from, Floats& v) {
    std::memcpy(&v, from, sizeof v);
  }
  [[gnu::always_inline]] static void Load(const Bf16* from, Floats& v) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    Words words;
    ConvertLanes(halves, words);
    v = reinterpret_cast<Floats>(words << 16);
  }

  [[gnu::always_inline]] static void Store(const Floats& v, float* to) {
    std::memcpy(to, &v, sizeof v);
  }
  [[gnu::always_inline]] static void Store(const Floats& v, Bf16* to) {
    Halves halves;
    Round(v, halves);
    std::memcpy(static_cast<void*>(to), &halves, sizeof halves);
  }

  /// For elements already representable in T: no rounding.
  [[gnu::always_inline]] static void StoreExact(const Floats& v, float* to) { Store(v, to); }
  [[gnu::always_inline]] static void StoreExact(const Floats& v, Bf16* to) {
    Halves halves;
    ConvertLanes(reinterpret_cast<Words>(v) >> 16, halves);
    std::memcpy(static_cast<void*>(to), &halves, sizeof halves);
  }

  [[gnu::always_inline]] static void LoadBytes(const uint8_t* from, Ints& v) {
    Bytes bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    ConvertLanes(bytes, v);
  }
  [[gnu::always_inline]] static void StoreBytes(const Ints& v, uint8_t* to) {
    Bytes bytes;
    ConvertLanes(v, bytes);
    std::memcpy(to, &bytes, sizeof bytes);
  }

  /// Stores bypassing the caches if the processor can, and `to` and the vector's size are multiples
  /// of 32 bytes.
  [[gnu::always_inline]] static void Stream(const Floats& v, float* to) { StreamBytes(v, to); }
  [[gnu::always_inline]] static void Stream(const Floats& v, Bf16* to) {
    Halves halves;
    Round(v, halves);
    StreamBytes(halves, to);
  }

 private:
  /// Rounds to nearest even; keeps NaN.
  [[gnu::always_inline]] static void Round(const Floats& v, Halves& halves) {
    const auto u = reinterpret_cast<Words>(v);
    const Words rounded = (u + 0x7FFFU + ((u >> 16) & 1U)) >> 16, nan = (u >> 16) | 0x40U;
    ConvertLanes(v == v ? rounded : nan, halves);
  }
};

}  // namespace yoke::cpu
