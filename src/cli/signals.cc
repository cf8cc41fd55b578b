// Signals: the handler may only touch a lock-free variable and call _exit.
#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

namespace yoke {
namespace {

// A handler can reach nothing but a variable of the process.
std::atomic<int> stop_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void HandleStop(int number) {
  if (stop_signal.exchange(number) != 0) _exit(128 + number);
}

}  // namespace

const std::atomic<int>& CatchStopSignals() {
  struct sigaction action {};
  action.sa_handler = HandleStop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return stop_signal;
}

}  // namespace yoke
