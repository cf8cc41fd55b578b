// Signals: the handler may only touch lock-free variables, read the clock and call _exit.
#include "cli/signals.h"

#include <unistd.h>

#include <csignal>

#include "base/clock.h"
#include "cli/guard.h"

namespace yoke {
namespace {

// A handler can reach only global variables.
std::atomic<int> stop_signal{0};
std::atomic<double> stop_time{0};
std::atomic<bool> guard_lost{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<double>::is_always_lock_free);

/// Signals within this time count as one: a launcher often signals a process and then its group.
constexpr double kOneSignal = 0.2;  // seconds

void HandleStop(int number) {
  const double now = Now();
  if (stop_signal != 0 && now - stop_time > kOneSignal) _exit(128 + number);
  if (stop_signal == 0) stop_time = now;
  stop_signal = number;
}

void HandleGuardLost(int number) {
  if (stop_signal == 0) _exit(128 + number);
  guard_lost = true;
}

void Catch(int number, void (*handle)(int)) {
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

const std::atomic<int>& CatchStopSignals() {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (number != SIGHUP || before.sa_handler != SIG_IGN) Catch(number, HandleStop);
  }
  return stop_signal;
}

const std::atomic<bool>& CatchGuardLost() {
  Catch(GuardLost(), HandleGuardLost);
  return guard_lost;
}

}  // namespace yoke
