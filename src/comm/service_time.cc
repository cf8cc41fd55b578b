// ServiceTime: steady, or with draws of each rank.
#include "comm/service_time.h"

#include <cmath>
#include <memory>
#include <vector>

namespace yoke {
namespace {

/// The mean times what `factor` draws.
template <typename Factor>
ServiceTime DrawnService(const ServiceTime& mean, uint64_t seed, int ranks, Factor factor) {
  auto draws = std::make_shared<std::vector<Random>>();
  for (int rank = 0; rank < ranks; ++rank)
    draws->push_back(Random({seed, static_cast<uint64_t>(rank)}));
  return [=](int rank, const Cost& cost) {
    const double seconds = mean(rank, cost);
    return seconds == 0 ? 0 : seconds * factor((*draws)[rank]);
  };
}

}  // namespace

double ExponentialFactor(Random& random) { return -std::log(1 - random.Uniform()); }

double LogNormalFactor(double sigma, Random& random) {
  return std::exp(sigma * random.Normal() - sigma * sigma / 2);
}

ServiceTime SteadyService(double operations_per_second, double bytes_per_second) {
  return [=](int /*rank*/, const Cost& cost) {
    return cost.operations / operations_per_second + cost.bytes / bytes_per_second;
  };
}

ServiceTime ExponentialService(const ServiceTime& mean, uint64_t seed, int ranks) {
  return DrawnService(mean, seed, ranks, ExponentialFactor);
}

ServiceTime LogNormalService(const ServiceTime& mean, double sigma, uint64_t seed, int ranks) {
  return DrawnService(mean, seed, ranks,
                      [sigma](Random& random) { return LogNormalFactor(sigma, random); });
}

}  // namespace yoke
