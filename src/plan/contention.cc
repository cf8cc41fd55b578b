// Contention: steps beside those of other ranks, and beside threads that send and wait in a ring.
#include "plan/contention.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "comm/gather.h"

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

}  // namespace yoke
