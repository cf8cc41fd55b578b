// Lanes: sixteen dense rows side by side, so that one instruction processes eight or sixteen of
// them. The same template is compiled twice: with 32-byte vectors for AVX2, and with 64-byte
// vectors in functions with target AVX-512.
#pragma once

#include <cstdint>
#include <cstring>

namespace yoke {

inline constexpr int kLanes = 16;

/// One element of each of sixteen rows.
struct alignas(64) Floats {
  float v[kLanes] = {};
};
struct alignas(64) Ints {
  int32_t v[kLanes] = {};
};

/// The vector types of an instruction set.
struct Avx2 {
  using Float [[gnu::vector_size(32)]] = float;
  using Int [[gnu::vector_size(32)]] = int32_t;
};
struct Avx512 {
  using Float [[gnu::vector_size(64)]] = float;
  using Int [[gnu::vector_size(64)]] = int32_t;
};
template <typename Isa>
inline constexpr int kParts = sizeof(Floats) / sizeof(typename Isa::Float);

/// Copies part of sixteen elements to a vector, or back.
template <typename Vector, typename Memory>
[[gnu::always_inline]] inline void Load(const Memory& memory, int part, Vector& vector) {
  std::memcpy(&vector, reinterpret_cast<const char*>(&memory) + part * sizeof vector,
              sizeof vector);
}
template <typename Vector, typename Memory>
[[gnu::always_inline]] inline void Save(const Vector& vector, int part, Memory& memory) {
  std::memcpy(reinterpret_cast<char*>(&memory) + part * sizeof vector, &vector, sizeof vector);
}

}  // namespace yoke
