// ServingThread: a thread that handles requests beside the training of its rank.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"
#include "strategy/traffic_mirror.h"

namespace yoke {

struct ServingSettings {
  int from = kAnySource;
  int tag = 0;
  int kernel_threads = 1;  ///< Of its handler.
};

class ServingThread {
 public:
  /// Handles one request; false after the last.
  using Handler = std::function<bool(const Communicator& world, Message request)>;

  /// Called by all ranks of `world`; those with a null handler serve nothing. Destroying it waits
  /// for its end.
  ServingThread(const Communicator& world, const ServingSettings& settings, Handler handler);
  ServingThread(const ServingThread&) = delete;
  ServingThread& operator=(const ServingThread&) = delete;
  /// Of the thread; may be read at any time.
  Traffic traffic() const { return traffic_.Read(); }
  /// Waits for its end.
  void Join() { thread_.reset(); }

 private:
  Handler handler_;
  TrafficMirror traffic_;
  std::shared_ptr<void> thread_;  // last: it ends before the other members are destroyed
};

}  // namespace yoke
