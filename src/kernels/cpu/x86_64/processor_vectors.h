// What vectors (kernels/cpu/wide.h) do by instructions of x86-64. CMake chooses this folder there.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/vector.h"

namespace yoke::cpu {

/// Converts each element.
template <typename From, typename To>
[[gnu::always_inline]] inline void ConvertLanes(const From& from, To& to) {
  to = __builtin_convertvector(from, To);
}
// g++ converts 16 lanes in halves.
using Lanes16 = VectorTypes<16>;
[[gnu::always_inline]] inline void ConvertLanes(const Lanes16::Halves& from, Lanes16::Words& to) {
  to = reinterpret_cast<Lanes16::Words>(
      _mm512_maskz_cvtepu16_epi32(0xFFFF, reinterpret_cast<__m256i>(from)));
}
[[gnu::always_inline]] inline void ConvertLanes(const Lanes16::Words& from, Lanes16::Halves& to) {
  to = reinterpret_cast<Lanes16::Halves>(
      _mm512_maskz_cvtepi32_epi16(0xFFFF, reinterpret_cast<__m512i>(from)));
}
[[gnu::always_inline]] inline void ConvertLanes(const Lanes16::Bytes& from, Lanes16::Ints& to) {
  to = reinterpret_cast<Lanes16::Ints>(
      _mm512_maskz_cvtepu8_epi32(0xFFFF, reinterpret_cast<__m128i>(from)));
}
[[gnu::always_inline]] inline void ConvertLanes(const Lanes16::Ints& from, Lanes16::Bytes& to) {
  to = reinterpret_cast<Lanes16::Bytes>(
      _mm512_maskz_cvtepi32_epi8(0xFFFF, reinterpret_cast<__m512i>(from)));
}

/// Stores bypassing the caches if `to` and the size are multiples of 32 bytes.
template <typename V>
[[gnu::always_inline]] inline void StreamBytes(const V& v, void* to) {
  if constexpr (sizeof(V) % 32 == 0) {
    __m256i parts[sizeof(V) / 32];
    std::memcpy(parts, &v, sizeof v);
    for (size_t i = 0; i < sizeof(V) / 32; ++i)
      _mm256_stream_si256(static_cast<__m256i*>(to) + i, parts[i]);
  } else {
    std::memcpy(to, &v, sizeof v);
  }
}
/// What was streamed becomes visible to other threads with what is stored from here on.
[[gnu::always_inline]] inline void EndStream() { _mm_sfence(); }

/// About 1 / sqrt(s), of 12 or 14 bits.
template <typename Floats>
[[gnu::always_inline]] inline void EstimateInverseRoot(const Floats& s, Floats& root) {
  if constexpr (sizeof s == 64)
    root = reinterpret_cast<Floats>(_mm512_maskz_rsqrt14_ps(0xFFFF, reinterpret_cast<__m512>(s)));
  else
    root = reinterpret_cast<Floats>(_mm256_rsqrt_ps(reinterpret_cast<__m256>(s)));
}

}  // namespace yoke::cpu
