// Signals: the handler may only touch lock-free variables, read the clock and call _exit. The guard
// forks into itself and a child that trains.
#include "cli/signals.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

#include "base/check.h"
#include "base/clock.h"
#include "comm/launcher.h"
#include "train/record/machine.h"

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

/// Gives the handlers a stack of their own in this thread, the main one, which the system prefers
/// for a process's signals: some of oneDNN's kernels point the stack register into the heap, where
/// a handler's frame would overwrite what lies below (seen: the state of the vector registers).
void SeparateStack() {
  alignas(64) static std::array<std::byte, 1 << 16> memory;
  const stack_t stack = {.ss_sp = memory.data(), .ss_flags = 0, .ss_size = memory.size()};
  sigaltstack(&stack, nullptr);
}

/// Call it in the main thread.
void Catch(int number, void (*handle)(int)) {
  SeparateStack();
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

/// The signal that reports the guard's death.
int GuardLost() { return SIGRTMIN; }

constexpr timespec kLook = {.tv_sec = 0, .tv_nsec = 500'000'000};
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCONT, SIGTSTP};

sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : kPassedOn) {
    struct sigaction now {};
    sigaction(number, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, number);  // `nohup` ignores it
  }
  sigaddset(&set, SIGCHLD);
  return set;
}

class Guard {
 public:
  Guard(pid_t child, pid_t launcher, const Launch& launch, Output* out)
      : child_(child), launcher_(launcher), launch_(launch), out_(out) {}

  /// Waits until the child has ended.
  [[noreturn]] void Stand() {
    const sigset_t watched = Watched();
    for (;;) {
      const int number = sigtimedwait(&watched, nullptr, &kLook);
      int status = 0;
      if (waitpid(child_, &status, WNOHANG) == child_) End(status);
      if (number > 0 && number != SIGCHLD)
        Pass(number);
      else if (getppid() != launcher_ && !stops_)
        Pass(SIGTERM);  // the launcher has died
    }
  }

 private:
  void Pass(int number) {
    kill(child_, number == SIGTSTP ? SIGSTOP : number);  // SIGTSTP ignores its group
    if (number == SIGCONT || number == SIGTSTP) return;
    if (!stops_ && out_ && launch_.rank == 0 && launch_.kills) Tell();
    stops_ = true;
  }

  /// The output for the stop message. Open MPI 5's mpirun passes nothing on once it stops, so its
  /// own standard output is used unless that is a file to which it does not append (`>`): two
  /// writers would overwrite each other there.
  int Reader() const {
    const std::string launchers = fmt::format("/proc/{}/fd/1", launcher_);
    const int direct = launch_.library == "openmpi5"
                           ? open(launchers.c_str(), O_WRONLY | O_APPEND | O_NOCTTY)
                           : -1;
    struct stat about {};
    const bool file = direct >= 0 && fstat(direct, &about) == 0 && S_ISREG(about.st_mode);
    return direct >= 0 && (!file || LauncherAppends()) ? direct : STDOUT_FILENO;
  }

  bool LauncherAppends() const {
    std::ifstream about(fmt::format("/proc/{}/fdinfo/1", launcher_));
    for (std::string key, value; about >> key >> value;)
      if (key == "flags:") return (std::stoul(value, nullptr, 8) & O_APPEND) != 0;
    return false;
  }

  void Tell() const try {
    const std::string sentence =
        "stopping: mpirun told the ranks to stop; if all of them are still alive, they end their "
        "step and save; log.txt of the run says how it ended";
    Output reader(Reader(), out_->json());
    reader.Text(sentence);
    reader.Event("message", {{"message", sentence}});
  } catch (const Error&) {  // nobody reads it
  }

  [[noreturn]] void End(int status) const {
    if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
    const int number = WTERMSIG(status);
    if (!stops_)
      std::fprintf(stderr, "yoke: rank %d of %d (process %d on %s) was killed by signal %d, %s%s\n",
                   launch_.rank, launch_.size, child_, HostName().c_str(), number,
                   strsignal(number),
                   number == SIGKILL ? " (the system does this when memory runs out)" : "");
    prctl(PR_SET_DUMPABLE, 0);  // no second core dump: the child has left one
    std::signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    raise(number);
    _exit(128 + number);
  }

  pid_t child_, launcher_;
  const Launch& launch_;
  Output* out_;
  bool stops_ = false;
};

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

bool StandGuard(Output* out) {
  const Launch launch = FindLaunch();
  if (!launch.guarded) return false;
  const pid_t launcher = getppid(), guard = getpid();
  std::signal(SIGCHLD, SIG_DFL);  // if ignored, waitpid could not return the child's status
  const sigset_t watched = Watched();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t child = fork();
  if (child < 0) throw Error(fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child > 0) Guard(child, launcher, launch, out).Stand();
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, launch.kills ? GuardLost() : SIGKILL);
  if (getppid() != guard) _exit(1);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return true;
}

}  // namespace yoke
