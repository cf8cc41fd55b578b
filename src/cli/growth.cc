// Growth: a job's steps by teams of several sizes, as a table and what keeps the largest back.
#include "cli/growth.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/resources.h"
#include "base/stop.h"
#include "plan/measured_job.h"
#include "plan/world_profile.h"
#include "train/job/parts.h"
#include "train/number_format.h"
#include "train/record/machine.h"

namespace yoke {
namespace {

constexpr size_t kMostRows = 12;  // of what keeps a team back
constexpr double kWorthIt = 0.6;  // of the speed that the added threads would have alone

/// What a team loses with some work against its threads' time, if all had done as much of it.
struct LostTime {
  WorkKey work;
  WorkTimes times;
  double lost = 0;  ///< Seconds of a step.
};

std::vector<LostTime> LostTimesOf(const GrowthPoint& point) {
  std::vector<LostTime> all;
  for (const auto& [work, times] : point.work) {
    const double meetings = SecondsOfMeeting(point.threads) * times.meetings;
    all.push_back(
        {.work = work, .times = times, .lost = times.span + meetings - times.busy / point.threads});
  }
  std::ranges::sort(all, std::ranges::greater(), &LostTime::lost);
  return all;
}

std::string Time(double seconds) {
  return seconds < 1e-3  ? fmt::format("{:.3g} us", 1e6 * seconds)
         : seconds < 1.0 ? fmt::format("{:.3g} ms", 1e3 * seconds)
                         : fmt::format("{:.3g} s", seconds);
}

std::string Percent(double part) { return fmt::format("{:.1f} %", 100 * part); }

double GrowthAt(const Growth& growth, const GrowthPoint& point) {
  return growth.points.front().seconds / point.seconds;
}

/// In regions, while some threads wait for the last.
double UnevenOf(const GrowthPoint& point) {
  double busy = 0;
  for (const auto& [work, times] : point.work)
    if (!work.function.empty()) busy += times.busy;
  return std::max(0.0, point.regions - busy / point.threads);
}

std::vector<std::string> CellsOf(const Growth& growth, const GrowthPoint& point) {
  return {fmt::format("{}", point.threads),
          Time(point.seconds),
          Count(std::llround(static_cast<double>(growth.batch) / point.seconds)),
          fmt::format("{:.2f}", GrowthAt(growth, point)),
          Percent(point.alone / point.seconds),
          Percent(UnevenOf(point) / point.seconds),
          Percent(point.meetings / point.seconds),
          fmt::format("{:.2f}", point.busy / growth.points.front().busy),
          fmt::format("{:.3g} GB/s", growth.bytes / point.seconds / 1e9)};
}

Table ToTable(const Growth& growth, const GrowthPoint& point) {
  return {
      {"threads", point.threads}, {"seconds", point.seconds},  {"growth", GrowthAt(growth, point)},
      {"alone", point.alone},     {"uneven", UnevenOf(point)}, {"meetings", point.meetings},
      {"busy", point.busy},       {"steps", point.steps}};
}

void PrintLostTimes(const GrowthPoint& point, Output& out) {
  std::vector<std::vector<std::string>> rows = {
      {"layer", "part", "function", "work", "time", "lost"}};
  for (const LostTime& one : LostTimesOf(point)) {
    if (rows.size() > kMostRows || one.lost <= 0) break;
    rows.push_back({one.work.layer, one.work.part,
                    one.work.function.empty() ? "one thread alone" : one.work.function,
                    Time(one.times.busy), Time(one.times.span), Percent(one.lost / point.seconds)});
  }
  out.Text("");
  out.Text(fmt::format("what {} threads lose of a step:", point.threads));
  for (const std::string& line : TableLines(rows, {3, 4, 5})) out.Text(line);
}

Table EventOf(const std::string& job, const Growth& growth) {
  List points, work;
  for (const GrowthPoint& point : growth.points) points.push_back(ToTable(growth, point));
  for (const LostTime& one : LostTimesOf(growth.points.back()))
    work.push_back(Table{{"layer", one.work.layer},
                         {"part", one.work.part},
                         {"function", one.work.function},
                         {"busy", one.times.busy},
                         {"span", one.times.span},
                         {"lost", one.lost}});
  return {{"job", job},
          {"batch", growth.batch},
          {"bytes", growth.bytes},
          {"read_seconds", growth.read_seconds},
          {"points", points},
          {"work", work}};
}

}  // namespace

Growth GrowthOf(const Job& job, const std::vector<int>& teams, double seconds,
                const std::atomic<int>& stop) {
  const DataSets data = OpenData(job.data(), job.seed());
  const Graph graph = BuildModel(job.model(), TaskOf(data.train->Info()), RowTypeOf(job));
  const MeasuredJob measured(job, graph, *data.train, {&Cpu()}, &stop);
  return MeasureGrowth([&](int threads) { return measured.By({.threads = threads}, seconds); },
                       teams, seconds);
}

MeasuredCluster MachineOfGrowth(const Job& job, const MachineOrder& order,
                                const std::atomic<int>& stop) {
  constexpr double kAssumed = 1e10;  // bytes a second of a thread
  const DataSets data = OpenData(job.data(), job.seed());
  const Graph graph = BuildModel(job.model(), TaskOf(data.train->Info()), RowTypeOf(job));
  const MeasuredJob measured(job, graph, *data.train, {&Cpu()}, &stop);
  const int all = order.teams.back();
  const int64_t batch = std::min(job.train.Int("batch"), data.train->Size());
  const double each = order.seconds / static_cast<double>(order.teams.size());
  std::vector<Growth> teams;
  for (const int team : order.teams) {
    const auto request = [&](int threads) {
      ProfileRequest of = measured.By({.threads = threads}, each);
      of.batch = BatchOfTeam(batch, team, all);
      return of;
    };
    teams.push_back(MeasureGrowth(request, {team}, each));
    if (StopIsAsked(&stop)) return {};
  }
  SharedMemory memory = order.memory;
  if (memory.bytes_per_second == 0) memory.bytes_per_second = kAssumed * all;
  const std::string cpu = CpuModel();
  return {
      .title = fmt::format("{} cores, computed", all),
      .command = order.command,
      .when = LocalTime(),
      .subject = fmt::format("{}: batch {}, executor single, {}", job.name, batch,
                             job.node.String("precision")),
      .nodes = {{.host = fmt::format("{} cores", all),
                 .cpu = cpu,
                 .profile = {.threads = all, .curve = CurveOfTeams(teams, memory)},
                 .computed = fmt::format("Computed from the CPU time of each thread of a team on "
                                         "{}, {} to use: nobody has measured it.",
                                         cpu, UsableCores())}},
      .network = MeasureCopies(graph, batch)};
}

std::string EndOfGrowth(const Growth& growth) {
  for (size_t i = 1; i < growth.points.size(); ++i) {
    const GrowthPoint &few = growth.points[i - 1], &many = growth.points[i];
    const double gain = few.seconds / many.seconds;
    if (gain * few.threads < kWorthIt * many.threads)
      return fmt::format("grows to {} thread{}: with {} a step is {:.2f} times as fast as with {}",
                         few.threads, few.threads == 1 ? "" : "s", many.threads, gain, few.threads);
  }
  return "";
}

void PrintGrowth(const std::string& job, const Growth& growth, Output& out) {
  if (growth.points.empty()) return;  // stopped before
  out.Event("growth", EventOf(job, growth));
  out.Text(fmt::format("a step of {} examples if each thread had a core, by the CPU time of each:",
                       Count(growth.batch)));
  std::vector<std::vector<std::string>> rows = {
      {"threads", "step", "examples/s", "growth", "alone", "uneven", "meetings", "work", "memory"}};
  for (const GrowthPoint& point : growth.points) rows.push_back(CellsOf(growth, point));
  for (const std::string& line : TableLines(rows, {0, 1, 2, 3, 4, 5, 6, 7, 8})) out.Text(line);
  out.Text(fmt::format("reading a batch takes one thread {}", Time(growth.read_seconds)));
  if (const std::string end = EndOfGrowth(growth); !end.empty()) out.Text(end);
  PrintLostTimes(growth.points.back(), out);
}

}  // namespace yoke
