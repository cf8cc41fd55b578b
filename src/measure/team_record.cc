// TeamRecord: the times of a region's threads, joined into its span.
#include "measure/team_record.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <queue>
#include <utility>

#include "base/algorithms.h"
#include "base/check.h"

namespace yoke {
namespace {

/// What a look at the clock adds to the time between two of them.
double CostOfClock() {
  std::vector<double> costs(99);
  for (double& cost : costs) {
    const double began = ThreadCpuSeconds();
    cost = ThreadCpuSeconds() - began;
  }
  return Median(costs);
}

/// The phase of each thread; a thread that met fewer barriers has none in the last ones.
std::vector<ThreadPhase> PhaseOf(std::vector<ThreadRecord>& threads, size_t phase) {
  std::vector<ThreadPhase> all;
  all.reserve(threads.size());
  for (ThreadRecord& thread : threads)
    all.push_back(phase < thread.phases().size() ? std::move(thread.phases()[phase])
                                                 : ThreadPhase());
  return all;
}

}  // namespace

double SpanOf(const std::vector<ThreadPhase>& threads) {
  std::vector<LoopPiece> pieces;
  std::priority_queue<double, std::vector<double>, std::greater<>> free;  // when each is
  double span = 0;
  for (const ThreadPhase& thread : threads) {
    pieces.insert(pieces.end(), thread.pieces.begin(), thread.pieces.end());
    free.push(thread.fixed);
    span = std::max(span, thread.fixed);
  }
  std::ranges::stable_sort(pieces, {}, &LoopPiece::first);
  for (const LoopPiece& piece : pieces) {
    const double end = free.top() + piece.seconds;
    free.pop();
    free.push(end);
    span = std::max(span, end);
  }
  return span;
}

void ThreadRecord::Start(double clock_cost) {
  clock_cost_ = clock_cost;
  phases_.assign(1, {});
  piece_ = -1;
  thread_record = this;
  BeginPhase();
}

void ThreadRecord::Stop() {
  phases_.back().fixed += Spent();
  thread_record = nullptr;
}

void ThreadRecord::EndPhase() {
  phases_.back().fixed += Spent();
  phases_.emplace_back();
}

void ThreadRecord::TakePiece(bool taken, int64_t first) {
  const double spent = Spent();
  if (piece_ < 0)
    phases_.back().fixed += spent;
  else
    phases_.back().pieces.push_back({.first = piece_, .seconds = spent});
  piece_ = taken ? first : -1;
}

double ThreadRecord::Spent() {
  const double now = ThreadCpuSeconds();
  return std::max(0.0, now - std::exchange(since_, now) - clock_cost_);
}

TeamRecord::TeamRecord() : clock_cost_(CostOfClock()) {
  team_record = this;
  work_listener = this;
  std::atomic<int> threads = 0;  // an empty region would be left out
#pragma omp parallel num_threads(2)
  ++threads;
  const bool recorded = runs_.size() > 1;  // beside the work outside
  Take();
  if (recorded) return;
  Forget();
  throw Error("this program cannot record its teams of threads");
}

TeamRecord::~TeamRecord() { Forget(); }

void TeamRecord::Forget() {
  team_record = nullptr;
  work_listener = nullptr;
}

StepRecord TeamRecord::Take() {
  AddAlone();
  StepRecord step;
  for (auto& [place, runs] : runs_) {
    const auto& [layer, part, function] = place;
    const std::string name = function ? FunctionName(function) : "";
    std::vector<RegionRun>& all = step[{std::string(layer), std::string(part), name}];
    std::ranges::move(runs, std::back_inserter(all));
  }
  runs_.clear();
  since_ = ThreadCpuSeconds();
  return step;
}

void TeamRecord::TurnTo(Work work) {
  if (!in_region()) AddAlone();
  work_ = work;
}

void TeamRecord::AddAlone() {
  const double now = ThreadCpuSeconds();
  const double spent = std::max(0.0, now - std::exchange(since_, now) - clock_cost_);
  std::vector<RegionRun>& alone = At(nullptr);
  if (alone.empty()) alone.push_back({{{}}});
  alone[0][0][0].fixed += spent;
}

void TeamRecord::Begin(Region region, void* data, unsigned threads) {
  AddAlone();
  region_ = region;
  data_ = data;
  threads_.resize(threads > 0 ? threads : static_cast<unsigned>(omp_get_max_threads()));
  for (ThreadRecord& thread : threads_) thread.phases().clear();
}

void TeamRecord::RunPart(void* record) {
  auto& team = *static_cast<TeamRecord*>(record);
  ThreadRecord& mine = team.threads_[omp_get_thread_num()];
  mine.Start(team.clock_cost_);
  team.region_(team.data_);
  mine.Stop();
}

void TeamRecord::End() {
  size_t phases = 0;
  for (ThreadRecord& thread : threads_) phases = std::max(phases, thread.phases().size());
  RegionRun run;
  for (size_t phase = 0; phase < phases; ++phase) run.push_back(PhaseOf(threads_, phase));
  At(reinterpret_cast<const void*>(region_)).push_back(std::move(run));
  region_ = nullptr;
  since_ = ThreadCpuSeconds();
}

}  // namespace yoke
