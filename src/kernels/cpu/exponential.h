// Exponential of 8 lanes at once.
#pragma once

#include <bit>

#include "kernels/cpu/vector.h"
#include "kernels/exponential.h"

namespace yoke::cpu {

using yoke::Exponential;

/// The same for 8 lanes, for loops that the compiler does not vectorize.
inline Vector<8>::Floats Exponential(Vector<8>::Floats x) {
  using Floats = Vector<8>::Floats;
  using Words = Vector<8>::Words;
  x = x < -87.0F ? Floats{} - 87.0F : x;
  x = x > 88.0F ? Floats{} + 88.0F : x;
  const Floats shifted = x * 1.44269504F + 12582912.0F;
  const Floats n = shifted - 12582912.0F;
  const Floats r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  Floats p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const Floats y = p * (r * r) + r + 1.0F;
  return std::bit_cast<Floats>(std::bit_cast<Words>(y) + (std::bit_cast<Words>(shifted) << 23));
}

}  // namespace yoke::cpu
