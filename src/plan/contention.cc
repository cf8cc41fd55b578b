// Contention: steps beside those of other ranks, and beside threads that send and wait in a ring.
#include "plan/contention.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "comm/gather.h"
#include "plan/hardware.h"

namespace yoke {
namespace {

enum PollingTag : int { kMessage };
constexpr std::byte kLast{1};  // the first byte of a sender's last message

/// Threads that send and wait until it is destroyed.
class Messages {
 public:
  Messages(const Communicator& world, const MessageStream& stream)
      : channel_(world.Duplicate()), stream_(stream) {
    sender_ = world.Spawn([this](const Communicator& own) { SendTo(channel_.For(own)); });
    receiver_ = world.Spawn([this](const Communicator& own) { ReceiveFrom(channel_.For(own)); });
  }
  ~Messages() { over_ = true; }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

 private:
  void SendTo(const Communicator& channel) const {
    std::vector<std::byte> message(stream_.bytes + 1);
    const int next = (channel.rank() + 1) % channel.size();
    while (!over_) {
      channel.Sleep(stream_.pause);
      channel.Send(message, next, kMessage);
    }
    channel.Send(std::span(&kLast, 1), next, kMessage);
  }
  static void ReceiveFrom(const Communicator& channel) {
    const int before = (channel.rank() + channel.size() - 1) % channel.size();
    while (channel.Receive(before, kMessage).bytes[0] != kLast) continue;
  }

  const Communicator channel_;
  const MessageStream stream_;
  std::atomic<bool> over_ = false;
  std::shared_ptr<void> sender_, receiver_;  // their ends wait for the threads
};

bool SharesCores(const ClusterFile& cluster) {
  const NodeKind& node = cluster.kinds[0];
  return cluster.Nodes() == 1 && node.cores > 0 && node.ranks > node.cores;
}

/// An update's seconds; 0: it has no price.
double PriceOf(const Job& job, const TrialRequest& trial,
               const std::map<std::string, ClusterFile>& machines) {
  try {
    return Hardware(job, trial.data, machines)
        .Of({.executor = job.node.String("executor"), .precision = job.node.String("precision")})
        .seconds_per_update;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

double MeasurePolling(const Communicator& world, const MessageStream& stream, double alone,
                      const std::function<double()>& steps) {
  constexpr double kLeast = 0.01, kMost = 0.9;
  const Messages messages(world, stream);
  const double polling = std::min(kMost, 1 - alone / steps());
  return polling < kLeast ? 0 : polling;
}

double MeasureCrowding(const Communicator& machine, int at_once,
                       const std::function<double(const std::function<void()>&)>& steps) {
  std::array<double, 2> speeds = {};  // steps a second: alone, and beside all
  machine.Barrier();
  if (machine.rank() < at_once) speeds[0] = 1 / steps([] {});
  machine.Barrier();
  speeds[1] = 1 / steps([&machine] { machine.Barrier(); });
  double sums[2] = {};
  for (const auto& [alone, beside] : GatherOne(machine, speeds)) {
    sums[0] += alone;
    sums[1] += beside;
  }
  return std::max(1.0, sums[0] / sums[1]);
}

double Calibrate(const Job& job, const TrialRequest& trial, double example_seconds,
                 std::map<std::string, ClusterFile>& machines) {
  const auto known = machines.find(job.node.String("precision"));
  if (known == machines.end() || !SharesCores(known->second)) return 1;
  const double price = PriceOf(job, trial, machines);
  if (price == 0) return 1;
  if (example_seconds == 0) {
    const Trial tried = RunTrial(job, trial);
    std::filesystem::remove_all(trial.folder);
    if (!tried.failure.empty()) return 1;
    example_seconds = tried.seconds_per_example;
  }
  const double factor = std::max(1.0, example_seconds * ExamplesPerUpdate(job) / price);
  for (auto& [precision, cluster] : machines) cluster = Slowed(cluster, factor);
  return factor;
}

}  // namespace yoke
