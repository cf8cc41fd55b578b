// TeamRecord: the CPU time of each thread in each parallel region of a step, and what the step
// would take if every thread had a core.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/work_label.h"

namespace yoke {

/// An iteration, or several, that a thread took from a loop that gives iterations to the thread
/// that is free.
struct LoopPiece {
  int64_t first = 0;   ///< Its first iteration.
  double seconds = 0;  ///< CPU time.
};

/// What a thread did in a region from one barrier to the next.
struct ThreadPhase {
  double fixed = 0;  ///< Seconds of CPU, without the pieces.
  std::vector<LoopPiece> pieces;
};

/// The seconds from a phase's start to its barrier if each thread has a core: pieces go in the
/// order of the loop, each to the thread that is free first.
double SpanOf(const std::vector<ThreadPhase>& threads);

/// Which work a time belongs to.
struct WorkKey {
  std::string layer, part;
  std::string function;  ///< Whose region it is; "": outside of regions, by one thread.
  auto operator<=>(const WorkKey&) const = default;  // NOLINT(modernize-use-nullptr): false alarm
};

/// One run of a region: the threads of each phase. Work outside of regions is one phase of one.
using RegionRun = std::vector<std::vector<ThreadPhase>>;
/// Of a step: the runs of each region in their order, and one of the work outside.
using StepRecord = std::map<WorkKey, std::vector<RegionRun>>;

/// What one thread does in a region that is recorded.
class ThreadRecord {
 public:
  void Start(double clock_cost);
  void Stop();
  void EndPhase();                                    ///< Before a barrier.
  void BeginPhase() { since_ = ThreadCpuSeconds(); }  ///< After it.
  /// The thread has asked for iterations of a loop; `taken`: it has got some, from `first` on.
  void TakePiece(bool taken, int64_t first);
  std::vector<ThreadPhase>& phases() { return phases_; }

 private:
  double Spent();

  std::vector<ThreadPhase> phases_;
  double since_ = 0, clock_cost_ = 0;
  int64_t piece_ = -1;  // the first iteration of the piece at hand; -1: none
};
/// That of this thread; null: it is in no recorded region, or in a region inside of one.
inline thread_local ThreadRecord* thread_record = nullptr;

/// While it lives, records what the thread that made it does, and the teams that it calls.
class TeamRecord : public WorkListener {
 public:
  using Region = void (*)(void*);

  /// Throws Error in a program without the hooks (measure/team_hooks.cc).
  TeamRecord();
  ~TeamRecord() override;
  TeamRecord(const TeamRecord&) = delete;
  TeamRecord& operator=(const TeamRecord&) = delete;

  /// What happened since the last call.
  StepRecord Take();
  void TurnTo(Work work) override;

  /// For the hooks. Begins a region of so many threads: each runs RunPart(this).
  void Begin(Region region, void* data, unsigned threads);
  static void RunPart(void* record);
  /// The first thread's part, where it is not called through RunPart.
  void StartFirst() { threads_[0].Start(clock_cost_); }
  void StopFirst() { threads_[0].Stop(); }
  void End();
  bool in_region() const { return region_ != nullptr; }

 private:
  using Place = std::tuple<std::string_view, std::string_view, const void*>;
  static void Forget();
  void AddAlone();
  std::vector<RegionRun>& At(const void* function) {
    return runs_[Place(work_.layer, work_.part, function)];
  }

  double clock_cost_ = 0;  // seconds of one look at a thread's clock
  Work work_;
  double since_ = 0;  // outside of regions
  Region region_ = nullptr;
  void* data_ = nullptr;
  std::vector<ThreadRecord> threads_;  // of the region
  std::map<Place, std::vector<RegionRun>> runs_;
};
/// That of this thread; null: none.
inline thread_local TeamRecord* team_record = nullptr;

/// Without arguments and namespaces, such as "HashTables::Build"; "?" where the file has no names.
/// The function that the compiler made of a parallel region has the name of the one around it.
std::string FunctionName(const void* function);

}  // namespace yoke
