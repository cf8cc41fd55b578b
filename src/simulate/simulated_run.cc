// SimulatedRun: what changes from world to world.
#include "simulate/simulated_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "train/recovery/recovery.h"
#include "train/start_run.h"

namespace yoke {
namespace {

constexpr int kMostTimes = 100;  // that a run goes back to the same step

double BytesIn(const std::string& folder) {
  double sum = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    sum += static_cast<double>(file.file_size());
  return sum;
}

}  // namespace

SimulatedRun::SimulatedRun(const Job& job, const RunRequest& request, RunContext& context)
    : job_(job), request_(request), context_(context), survivors_(job.cluster.Int("replicas")) {}

void SimulatedRun::Enter(const Communicator& world, const SimulatedPlace& place) {
  if (place.world != world_) Begin(world, place);
  std::optional<SurvivorState>& survivor = survivors_[place.rank];
  KeepPlace(world, survivor, [&] {
    const bool leads = world.rank() == 0;
    if (leads && context_.went_back) ReadCheckpoint(world);
    EndEvent mine = TrainRank(job_, request_, context_, world,
                              {.rank = world.rank(), .size = world.size()}, survivor);
    if (leads) end_ = std::move(mine);
  });
}

/// By the first rank that enters a world; rank 0 may be dead already.
void SimulatedRun::Begin(const Communicator& world, const SimulatedPlace& place) {
  world_ = place.world;
  ++context_.worlds;
  context_.lost_nodes = place.lost_nodes;
  context_.shared.executor.reset();  // it was made in a world that has ended
  context_.shared.graph.reset();
  if (request_.cluster->machines.failures.replace) return GoBack(world, place);
  if (std::ranges::find(place.lost, 0) != place.lost.end()) {
    context_.messages.clear();
    LeadAgain(context_);
  }
  job_ = SmallerJob(job_, world.size(), context_.messages);
}

/// Everybody starts from the newest checkpoint.
void SimulatedRun::GoBack(const Communicator& world, const SimulatedPlace& place) {
  for (std::optional<SurvivorState>& survivor : survivors_) survivor.reset();
  context_.went_back = true;
  context_.messages.push_back(fmt::format("rank {} of {} is lost: its node is replaced",
                                          fmt::join(place.lost, ", "), world.size()));
  LeadAgain(context_);
  ReturnTo(context_.checkpoint ? context_.checkpoint->header().position.step : 0);
}

void SimulatedBody::ReturnTo(int64_t step) {
  times_ = std::exchange(from_, step) == step ? times_ + 1 : 1;
  Require(times_ <= kMostTimes,
          "the run has gone back to step {} {} times, because nodes fail before it can write its "
          "next checkpoint: write checkpoints more often, or raise failures.mean_time_between",
          step, kMostTimes);
}

/// The time of it.
void SimulatedRun::ReadCheckpoint(const Communicator& world) const {
  const double speed = request_.cluster->checkpoint_bytes_per_second;
  if (context_.checkpoint && speed > 0) world.Sleep(BytesIn(context_.checkpoint->folder()) / speed);
}

}  // namespace yoke
