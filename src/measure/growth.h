// Growth: what a training step would take with more threads than this machine has cores, from the
// CPU time of each thread of such a team.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "measure/machine_profile.h"
#include "measure/team_record.h"
#include "node/speed_curve.h"

namespace yoke {

struct WorkTimes {
  double busy = 0;      ///< Seconds of CPU, all threads.
  double span = 0;      ///< Seconds, if each thread has a core.
  double meetings = 0;  ///< Starts of regions and barriers of a team.
  WorkTimes& operator+=(const WorkTimes& other);
};
/// Of one step.
using StepTimes = std::map<WorkKey, WorkTimes>;

/// The usual step: of each thread, phase and piece of a loop the median over steps. What differs
/// between threads in each step anew is left out, with the machine's noise. Work of few steps
/// counts by its mean.
StepTimes UsualStep(const std::vector<StepRecord>& steps);

/// A step by a team of so many threads, each with a core of its own. What cores share is left out:
/// the bandwidth of memory, the last cache, the clock.
struct GrowthPoint {
  int threads = 1;
  double seconds = 0;   ///< Of the usual step: the sum of the next three.
  double alone = 0;     ///< Of it, outside of parallel regions.
  double regions = 0;   ///< In them: from their start to the end of their last thread.
  double meetings = 0;  ///< Starts of regions and barriers.
  double busy = 0;      ///< CPU seconds, all threads.
  int64_t steps = 0;    ///< That were recorded.
  StepTimes work;
};

struct Growth {
  int64_t batch = 0;        ///< Examples of a step.
  Cost pass = {};           ///< Of it, by the layers' count: forward and backward.
  double bytes = 0;         ///< That the step moves between memory and cores, by the same.
  double read_seconds = 0;  ///< CPU seconds in which one thread reads a batch.
  std::vector<GrowthPoint> points;
};

/// The seconds in which a team of threads on one memory node meets.
double SecondsOfMeeting(int threads);

/// Trains a copy of the model on the CPU by the executor `single`, by teams of each size in turn
/// for about `seconds` in all. Teams of more threads than cores take turns, so waiting threads must
/// sleep: OMP_WAIT_POLICY=passive. `request` gives what to measure for a number of threads.
/// Throws as TeamRecord and MeasureMachine.
Growth MeasureGrowth(const std::function<ProfileRequest(int threads)>& request,
                     const std::vector<int>& threads, double seconds);

/// What a machine has that no team of few cores tells.
struct SharedMemory {
  int nodes = 1;
  double bytes_per_second = 0;  ///< Of all of them.
};

/// Examples of one of the teams of so many threads that divide a batch and a machine: at least 1.
int64_t BatchOfTeam(int64_t batch, int team, int threads);

/// The speed curve of a machine of many cores, from the computed steps of teams that would divide
/// it. `teams`: growth of one point each, by rising threads from 1 to all, each with its batch.
/// Updates are left out: the curve takes their bytes from memory. A team that spans memory nodes
/// reads the others' bytes at half the speed (assumed). Without title.
SpeedCurve CurveOfTeams(const std::vector<Growth>& teams, const SharedMemory& memory);

}  // namespace yoke
