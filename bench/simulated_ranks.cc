// How large a simulated world can be: memory of a rank, and events per second.
//
// usage: simulated_ranks RANKS [ROUNDS [BYTES]]
//
// In each round every rank computes, sends BYTES (64) to two others, and receives two messages.
// Then all push to rank 0 and wait for its answer. Prints one line of JSON. A message counts twice,
// when it is sent and when it is received.
#include <fmt/core.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <vector>

#include "bench/rate.h"
#include "comm/simulated.h"

namespace {

using namespace yoke;  // NOLINT(google-build-using-namespace): a program of one file

/// Sends and receives of this rank.
int64_t Neighbours(const Communicator& world, int rounds, size_t length) {
  const int p = world.size(), rank = world.rank();
  const std::vector<std::byte> bytes(length);
  for (int round = 0; round < rounds; ++round) {
    const int far = static_cast<int>((int64_t{round} * 7919 + 13) % p);
    world.Charge({.operations = 1e6});
    world.Send(bytes, (rank + 1) % p, round);
    world.Send(bytes, (rank + far) % p, round);
    world.Receive((rank + p - 1) % p, round);
    world.Receive((rank + p - far) % p, round);
  }
  return int64_t{rounds} * 4;
}

/// Of this rank, where rank 0 serves.
int64_t Server(const Communicator& world, int tag, size_t length) {
  const std::vector<std::byte> bytes(length);
  if (world.rank() > 0) {
    world.Send(bytes, 0, tag);
    world.Receive(0, tag);
    return 2;
  }
  for (int i = 1; i < world.size(); ++i)
    world.Send(bytes, world.Receive(kAnySource, tag).source, tag);
  return 2 * (int64_t{world.size()} - 1);
}

struct Measured {
  double virtual_seconds = 0, seconds = 0;
  int64_t events = 0;
};

Measured Run(int ranks, const std::function<int64_t(const Communicator&)>& body) {
  Measured measured;
  const std::clock_t began = std::clock();  // of this process, whatever else runs
  measured.virtual_seconds =
      Simulate({.ranks = ranks,
                .timeout = 1e6,
                .latency = 50e-6,
                .bytes_per_second = 1.25e9,
                .service = SteadyService(1e9, 1e10)},
               [&](const Communicator& world) { measured.events += body(world); });
  measured.seconds = static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC;
  return measured;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  const size_t length = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 64;
  const int64_t before = PeakBytes();
  const Measured neighbours =
      Run(ranks, [=](const Communicator& world) { return Neighbours(world, rounds, length); });
  const int64_t bytes = (PeakBytes() - before) / ranks;
  const Measured server =
      Run(ranks, [=](const Communicator& world) { return Server(world, rounds, length); });
  fmt::print(
      "{{\"ranks\": {}, \"bytes_a_rank\": {}, \"events_per_second\": {:.0f}, \"seconds\": "
      "{:.3f}, "
      "\"virtual_seconds\": {}, \"server_events_per_second\": {:.0f}, \"server_seconds\": "
      "{:.3f}, "
      "\"server_virtual_seconds\": {}}}\n",
      ranks, bytes, static_cast<double>(neighbours.events) / neighbours.seconds, neighbours.seconds,
      neighbours.virtual_seconds, static_cast<double>(server.events) / server.seconds,
      server.seconds, server.virtual_seconds);
}
