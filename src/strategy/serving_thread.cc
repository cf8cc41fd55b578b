// ServingThread: receives without a timeout, because clients may be silent for long.
#include "strategy/serving_thread.h"

#include <utility>

#include "kernels/threads.h"

namespace yoke {

ServingThread::ServingThread(const Communicator& world, const ServingSettings& settings,
                             Handler handler)
    : handler_(std::move(handler)) {
  thread_ = world.Spawn([this, settings, world](const Communicator& own) {
    if (!handler_) return;
    SetKernelThreads(settings.kernel_threads);
    const Communicator channel = world.For(own);
    for (bool serving = true; serving; traffic_.Show(channel.traffic()))
      serving = handler_(channel, channel.ReceiveWithoutTimeout(settings.from, settings.tag));
  });
}

}  // namespace yoke
