// Ranks in virtual time: one runs at a time, in the order of their clocks, so a run is
// deterministic and its times are those of the simulated machines.
#pragma once

#include <cstdint>

#include "comm/communicator.h"

namespace yoke {

/// Seconds that a piece of work takes on a rank; used by Charge.
using ServiceTime = std::function<double(int rank, const Cost& cost)>;

/// Service time from operations and bytes at given rates.
ServiceTime SteadyService(double operations_per_second, double bytes_per_second);
/// The given mean times a random factor with mean 1: exponential, or log-normal with this sigma (of
/// the logarithm). Draws depend on seed, rank and count.
ServiceTime ExponentialService(const ServiceTime& mean, uint64_t seed, int ranks);
ServiceTime LogNormalService(const ServiceTime& mean, double sigma, uint64_t seed, int ranks);

struct SimulatedRanks {
  int ranks = 1;
  double timeout = 60;             ///< Maximum virtual seconds of one wait.
  double latency = 0;              ///< Latency of a message in seconds.
  double bytes_per_second = 1e18;  ///< Bandwidth of a message.
  ServiceTime service = nullptr;   ///< Null: work takes no time.
};

/// Runs body(world) once per rank and returns the virtual time at which the last one ended.
/// Exceptions as in RunThreads.
double Simulate(const SimulatedRanks& options,
                const std::function<void(const Communicator&)>& body);

}  // namespace yoke
