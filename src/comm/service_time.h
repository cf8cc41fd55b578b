// ServiceTime: how long work takes in virtual time.
#pragma once

#include <cstdint>
#include <functional>

#include "base/cost.h"
#include "base/random.h"

namespace yoke {

/// Seconds that a piece of work takes on a rank; used by Charge.
using ServiceTime = std::function<double(int rank, const Cost& cost)>;

/// Seconds that a pass over examples takes on a device of a rank, copies over its link included.
using DeviceTime = std::function<double(int rank, const Cost& cost, const WorkPlace& place)>;

/// Random factors of work's time, with mean 1: exponential, or log-normal with this sigma (of the
/// logarithm).
double ExponentialFactor(Random& random);
double LogNormalFactor(double sigma, Random& random);

/// Service time from operations and bytes at given rates.
ServiceTime SteadyService(double operations_per_second, double bytes_per_second);
/// The given mean times such a factor. Draws depend on seed, rank and count; work that takes no
/// time draws nothing.
ServiceTime ExponentialService(const ServiceTime& mean, uint64_t seed, int ranks);
ServiceTime LogNormalService(const ServiceTime& mean, double sigma, uint64_t seed, int ranks);

}  // namespace yoke
