// The kinds of worlds that one body of tests runs over.
#include "comm/support/worlds.h"

#include <exception>
#include <thread>

#include "base/check.h"
#include "comm/launcher.h"
#include "comm/simulated.h"
#include "comm/support/threaded_wire.h"
#include "comm/threads.h"
#include "comm/wire_transport.h"

namespace yoke {
namespace {

bool RunMpiWorld(int ranks, double timeout, const WorldBody& body) {
  static MpiJob job;  // MPI starts and ends once in a process
  if (ranks > job.size()) return false;
  job.Run({.ranks = ranks, .timeout = timeout}, body);
  return true;
}

}  // namespace

void RunOverThreadedWire(int ranks, double timeout, const WorldBody& body) {
  WireQueues queues(ranks);
  std::exception_ptr failure;
  const auto run = [&](int rank) {
    ThreadedWire wire(queues, rank);
    RunOverWire(wire, {.ranks = ranks, .timeout = timeout}, body);
  };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < ranks; ++rank)
    threads.emplace_back([&run, rank] {
      try {
        run(rank);
      } catch (const Error&) {  // rank 0 says the same
      }
    });
  try {
    run(0);
  } catch (...) {
    failure = std::current_exception();
  }
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

std::vector<WorldKind> WorldKinds() {
  if (LaunchedByMpi()) return {{"mpi", RunMpiWorld}};
  return {{"threads",
           [](int ranks, double timeout, const WorldBody& body) {
             RunThreads({.ranks = ranks, .timeout = timeout}, body);
             return true;
           }},
          {"simulated",
           [](int ranks, double timeout, const WorldBody& body) {
             Simulate(
                 {.ranks = ranks, .timeout = timeout, .latency = 1e-3, .bytes_per_second = 1e9},
                 body);
             return true;
           }},
          {"wire", [](int ranks, double timeout, const WorldBody& body) {
             RunOverThreadedWire(ranks, timeout, body);
             return true;
           }}};
}

}  // namespace yoke
