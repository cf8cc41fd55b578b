// Threads of kernels, by OpenMP's rule: a team belongs to the thread that calls.
#include "kernels/threads.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "base/check.h"
#include "base/resources.h"
#include "base/thread.h"
#include "kernels/spin_watch.h"

namespace yoke {
namespace {

/// What libgomp holds for this thread: it keeps a team's threads until a team of another size
/// meets.
struct HeldTeam {
  int size = 1;
  bool flushes = false;
};
thread_local HeldTeam held;

/// libgomp starts a team's threads when it first meets. Refused one, it ends the process.
void Gather(HeldTeam team) {
#pragma omp parallel num_threads(team.size)
  {
    if (team.flushes) FlushDenormals();
    WatchSpin(team.size);
  }
  held = team;
}

}  // namespace

FlushScope::FlushScope()
    : flushed_(FlushesDenormals()), dynamic_(omp_get_dynamic()), before_(FlushDenormals()) {
  if (flushed_) return;
  try {
    SetKernelThreads(KernelThreads());
  } catch (...) {  // before the team has met
    ComputeAs(before_);
    omp_set_dynamic(dynamic_);
    throw;
  }
}

FlushScope::~FlushScope() {
  if (flushed_) return;
  ComputeAs(before_);
#pragma omp parallel num_threads(held.size)
  ComputeAs(before_);
  held.flushes = false;
  omp_set_dynamic(dynamic_);
}

void SetKernelThreads(int threads) {
  // oneDNN divides its work by the size asked for and computes nonsense with a smaller team, so
  // what OMP_THREAD_LIMIT and OMP_DYNAMIC would take away later is taken away here.
  omp_set_dynamic(0);
  const HeldTeam team = {std::clamp(threads, 1, omp_get_thread_limit()), FlushesDenormals()};
  if (team.size > 1 && (team.size != held.size || team.flushes > held.flushes))
    RequireThreads(team.size - held.size, [team] { Gather(team); });
  omp_set_num_threads(team.size);
}

int KernelThreads() { return omp_get_max_threads(); }

void RestoreKernelThreads(int threads) {
  if (threads != omp_get_max_threads()) omp_set_num_threads(threads);
}

int TeamThread() { return omp_get_thread_num(); }

void ForEachOnTeam(int64_t count, const std::function<void(int64_t)>& body) {
  std::exception_ptr failure;
#pragma omp parallel
  {
    omp_set_num_threads(1);  // of this thread's own kernels, until the team parts
#pragma omp for schedule(dynamic, 1)
    for (int64_t i = 0; i < count; ++i) try {
        body(i);
      } catch (...) {
#pragma omp critical(yoke_team_failure)
        if (!failure) failure = std::current_exception();
      }
  }
  if (failure) std::rethrow_exception(failure);
}

bool WaitsFor(int64_t count) {
  const int64_t threads = KernelThreads(), rounds = (count + threads - 1) / threads;
  return 4 * count < 3 * rounds * threads;
}

namespace {

char** program_words = nullptr;  // main's

void Restart(char** words) {
  std::error_code none;
  execv(std::filesystem::read_symlink("/proc/self/exe", none).c_str(), words);
}

/// Makes waiting threads yield their core soon: libgomp reads its spin count when it is loaded, so
/// the program restarts itself with it in the environment, unless the caller has set GOMP_SPINCOUNT
/// or OMP_WAIT_POLICY. With half of it threads that wait for a short serial part fall asleep on a
/// Zen (MLP batch 1: 3,100 steps/s for 4,200). Other work on the cores shortens it (WatchSpin).
void WaitBriefly(char** words) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", std::to_string(LongSpin()).c_str(), 1);
  setenv("YOKE_SPIN", "adapts", 1);
  Restart(words);  // returns only on failure: then waiting is merely slower
}

}  // namespace

void LetWaitingThreadsSleep() {
  const char* policy = std::getenv("OMP_WAIT_POLICY");
  if (policy && std::string_view(policy) == "passive") return;
  setenv("OMP_WAIT_POLICY", "passive", 1);
  unsetenv("GOMP_SPINCOUNT");
  unsetenv("YOKE_SPIN");
  if (program_words) Restart(program_words);
  throw Error("cannot restart the program so that waiting threads sleep");
}

void BeginProgram(char** words) {
  program_words = words;
  KeepFreedMemory();
  WaitBriefly(words);
  FlushDenormals();
}

}  // namespace yoke
