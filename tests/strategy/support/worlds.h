// The worlds in which every strategy is tested.
#pragma once

#include <gtest/gtest.h>

#include "comm/launcher.h"
#include "comm/simulated.h"
#include "comm/threads.h"

namespace yoke::test {

using Body = std::function<void(const Communicator&)>;

struct WorldKind {
  const char* name;
  void (*run)(int ranks, const Body& body);
};
inline void PrintTo(const WorldKind& kind, std::ostream* out) { *out << kind.name; }

inline constexpr WorldKind kThreads = {"threads", [](int ranks, const Body& body) {
                                         RunThreads({.ranks = ranks, .timeout = 20}, body);
                                       }};
inline constexpr WorldKind kSimulated = {"simulated", [](int ranks, const Body& body) {
                                           Simulate({.ranks = ranks,
                                                     .timeout = 20,
                                                     .latency = 1e-4,
                                                     .bytes_per_second = 1e8,
                                                     .service = SteadyService(1e9, 1e10)},
                                                    body);
                                         }};
/// Where a launcher started this program (ctest's entries strategy.mpi.* do): all its processes.
inline constexpr WorldKind kMpi = {"mpi", [](int ranks, const Body& body) {
                                     static MpiJob job;  // MPI starts and ends once in a process
                                     job.Run({.ranks = ranks, .timeout = 20}, body);
                                   }};
inline auto Worlds() { return testing::Values(kThreads, kSimulated); }

}  // namespace yoke::test
