// Growth: steps are recorded one by one; medians of their times are joined.
#include "measure/growth.h"

#include <algorithm>
#include <map>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/registry.h"
#include "base/stop.h"
#include "kernels/threads.h"
#include "measure/stepper.h"

namespace yoke {
namespace {

constexpr int kWarmUps = 1;
constexpr int kLeast = 2, kMost = 100;  // recorded steps of a visit

double MeetingsOf(const RegionRun& run) {
  return run.empty() || run[0].size() < 2 ? 0 : static_cast<double>(run.size());
}

size_t PiecesOf(const std::vector<ThreadPhase>& threads) {
  size_t count = 0;
  for (const ThreadPhase& thread : threads) count += thread.pieces.size();
  return count;
}

/// What two runs of a region must share to be compared: its phases, their threads and pieces.
std::vector<size_t> ShapeOf(const std::vector<RegionRun>& runs) {
  std::vector<size_t> shape;
  for (const RegionRun& run : runs) {
    shape.push_back(run.size());
    for (const auto& threads : run) {
      shape.push_back(threads.size());
      shape.push_back(PiecesOf(threads));
    }
  }
  return shape;
}

/// Seconds of all pieces, in the order of the loop.
std::vector<double> PieceSeconds(const std::vector<ThreadPhase>& threads) {
  std::vector<LoopPiece> pieces;
  for (const ThreadPhase& thread : threads)
    pieces.insert(pieces.end(), thread.pieces.begin(), thread.pieces.end());
  std::ranges::stable_sort(pieces, {}, &LoopPiece::first);
  std::vector<double> seconds;
  seconds.reserve(pieces.size());
  for (const LoopPiece& piece : pieces) seconds.push_back(piece.seconds);
  return seconds;
}

/// Medians of each element of lists of one length.
std::vector<double> MediansOf(const std::vector<std::vector<double>>& lists) {
  std::vector<double> medians(lists[0].size()), values(lists.size());
  for (size_t i = 0; i < medians.size(); ++i) {
    for (size_t k = 0; k < lists.size(); ++k) values[k] = lists[k][i];
    medians[i] = Median(values);
  }
  return medians;
}

/// One phase of all steps, joined.
WorkTimes Join(const std::vector<const std::vector<ThreadPhase>*>& steps) {
  std::vector<std::vector<double>> fixed, pieces;
  for (const auto* threads : steps) {
    std::vector<double>& seconds = fixed.emplace_back();
    for (const ThreadPhase& thread : *threads) seconds.push_back(thread.fixed);
    pieces.push_back(PieceSeconds(*threads));
  }
  std::vector<ThreadPhase> usual;
  WorkTimes times;
  for (const double seconds : MediansOf(fixed)) {
    usual.push_back({.fixed = seconds, .pieces = {}});
    times.busy += seconds;
  }
  int64_t first = 0;
  for (const double seconds : MediansOf(pieces)) {
    usual[0].pieces.push_back({.first = first++, .seconds = seconds});
    times.busy += seconds;
  }
  times.span = SpanOf(usual);
  return times;
}

/// The runs of one region in the steps in which they have the shape that most of them have.
WorkTimes Join(const std::vector<const std::vector<RegionRun>*>& steps) {
  std::map<std::vector<size_t>, std::vector<const std::vector<RegionRun>*>> by_shape;
  for (const auto* runs : steps) by_shape[ShapeOf(*runs)].push_back(runs);
  const auto& usual = std::ranges::max_element(by_shape, {}, [](const auto& shape) {
                        return shape.second.size();
                      })->second;
  WorkTimes sum;
  for (size_t run = 0; run < usual[0]->size(); ++run) {
    sum.meetings += MeetingsOf((*usual[0])[run]);
    for (size_t phase = 0; phase < (*usual[0])[run].size(); ++phase) {
      std::vector<const std::vector<ThreadPhase>*> phases;
      phases.reserve(usual.size());
      for (const auto* runs : usual) phases.push_back(&(*runs)[run][phase]);
      sum += Join(phases);
    }
  }
  return sum;
}

/// Work of few of the steps, on average over all.
WorkTimes Mean(const std::vector<const std::vector<RegionRun>*>& few, int64_t steps) {
  WorkTimes sum;
  for (const auto* runs : few) sum += Join({runs});
  const auto count = static_cast<double>(steps);
  return {.busy = sum.busy / count, .span = sum.span / count, .meetings = sum.meetings / count};
}

GrowthPoint PointOf(int threads, const std::vector<StepRecord>& steps) {
  GrowthPoint point = {.threads = threads, .steps = std::ssize(steps), .work = UsualStep(steps)};
  for (const auto& [work, times] : point.work) {
    (work.function.empty() ? point.alone : point.regions) += times.span;
    point.meetings += SecondsOfMeeting(threads) * times.meetings;
    point.busy += times.busy;
  }
  point.seconds = point.alone + point.regions + point.meetings;
  return point;
}

/// Records steps of one team.
void Visit(const ProfileRequest& request, double seconds, Growth& growth,
           std::vector<StepRecord>& steps) {
  const ExecutorEntry& single = FindEntry(executors(), "executor", "single");
  SetKernelThreads(request.threads.threads);
  Stepper stepper(request, single, Options(), {&Cpu()});
  Batches batches(request, request.batch);
  std::vector<double> reads;
  const auto prepare = [&] {
    stepper.Prepare();
    const double began = ThreadCpuSeconds();
    batches.Read();
    reads.push_back(ThreadCpuSeconds() - began);
  };
  for (int i = 0; i < kWarmUps; ++i) {
    prepare();
    stepper.Step(batches.batch());
  }
  TeamRecord record;
  const double until = Now() + seconds;
  for (int i = 0; i < kLeast || (Now() < until && i < kMost); ++i) {
    prepare();
    record.Take();
    stepper.Step(batches.batch());
    steps.push_back(record.Take());
    if (StopIsAsked(request.stop)) break;
  }
  growth.batch = batches.size();
  growth.pass = request.graph.Price(growth.batch);
  growth.bytes = growth.pass.bytes + stepper.UpdateCost().bytes;
  growth.read_seconds = Median(reads);
}

/// Teams take turns, so that a slow phase of a shared machine is in all of them; not where a visit
/// begins with much memory to fill.
int RoundsOf(const Graph& graph) {
  constexpr int64_t kLarge = 1 << 25;  // parameters
  return graph.layout().Parameters() < kLarge ? 3 : 1;
}

constexpr double kFar = 0.5;  // of the speed of memory: from another node

/// Of forward and backward.
double PassSeconds(const GrowthPoint& point) {
  double seconds = 0;
  for (const auto& [work, times] : point.work)
    if (work.part != "update")
      seconds += times.span + SecondsOfMeeting(point.threads) * times.meetings;
  return seconds;
}

double ExamplesPerSecond(const Growth& team) {
  return static_cast<double>(team.batch) / PassSeconds(team.points[0]);
}

}  // namespace

double SecondsOfMeeting(int threads) {
  constexpr double kThread = 0.1e-6;  // libgomp's central barrier: a line of a cache for each
  return threads > 1 ? kThread * threads : 0;
}

WorkTimes& WorkTimes::operator+=(const WorkTimes& other) {
  busy += other.busy;
  span += other.span;
  meetings += other.meetings;
  return *this;
}

StepTimes UsualStep(const std::vector<StepRecord>& steps) {
  std::map<WorkKey, std::vector<const std::vector<RegionRun>*>> all;
  for (const StepRecord& step : steps)
    for (const auto& [work, runs] : step) all[work].push_back(&runs);
  StepTimes usual;
  for (const auto& [work, runs] : all)
    usual[work] = 2 * runs.size() > steps.size() ? Join(runs) : Mean(runs, std::ssize(steps));
  return usual;
}

Growth MeasureGrowth(const std::function<ProfileRequest(int threads)>& request,
                     const std::vector<int>& threads, double seconds) {
  Growth growth;
  const int before = KernelThreads(), rounds = RoundsOf(request(1).graph);
  std::vector<std::vector<StepRecord>> steps(threads.size());
  const double each = seconds / static_cast<double>(rounds * threads.size()), began = Now();
  for (int round = 0; round < rounds && (round == 0 || Now() - began < seconds); ++round)
    for (size_t i = 0; i < threads.size(); ++i) {
      const ProfileRequest of = request(threads[i]);
      if (!StopIsAsked(of.stop)) Visit(of, each, growth, steps[i]);
    }
  SetKernelThreads(before);
  for (size_t i = 0; i < threads.size(); ++i)
    if (!steps[i].empty()) growth.points.push_back(PointOf(threads[i], steps[i]));
  return growth;
}

int64_t BatchOfTeam(int64_t batch, int team, int threads) {
  return std::max<int64_t>(1, batch * team / threads);
}

SpeedCurve CurveOfTeams(const std::vector<Growth>& teams, const SharedMemory& memory) {
  Check(!teams.empty() && teams[0].points[0].threads == 1, "a curve of teams needs one thread's");
  const Growth& all = teams.back();
  const int threads = all.points[0].threads;
  SpeedCurve curve = {.operations_per_second = all.pass.operations / PassSeconds(all.points[0]),
                      .bytes_per_second = memory.bytes_per_second,
                      .threads = threads,
                      .memory_nodes = memory.nodes};
  if (memory.nodes > 1) curve.far_bytes_per_second = kFar * memory.bytes_per_second;
  for (const Growth& team : teams)
    curve.growth[team.points[0].threads] = ExamplesPerSecond(team) / ExamplesPerSecond(teams[0]);
  return curve;
}

}  // namespace yoke
