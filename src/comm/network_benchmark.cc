// Network: ping-pong between pairs, and collectives between barriers.
#include "comm/network_benchmark.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/algorithms.h"
#include "comm/gather.h"

namespace yoke {
namespace {

constexpr int kPing = 0, kPong = 1;
constexpr int kRepetitions = 5;  // each figure is their median
constexpr double kMuchSlower = 3;

/// A timed operation. `apart`: a barrier before each repetition, so that a broadcast's root does
/// not run ahead. `prepare` is called before that, and not timed.
struct Repeated {
  bool apart = false;
  std::function<void()> run;
  std::function<void()> prepare = [] {};
};

std::vector<std::string> Machines(const Communicator& world) {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  const auto all = world.AllGather(std::as_bytes(std::span(name, std::strlen(name))));
  std::vector<std::string> machines;
  machines.reserve(all.size());
  for (const auto& one : all)
    machines.emplace_back(reinterpret_cast<const char*>(one.data()), one.size());
  return machines;
}

/// Seconds per run of `work`, over `count` runs, on the slowest rank.
double Longest(const Communicator& ranks, const Repeated& work, int64_t count) {
  double spent = 0;
  for (int64_t i = 0; i < count; ++i) {
    work.prepare();
    if (i == 0 || work.apart) ranks.Barrier();
    const double began = ranks.Now();
    work.run();
    spent += ranks.Now() - began;
  }
  return std::ranges::max(GatherOne(ranks, spent)) / static_cast<double>(count);
}

/// The median of kRepetitions measurements, which take about `seconds` together.
double Time(const Communicator& ranks, double seconds, const Repeated& work) {
  Longest(ranks, work, 1);  // warms up
  const double once = std::max(Longest(ranks, work, 2), 1e-9);
  const auto count = static_cast<int64_t>(std::clamp(seconds / kRepetitions / once, 1.0, 1000.0));
  std::vector<double> times(kRepetitions);
  for (double& time : times) time = Longest(ranks, work, count);
  return Median(times);
}

/// One-way seconds. Each repetition first writes to `touched` bytes of other memory.
double PingPong(const Communicator& two, int64_t bytes, double seconds, int64_t touched = 0) {
  constexpr int64_t kLine = 64;
  std::vector<std::byte> message(bytes), other_memory(touched);
  const auto touch = [&other_memory] {
    for (size_t at = 0; at < other_memory.size(); at += kLine) other_memory[at] ^= std::byte{1};
  };
  const int other = 1 - two.rank();
  const auto there_and_back = [&] {
    if (two.rank() == 0) two.Send(message, other, kPing);
    two.Receive(message, other, two.rank() == 0 ? kPong : kPing);
    if (two.rank() == 1) two.Send(message, other, kPong);
  };
  return Time(two, seconds, {.apart = touched > 0, .run = there_and_back, .prepare = touch}) / 2;
}

/// Measures one pair while the other ranks wait for its result.
PairSpeed MeasurePair(const Communicator& world, PairSpeed pair, const NetworkProbe& probe) {
  const bool mine = world.rank() == pair.first || world.rank() == pair.second;
  const Communicator two = world.Split(mine ? 1 : 0, world.rank());
  double found[2] = {};
  if (mine) {
    found[0] = PingPong(two, 0, probe.seconds);
    found[1] = PingPong(two, probe.long_message, probe.seconds, probe.touched_between);
  }
  world.Broadcast(std::as_writable_bytes(std::span(found)), pair.first);
  pair.latency = found[0];
  pair.bytes_per_second = static_cast<double>(probe.long_message) / found[1];
  return pair;
}

CollectiveSpeed Measure(const Communicator& world, const NetworkProbe& probe, CollectiveSpeed what,
                        double bus, const std::function<void()>& work) {
  what.seconds = Time(world, probe.seconds, {.apart = true, .run = work});
  what.algorithm_bandwidth = static_cast<double>(what.bytes) / what.seconds;
  what.bus_bandwidth = what.algorithm_bandwidth * bus;
  return what;
}

std::vector<CollectiveSpeed> MeasureCollectives(const Communicator& world,
                                                const NetworkProbe& probe) {
  std::vector<CollectiveSpeed> found;
  const auto p = static_cast<double>(world.size());
  const auto measure = [&](const char* name, int64_t bytes, double bus,
                           const std::function<void()>& work) {
    found.push_back(Measure(world, probe, {.name = name, .bytes = bytes}, bus, work));
  };
  measure("barrier", 0, 0, [&] { world.Barrier(); });
  for (const int64_t bytes : probe.lengths) {
    std::vector<float> values(bytes / sizeof(float));
    const auto raw = std::as_writable_bytes(std::span(values));
    measure("broadcast", bytes, 1, [&] { world.Broadcast(raw, 0); });
    measure("reduce", bytes, 1, [&] { world.Reduce(values, 0); });
    const double twice = 2 * (p - 1) / p;
    for (const auto& [name, algorithm] :
         {std::pair("all-reduce", AllReduceAlgorithm::kAuto),
          std::pair("all-reduce, ring", AllReduceAlgorithm::kRing),
          std::pair("all-reduce, tree", AllReduceAlgorithm::kTree),
          std::pair("all-reduce, halving", AllReduceAlgorithm::kHalving),
          std::pair("all-reduce, mpi", AllReduceAlgorithm::kMpi)})
      if (algorithm != AllReduceAlgorithm::kMpi || world.HasMpiAllReduce())
        measure(name, bytes, twice,
                [&, algorithm = algorithm] { world.AllReduce(values, algorithm); });
    const auto mine = raw.first(raw.size() / world.size());
    measure("all-gather", bytes, (p - 1) / p, [&] { world.AllGather(mine); });
  }
  return found;
}

/// The median of one field; 0 without pairs.
double MedianOf(const std::vector<PairSpeed>& pairs, double PairSpeed::*number) {
  std::vector<double> all(pairs.size());
  std::transform(pairs.begin(), pairs.end(), all.begin(),
                 [number](const PairSpeed& pair) { return pair.*number; });
  return all.empty() ? 0 : Median(std::move(all));
}

/// A sentence on a pair that is much slower than others of its kind (within or between machines),
/// or "".
std::string OddOne(const NetworkReport& report, bool one_machine) {
  std::vector<PairSpeed> alike;
  for (const PairSpeed& pair : report.pairs)
    if (pair.one_machine == one_machine) alike.push_back(pair);
  if (alike.size() < 3) return "";  // nothing to compare with
  const double latency = MedianOf(alike, &PairSpeed::latency);
  const double speed = MedianOf(alike, &PairSpeed::bytes_per_second);
  const auto name = [&](int rank) {
    return fmt::format("rank {} ({})", rank, report.machines[rank]);
  };
  for (const PairSpeed& pair : alike) {
    const double slower = speed / pair.bytes_per_second, later = pair.latency / latency;
    if (std::max(slower, later) < kMuchSlower) continue;
    return fmt::format(
        "Between {} and {} {} {:.1f} times {} the median of such pairs: {}.", name(pair.first),
        name(pair.second), slower > later ? "bandwidth is" : "latency is", std::max(slower, later),
        slower > later ? "below" : "above",
        one_machine ? "see whether other programs or a quota hold their cores"
                    : "see whether their traffic takes another interface, cable or switch");
  }
  return "";
}

/// The kind of network between machines that a bandwidth suggests.
std::string Kind(double bytes_per_second) {
  const double gigabits = bytes_per_second * 8e-9;
  if (gigabits < 0.2) return "as slow as 100 Mbit/s Ethernet: find out why before training over it";
  if (gigabits < 1.2) return "like 1 Gbit/s Ethernet: large models will wait for their gradients";
  if (gigabits < 12) return "like 10 Gbit/s Ethernet";
  return "like a fast network";
}

/// A sentence if MPI's all-reduce is faster than kAuto, or "".
std::string FasterByMpi(const NetworkReport& report) {
  constexpr double kFaster = 1.2;
  const CollectiveSpeed* ours = nullptr;
  std::string found;
  for (const CollectiveSpeed& one : report.collectives) {
    if (one.name == "all-reduce") ours = &one;
    if (one.name == "all-reduce, mpi" && ours && ours->seconds > kFaster * one.seconds)
      found = fmt::format(
          " MPI's own all-reduce of {} bytes takes {:.0f} us, ours {:.0f}: try cluster.all_reduce "
          "= \"mpi\".",
          one.bytes, one.seconds * 1e6, ours->seconds * 1e6);
  }
  return found;
}

}  // namespace

NetworkReport MeasureNetwork(const Communicator& world, const NetworkProbe& probe) {
  NetworkReport report{.ranks = world.size(), .machines = Machines(world)};
  const auto& machines = report.machines;
  for (int i = 0; i < world.size(); ++i)
    for (int j = i + 1; j < world.size(); ++j)
      report.pairs.push_back(MeasurePair(
          world, {.first = i, .second = j, .one_machine = machines[i] == machines[j]}, probe));
  report.collectives = MeasureCollectives(world, probe);
  report.median_latency = MedianOf(report.pairs, &PairSpeed::latency);
  report.median_bytes_per_second = MedianOf(report.pairs, &PairSpeed::bytes_per_second);
  return report;
}

std::string Verdict(const NetworkReport& report) {
  if (report.pairs.empty()) return "There is only one rank: nothing to measure.";
  for (const bool one_machine : {false, true})
    if (std::string odd = OddOne(report, one_machine); !odd.empty()) return odd;
  std::vector<PairSpeed> between;
  for (const PairSpeed& pair : report.pairs)
    if (!pair.one_machine) between.push_back(pair);
  if (between.empty())
    return "All ranks are on one machine, and no pair is much slower than another." +
           FasterByMpi(report);
  const double speed = MedianOf(between, &PairSpeed::bytes_per_second);
  return fmt::format("Between machines {:.3g} MB/s, {}; no pair is much slower than another.{}",
                     speed / 1e6, Kind(speed), FasterByMpi(report));
}

}  // namespace yoke
