// Exponential: an exp that compilers vectorize.
#pragma once

#include <bit>
#include <cstdint>

namespace yoke {

/// exp(x) within 2 ulp; x is clamped to [-87, 88]; NaN gives NaN. exp(x) = 2^n exp(r), where n is
/// the integer nearest to x / ln 2 and exp(r) is a polynomial (Cephes, S. Moshier).
inline float Exponential(float x) {
  x = x < -87.0F ? -87.0F : x;
  x = x > 88.0F ? 88.0F : x;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float shifted = x * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float y = p * (r * r) + r + 1.0F;
  const auto exponent = std::bit_cast<uint32_t>(shifted)
                        << 23;  // n modulo 256, in the exponent bits
  return std::bit_cast<float>(std::bit_cast<uint32_t>(y) + exponent);
}

}  // namespace yoke
