// Random: reproducible draws from (seed, stream) keys.
#include "base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace yoke {

__extension__ using Wide = unsigned __int128;

Random::Random(std::initializer_list<uint64_t> words) {
  for (uint64_t word : words) key_ = Mix((key_ ^ word) + 0x9E3779B97F4A7C15ULL);
}

uint64_t Random::Below(uint64_t n) {
  // The high word of a 64x64 product; the bias is below n / 2^64.
  return static_cast<uint64_t>((static_cast<Wide>(Bits()) * n) >> 64);
}

double Random::Normal() {
  const double u = 1.0 - Uniform();  // in (0, 1]: the logarithm is finite
  const double v = Uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::vector<int64_t> Permutation(int64_t n, Random random) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random.Below(i + 1)]);
  return order;
}

}  // namespace yoke
