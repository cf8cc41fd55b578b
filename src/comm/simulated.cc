// Ranks in virtual time: the transport of a task, and the ranks of a world.
#include "comm/simulated.h"

#include <cmath>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "comm/simulated/simulation.h"
#include "comm/virtual_time.h"

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

class SimulatedTransport : public Transport, public VirtualTransport {
 public:
  SimulatedTransport(Simulation& simulation, Task& task) : simulation_(simulation), task_(task) {}

  int rank() const override { return task_.rank; }
  int size() const override { return simulation_.losses().size(); }
  double timeout() const override { return simulation_.options().timeout; }
  AllReduceAlgorithm all_reduce() const override { return simulation_.options().all_reduce; }

  void Send(int to, uint64_t context, int tag, std::span<const std::byte> bytes) override {
    SendFor(static_cast<int64_t>(bytes.size()), to, context, tag, bytes);
  }
  void SendFor(int64_t billed, int to, uint64_t context, int tag,
               std::span<const std::byte> bytes) override {
    simulation().Send(task_, to,
                      {.key = {.context = context, .source = task_.rank, .tag = tag},
                       .bytes = {bytes.begin(), bytes.end()},
                       .billed = billed});
  }
  bool CollectiveIsOneEvent(int ranks) const override {
    const SimulatedRanks& options = simulation_.options();
    return ranks > options.collective_events_above && !options.fair_links;
  }
  CollectiveTraffic JoinCollective(const CollectiveCall& call) override {
    CollectiveTraffic traffic;
    const double began = task_.now;
    if (simulation().JoinCollective(task_, call, traffic)) {
      simulation_.NoteWait(task_.now - began);
      return traffic;
    }
    EndWait({.context = call.context}, call.operation);
  }

  std::shared_ptr<const Members> Share(uint64_t context, Members members) override {
    return simulation_.Share(context, std::move(members));
  }

  Message Receive(const MessageKey& key, const char* operation) override {
    Message message;
    const double began = task_.now;
    if (simulation().Receive(task_, key, timeout(), message)) {
      simulation_.NoteWait(task_.now - began);
      return message;
    }
    EndWait(key, operation);
  }

  bool TryReceive(const MessageKey& key, double seconds, Message& message) override {
    if (simulation().Receive(task_, key, seconds, message)) return true;
    GiveUpIfFailed("a wait");
    return false;
  }

  VirtualTransport* virtual_side() override { return this; }
  double Now() override { return task_.now; }
  void Sleep(double seconds) override {
    simulation().DieIfDead(task_);
    simulation_.WaitUntil(task_, task_.now + seconds);
    task_.turn = Task::kTurn;
    simulation_.DieIfDead(task_);
  }
  double Price(const Cost& cost, const WorkPlace& place) override {
    const SimulatedRanks& options = simulation_.options();
    const int rank = simulation_.losses().First(task_.rank);
    if (options.devices && place.examples > 0) return options.devices(rank, cost, place);
    Require(place.device == "cpu", "virtual time does not know the speed of device {}",
            place.device);
    const double link = options.device_bytes_per_second;
    const double copying = link > 0 ? cost.device_bytes / link : 0;
    if (!options.service) return copying;
    return copying + options.service(rank, cost) * std::max(1, place.threads);
  }
  void Work(double seconds, const WorkPlace& place) override {
    simulation().DieIfDead(task_);
    if (place.device != "cpu")
      simulation_.WorkOnDevice(task_, seconds);
    else if (simulation_.options().service || seconds > 0)
      simulation_.Work(task_, seconds);
    simulation_.DieIfDead(task_);
  }
  void WorkAhead(double seconds, const WorkPlace& place) override {
    const bool on_device = place.device != "cpu";
    if (seconds == 0 && !on_device && !simulation_.options().service) return;
    if (!simulation_.WorkAhead(task_, seconds, on_device)) Work(seconds, place);
  }
  void CatchUp() override { simulation_.CatchUp(task_); }
  int CpuThreads() override {
    const SimulatedRanks& options = simulation_.options();
    return options.NodeAt(options.NodeOf(simulation_.losses().First(task_.rank))).cpu_threads;
  }

  std::shared_ptr<void> Spawn(Body body) override {
    Simulation& simulation = this->simulation();
    std::unique_ptr<Task> child =
        simulation.Start(task_.rank, task_.now, [&simulation, body](Task& task) {
          body(std::make_shared<SimulatedTransport>(simulation, task));
        });
    const int exceptions = std::uncaught_exceptions();
    return {child.release(), [&simulation, &parent = task_, exceptions](Task* task) {
              if (std::uncaught_exceptions() > exceptions) simulation.GiveUp(parent);
              simulation.AwaitEnd(parent, *task);
              delete task;
            }};
  }

 private:
  void GiveUpIfFailed(const char* operation) const {
    if (simulation_.failed() >= 0)
      throw GaveUp(FailureSentence(*this, simulation_.failed(), operation));
  }
  [[noreturn]] void EndWait(const MessageKey& key, const char* operation) const {
    GiveUpIfFailed(operation);
    throw Error(TimeoutSentence(*this, key, operation));
  }
  /// For calls that others may notice.
  Simulation& simulation() {
    simulation_.CatchUp(task_);
    return simulation_;
  }

  Simulation& simulation_;
  Task& task_;
};

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

SimulatedRanks Alone(SimulatedRanks cluster, int rank) {
  const int node = cluster.NodeOf(rank);
  if (!cluster.nodes.empty()) cluster.nodes = {cluster.nodes[static_cast<size_t>(node)]};
  cluster.ranks = 1;
  cluster.node_of.clear();
  cluster.groups.clear();
  cluster.failures = {};
  if (cluster.service)
    cluster.service = [rank, service = std::move(cluster.service)](int, const Cost& cost) {
      return service(rank, cost);
    };
  if (cluster.devices)
    cluster.devices = [rank, devices = std::move(cluster.devices)](int, const Cost& cost,
                                                                   const WorkPlace& place) {
      return devices(rank, cost, place);
    };
  return cluster;
}

double SimulateLosses(
    const SimulatedRanks& options,
    const std::function<void(const Communicator& world, const SimulatedPlace& place)>& body) {
  Simulation simulation(options);
  Losses& losses = simulation.losses();
  std::vector<std::unique_ptr<Task>> tasks;
  return simulation.Run([&] {
    tasks.clear();
    for (int rank = 0; rank < losses.size(); ++rank) {
      tasks.push_back(simulation.Start(rank, losses.begins(), [&](Task& task) {
        body(Communicator(std::make_shared<SimulatedTransport>(simulation, task)),
             losses.PlaceOf(task.rank));
        losses.Ended(task.rank);
      }));
      tasks.back()->main = true;
    }
  });
}

double Simulate(const SimulatedRanks& options,
                const std::function<void(const Communicator&)>& body) {
  return SimulateLosses(options,
                        [&body](const Communicator& world, const SimulatedPlace&) { body(world); });
}

}  // namespace yoke
