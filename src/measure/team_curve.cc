// CurveOfTeams: examples a second of each team, beside those of one thread.
#include "measure/team_curve.h"

#include <algorithm>

#include "base/check.h"

namespace yoke {
namespace {

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
