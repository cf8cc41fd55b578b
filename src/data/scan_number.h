// ScanPlain: numbers such as -12.5 in a few operations, eight digits at a time. Where it cannot
// tell the nearest float or double, std::from_chars must.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace yoke {

inline constexpr std::array<double, 20> kPowersOf10 = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                                       1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                                       1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
inline constexpr std::array<double, 20> kPowersOfTenth = {
    1e0,   1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,
    1e-10, 1e-11, 1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19};

/// The value of eight digits, the first in the lowest byte.
inline uint64_t EightDigits(uint64_t digits) {
  digits = (digits * 10) + (digits >> 8);  // pairs in every second byte
  return ((digits & 0x000000FF000000FF) * 0x000F424000000064 +
          ((digits >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >>
         32;
}

/// Appends the digits at `begin` to `value`, which may wrap beyond 19, and moves `begin` past them.
inline void TakeDigits(const char*& begin, const char* end, uint64_t& value) {
  constexpr std::array<uint64_t, 8> kTens = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  while (end - begin >= 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, begin, 8);
    bytes ^= 0x3030303030303030;  // a digit becomes its value, other bytes more than 9
    const uint64_t others = (bytes | (bytes + 0x7676767676767676)) & 0x8080808080808080;
    if (others == 0) {
      value = value * 100000000 + EightDigits(bytes);
      begin += 8;
      continue;
    }
    const int bits = std::countr_zero(others) & ~7;  // of the digits
    if (bits == 0) return;
    value = value * kTens[static_cast<size_t>(bits / 8)] + EightDigits(bytes << (64 - bits));
    begin += bits / 8;
    return;
  }
  for (; begin != end && *begin >= '0' && *begin <= '9'; ++begin)
    value = value * 10 + static_cast<uint64_t>(*begin - '0');
}

/// digits / 10^decimals as the nearest number, of at most 19 decimals; false if it is not certain.
/// A float comes from a double that is wrong by at most 3 units, so it is right unless that lies so
/// close to the middle of two floats.
inline bool Nearest(uint64_t digits, int64_t decimals, double& value) {
  if (digits > uint64_t{1} << 53) return false;
  value = static_cast<double>(digits) / kPowersOf10[static_cast<size_t>(decimals)];
  return true;
}
inline bool Nearest(uint64_t digits, int64_t decimals, float& value) {
  const double near =
      static_cast<double>(digits) * kPowersOfTenth[static_cast<size_t>(decimals)];  // no division
  constexpr uint64_t kBelow = (uint64_t{1} << 29) - 1, kHalf = uint64_t{1} << 28, kUnits = 4;
  const uint64_t below = std::bit_cast<uint64_t>(near) & kBelow;  // what a float drops
  if (below - (kHalf - kUnits) <= 2 * kUnits) return false;
  value = static_cast<float>(near);
  return true;
}

/// Scans a number without an exponent at `begin` and moves `begin` past it. False, and `begin`
/// stays, if there is none or it is not certain which T is the nearest.
template <typename T>
inline bool ScanPlain(const char*& begin, const char* end, T& value) {
  const char* at = begin;
  const bool negative = at != end && *at == '-';
  at += negative;
  uint64_t digits = 0;
  const char* const first = at;
  TakeDigits(at, end, digits);
  int64_t count = at - first, decimals = 0;
  if (at != end && *at == '.') {
    const char* const point = ++at;
    TakeDigits(at, end, digits);
    decimals = at - point;
    count += decimals;
  }
  if (count == 0 || count > 19 || (at != end && (*at == 'e' || *at == 'E'))) return false;
  if (!Nearest(digits, decimals, value)) return false;
  constexpr std::array<T, 2> kSigns = {1, -1};  // without a branch, which would be wrong often
  value *= kSigns[negative];
  begin = at;
  return true;
}

}  // namespace yoke
