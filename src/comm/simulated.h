// Ranks in virtual time: one runs at a time, in the order of their clocks, so that a run is the
// same every time and its times are those of the machines that are described.
#pragma once

#include <cstdint>

#include "comm/communicator.h"

namespace yoke {

/// Seconds that a piece of work takes, by rank: Charge asks for it.
using ServiceTime = std::function<double(int rank, const Cost& cost)>;

/// Of operations and bytes at given rates.
ServiceTime SteadyService(double operations_per_second, double bytes_per_second);
/// The same mean times a draw of mean 1: exponential, or log-normal of this sigma (of its
/// logarithm). Draws depend on seed, rank and count.
ServiceTime ExponentialService(const ServiceTime& mean, uint64_t seed, int ranks);
ServiceTime LogNormalService(const ServiceTime& mean, double sigma, uint64_t seed, int ranks);

struct SimulatedRanks {
  int ranks = 1;
  double timeout = 60;             ///< Virtual seconds of one wait.
  double latency = 0;              ///< Seconds of a message.
  double bytes_per_second = 1e18;  ///< Of a message.
  ServiceTime service = nullptr;   ///< Null: work takes no time.
};

/// Runs body(world) once a rank and returns the virtual time at which the last one ended.
/// Exceptions as in RunThreads.
double Simulate(const SimulatedRanks& options,
                const std::function<void(const Communicator&)>& body);

}  // namespace yoke
