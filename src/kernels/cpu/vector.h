// Vector: 8, 4 or 1 lanes of f32, read from and written to f32, bf16 or bytes (GCC's and Clang's
// vector types).
#pragma once

#include <cstring>

#include "tensor/types.h"

namespace yoke::cpu {

/// The compiler's types of so many lanes; g++ 12 wants their sizes as plain numbers.
template <int lanes>
struct VectorTypes;

template <>
struct VectorTypes<8> {
  typedef float Floats __attribute__((vector_size(32)));
  typedef int32_t Ints __attribute__((vector_size(32)));
  typedef uint32_t Words __attribute__((vector_size(32)));
  typedef uint16_t Halves __attribute__((vector_size(16)));
  typedef uint8_t Bytes __attribute__((vector_size(8)));
};

template <>
struct VectorTypes<4> {
  typedef float Floats __attribute__((vector_size(16)));
  typedef int32_t Ints __attribute__((vector_size(16)));
  typedef uint32_t Words __attribute__((vector_size(16)));
  typedef uint16_t Halves __attribute__((vector_size(8)));
  typedef uint8_t Bytes __attribute__((vector_size(4)));
};

template <>
struct VectorTypes<1> {
  typedef float Floats __attribute__((vector_size(4)));
  typedef int32_t Ints __attribute__((vector_size(4)));
  typedef uint32_t Words __attribute__((vector_size(4)));
  typedef uint16_t Halves __attribute__((vector_size(2)));
  typedef uint8_t Bytes __attribute__((vector_size(1)));
};

template <int lanes>
struct Vector {
  using Floats = typename VectorTypes<lanes>::Floats;
  using Ints = typename VectorTypes<lanes>::Ints;  ///< What comparisons of Floats give.
  using Words = typename VectorTypes<lanes>::Words;
  using Halves = typename VectorTypes<lanes>::Halves;
  using Bytes = typename VectorTypes<lanes>::Bytes;

  static Floats Load(const float* from) { return Read<Floats>(from); }
  static Floats Load(const Bf16* from) {
    return reinterpret_cast<Floats>(__builtin_convertvector(Read<Halves>(from), Words) << 16);
  }
  static Ints Load(const uint8_t* from) { return __builtin_convertvector(Read<Bytes>(from), Ints); }

  static void Store(Floats v, float* to) { std::memcpy(to, &v, sizeof v); }
  /// Rounds to nearest even; a NaN stays one.
  static void Store(Floats v, Bf16* to) {
    for (int i = 0; i < lanes; ++i) to[i] = Bf16(v[i]);
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
