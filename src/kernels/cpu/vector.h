// Vector: 8, 4 or 1 lanes of f32, read from and written to f32, bf16 or bytes (GCC's and Clang's
// vector types).
#pragma once

#include <cstring>

#include "tensor/types.h"

namespace yoke::cpu {

/// The compiler's vector types with this many lanes. g++ 12 needs their sizes as literals.
template <int Lanes>
struct VectorTypes;

template <>
struct VectorTypes<16> {  // for functions with target AVX-512 (kernels/cpu/wide.h)
  using Floats [[gnu::vector_size(64)]] = float;
  using Ints [[gnu::vector_size(64)]] = int32_t;
  using Words [[gnu::vector_size(64)]] = uint32_t;
  using Halves [[gnu::vector_size(32)]] = uint16_t;
  using Bytes [[gnu::vector_size(16)]] = uint8_t;
};

template <>
struct VectorTypes<8> {
  using Floats [[gnu::vector_size(32)]] = float;
  using Ints [[gnu::vector_size(32)]] = int32_t;
  using Words [[gnu::vector_size(32)]] = uint32_t;
  using Halves [[gnu::vector_size(16)]] = uint16_t;
  using Bytes [[gnu::vector_size(8)]] = uint8_t;
};

template <>
struct VectorTypes<4> {
  using Floats [[gnu::vector_size(16)]] = float;
  using Ints [[gnu::vector_size(16)]] = int32_t;
  using Words [[gnu::vector_size(16)]] = uint32_t;
  using Halves [[gnu::vector_size(8)]] = uint16_t;
  using Bytes [[gnu::vector_size(4)]] = uint8_t;
};

template <>
struct VectorTypes<1> {
  using Floats [[gnu::vector_size(4)]] = float;
  using Ints [[gnu::vector_size(4)]] = int32_t;
  using Words [[gnu::vector_size(4)]] = uint32_t;
  using Halves [[gnu::vector_size(2)]] = uint16_t;
  using Bytes [[gnu::vector_size(1)]] = uint8_t;
};

template <int Lanes>
struct Vector {
  using Floats = typename VectorTypes<Lanes>::Floats;
  using Ints = typename VectorTypes<Lanes>::Ints;  ///< Result of comparing Floats.
  using Words = typename VectorTypes<Lanes>::Words;
  using Halves = typename VectorTypes<Lanes>::Halves;
  using Bytes = typename VectorTypes<Lanes>::Bytes;

  static Floats Load(const float* from) { return Read<Floats>(from); }
  static Floats Load(const Bf16* from) {
    return reinterpret_cast<Floats>(__builtin_convertvector(Read<Halves>(from), Words) << 16);
  }
  static Ints Load(const uint8_t* from) { return __builtin_convertvector(Read<Bytes>(from), Ints); }

  static void Store(Floats v, float* to) { std::memcpy(to, &v, sizeof v); }
  /// Rounds to nearest even; keeps NaN.
  static void Store(Floats v, Bf16* to) {
    for (int i = 0; i < Lanes; ++i) to[i] = Bf16(v[i]);
  }
  static void Store(Ints v, uint8_t* to) {
    const Bytes bytes = __builtin_convertvector(v, Bytes);
    std::memcpy(to, &bytes, sizeof bytes);
  }

 private:
  template <typename V>
  static V Read(const void* from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
};

}  // namespace yoke::cpu
