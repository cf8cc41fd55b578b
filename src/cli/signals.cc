// Signals: the handler may only touch lock-free variables, read the clock and call _exit.
#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

#include "base/clock.h"

namespace yoke {
namespace {

// A handler can reach nothing but a variable of the process.
std::atomic<int> stop_signal{0};
std::atomic<double> stop_time{0};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<double>::is_always_lock_free);

/// Signals so close together are one: a launcher often tells a process and then its whole group.
constexpr double kOneSignal = 0.2;  // seconds

void HandleStop(int number) {
  const double now = Now();
  if (stop_signal != 0 && now - stop_time > kOneSignal) _exit(128 + number);
  if (stop_signal == 0) stop_time = now;
  stop_signal = number;
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
