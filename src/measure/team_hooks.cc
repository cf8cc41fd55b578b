// Stands before OpenMP's library: places the threads of a team, also those that the library starts
// anew, and tells TeamRecord of regions, barriers and the iterations that a thread takes. For
// programs only: a library must not take a name that is not its own.
#include <dlfcn.h>
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "base/topology.h"
#include "measure/team_record.h"

namespace yoke {
namespace {

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

/// The regions that this thread is in inside of its part of a recorded one.
thread_local int inner_regions = 0;
thread_local ThreadRecord* outer_record = nullptr;

void EnterInner() {
  if (inner_regions > 0) {
    ++inner_regions;
  } else if (thread_record) {
    outer_record = std::exchange(thread_record, nullptr);
    inner_regions = 1;
  }
}

void LeaveInner() {
  if (inner_regions > 0 && --inner_regions == 0) thread_record = outer_record;
}

/// A region whose threads take their places first; without a binding they leave them.
struct PlacedRegion {
  void (*region)(void*);
  void* data;
  const Binding* binding;
  int leader;
  int threads = 1;

  static void Run(void* of_region) {
    auto* const placed = static_cast<PlacedRegion*>(of_region);
    const int number = omp_get_thread_num();
    if (number == 0) placed->threads = omp_get_num_threads();
    if (placed->binding)
      placed->binding->TakePlace(number);
    else
      LeavePlace(placed->leader);
    placed->region(placed->data);
  }
};
thread_local bool team_has_places = false;

bool Records() { return team_record && !team_record->in_region(); }

/// Around a barrier.
template <typename Call>
void Meet(const Call& call) {
  if (!thread_record) return call();
  thread_record->EndPhase();
  call();
  thread_record->BeginPhase();
}

bool Taken(bool taken, int64_t first) {
  if (thread_record) thread_record->TakePiece(taken, first);
  return taken;
}

}  // namespace
}  // namespace yoke

using namespace yoke;  // NOLINT(google-build-using-namespace): the functions below are C's

extern "C" {

// Names and arguments are those of GCC's libgomp.
// NOLINTBEGIN(readability-identifier-naming,misc-use-internal-linkage)
void GOMP_parallel(void (*region)(void*), void* data, unsigned threads, unsigned flags) {
  static const auto real = Real<decltype(GOMP_parallel)>("GOMP_parallel");
  if (!Records()) {
    EnterInner();
    const Binding* const binding = Binding::OfTeam();
    if ((binding || team_has_places) && omp_get_level() == 0) {
      const int leader = binding ? 0 : static_cast<int>(syscall(SYS_gettid));
      PlacedRegion placed = {region, data, binding, leader};
      real(PlacedRegion::Run, &placed, threads, flags);
      if (binding || placed.threads > 1) team_has_places = binding != nullptr;
    } else {
      real(region, data, threads, flags);
    }
    return LeaveInner();
  }
  team_record->Begin(region, data, threads);
  real(TeamRecord::RunPart, team_record, threads, flags);
  team_record->End();
}

/// As code for older libraries does: the caller does its own part between these two.
void GOMP_parallel_start(void (*region)(void*), void* data, unsigned threads) {
  static const auto real = Real<decltype(GOMP_parallel_start)>("GOMP_parallel_start");
  if (!Records()) {
    EnterInner();
    return real(region, data, threads);
  }
  team_record->Begin(region, data, threads);
  real(TeamRecord::RunPart, team_record, threads);
  team_record->StartFirst();
}

void GOMP_parallel_end() {
  static const auto real = Real<decltype(GOMP_parallel_end)>("GOMP_parallel_end");
  const bool ends = team_record && thread_record && inner_regions == 0;
  if (ends) team_record->StopFirst();
  real();
  ends ? team_record->End() : LeaveInner();
}

void GOMP_barrier() {
  static const auto real = Real<decltype(GOMP_barrier)>("GOMP_barrier");
  Meet(real);
}

void GOMP_loop_end() {
  static const auto real = Real<decltype(GOMP_loop_end)>("GOMP_loop_end");
  Meet(real);
}

bool GOMP_loop_nonmonotonic_dynamic_start(long start, long end, long step, long piece, long* from,
                                          long* to) {
  static const auto real =
      Real<decltype(GOMP_loop_nonmonotonic_dynamic_start)>("GOMP_loop_nonmonotonic_dynamic_start");
  const bool taken = real(start, end, step, piece, from, to);
  return Taken(taken, taken ? *from : 0);
}

bool GOMP_loop_nonmonotonic_dynamic_next(long* from, long* to) {
  static const auto real =
      Real<decltype(GOMP_loop_nonmonotonic_dynamic_next)>("GOMP_loop_nonmonotonic_dynamic_next");
  const bool taken = real(from, to);
  return Taken(taken, taken ? *from : 0);
}

using Ull = unsigned long long;
bool GOMP_loop_ull_nonmonotonic_dynamic_start(bool up, Ull start, Ull end, Ull step, Ull piece,
                                              Ull* from, Ull* to) {
  static const auto real = Real<decltype(GOMP_loop_ull_nonmonotonic_dynamic_start)>(
      "GOMP_loop_ull_nonmonotonic_dynamic_start");
  const bool taken = real(up, start, end, step, piece, from, to);
  return Taken(taken, taken ? static_cast<int64_t>(*from) : 0);
}

bool GOMP_loop_ull_nonmonotonic_dynamic_next(Ull* from, Ull* to) {
  static const auto real = Real<decltype(GOMP_loop_ull_nonmonotonic_dynamic_next)>(
      "GOMP_loop_ull_nonmonotonic_dynamic_next");
  const bool taken = real(from, to);
  return Taken(taken, taken ? static_cast<int64_t>(*from) : 0);
}
// NOLINTEND(readability-identifier-naming,misc-use-internal-linkage)
}
