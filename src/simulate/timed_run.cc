// TimedRun: the loop of each rank, and what the ranks decide together.
#include "simulate/timed_run.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "comm/virtual_time.h"
#include "train/recovery/recovery.h"

namespace yoke {
namespace {

/// Entries of a count, together as long as what a rank tells of itself before the survivors
/// continue (recovery.cc): 160 bytes.
constexpr int kStateEntries = 10;

std::map<int, int64_t> StateOfRank() {
  std::map<int, int64_t> state;
  for (int i = 0; i < kStateEntries; ++i) state[i] = 0;
  return state;
}

/// Where training would wait for its next step.
void NoticeLosses(const Communicator& world) {
  Message none;
  world.TryReceive(world.rank(), 0, none);
}

}  // namespace

TimedRun::TimedRun(const Job& job, const RunRequest& request, RunContext& context)
    : job_(job), request_(request), context_(context), rate_(job), limits_(job, request) {
  const Reader& examples = *context.data.train;
  world_.emplace(job, examples, static_cast<int>(job.cluster.Int("replicas")), TimedProgress());
  epoch_examples_ = static_cast<double>(world_->epoch_steps) * world_->step_examples;
  meets_ = examples.Size() >= world_->model.batch.size * world_->roles.workers;
}

void TimedRun::Enter(const Communicator& world, const SimulatedPlace& place) {
  if (place.world != number_) NextWorld(world, place);
  const bool leads = world.rank() == 0;
  if (leads) Begun();
  context_.began = true;
  if (place.world > 0) {
    if (leads && context_.went_back) AccessCheckpoint(world);
    if (world.size() >= kStateEntries) VirtualTime(world).CountFor(StateOfRank());
  }
  TimedRank rank(world_->job, world_->model, world, world_->steps_per_epoch);
  try {
    rank.Begin(place.world > 0 && mean_);
    while (!TakeRound(world, rank)) continue;
    world_->counts[world.rank()] = rank.Counts();
    world.Barrier();
    if (leads) Ended(place);
    rank.Finish();
  } catch (const RankLost&) {
    has_model_ = rank.Recover() || has_model_;
    throw;
  }
}

/// Called by the first rank that enters it.
void TimedRun::NextWorld(const Communicator& world, const SimulatedPlace& place) {
  number_ = place.world;
  TimedProgress progress = world_->Done(place.lost);
  const std::string lost =
      fmt::format("rank {} of {} is lost", fmt::join(place.lost, ", "), world_->counts.size());
  mean_ = !std::exchange(has_model_, false);
  if (request_.cluster->machines.failures.replace) {
    context_.went_back = true;
    progress = saved_;
    ReturnTo(progress.steps);
    messages_.push_back(
        fmt::format("{}: its node is replaced, back to step {}", lost, progress.steps));
  } else {
    messages_.push_back(
        fmt::format("{}: {} continue from step {}", lost, world.size(), progress.steps));
  }
  const Job smaller = SmallerJob(world_->job, world.size(), messages_);
  world_.emplace(smaller, *context_.data.train, world.size(), progress);
}

/// The steps up to the next meeting, and what is done there. True after the last one.
bool TimedRun::TakeRound(const Communicator& world, TimedRank& rank) {
  TimedWorld& here = *world_;
  const int64_t round = here.decided;
  if (here.opened == round) {
    epochs_before_ = EpochsDone();
    here.dealer.Open(here.dealer.done() + StepsOfRound());
    ++here.opened;
  }
  const bool leads = world.rank() == 0;
  const RoundSeconds seconds = *RunToMeeting({.now = [&] { return world.Now(); },
                                              .step = [&] { return TakeStep(world, rank); },
                                              .idle = [&] { rank.Idle(); },
                                              .meet =
                                                  [&](double /*began*/) {
                                                    if (leads) here.own_bytes = rank.OwnBytes();
                                                    world.Barrier();
                                                    return std::optional(world.Now());
                                                  },
                                              .settle = [&] { rank.Settle(); }});
  if (leads) {
    stepped_ += seconds.steps;
    settled_.Add(seconds.settle);
  }
  if (here.decided == round) Decide(world.Now());
  const bool ends = here.ends;  // of this round: others may be in the next one after a wait
  if (here.saves) Save(world, rank);
  return ends;
}

/// The next one dealt; false: none is left.
bool TimedRun::TakeStep(const Communicator& world, TimedRank& rank) {
  Dealer& dealer = world_->dealer;
  const int64_t s = dealer.Next(world.rank(), [&] {
    return !ReasonToStop(world.Now()).empty() || limits_.IsDueAfterSeconds(world.Now() - saved_at_);
  });
  if (s < 0) return false;
  NoticeLosses(world);
  rank.Step(SettingsOf(s));
  dealer.Ended(world.rank(), rank.HasExchanged());
  if (context_.timeline && number_ == 0) context_.timeline->Step(world.rank());
  return true;
}

/// By the first rank that has met the others.
void TimedRun::Decide(double now) {
  ++world_->decided;
  reason_ = ReasonToStop(now);
  if (reason_.empty() && request_.steps == 0 && StepsOfJob() <= 0) reason_ = "finished";
  world_->ends = !reason_.empty();
  world_->saves = world_->ends || CheckpointIsDue(now);
}

bool TimedRun::CheckpointIsDue(double now) const {
  const double epochs = EpochsDone();
  return limits_.IsDueAfterSteps(world_->dealer.done()) ||
         limits_.IsDueAfterSeconds(now - saved_at_) ||
         (meets_ && epochs > epochs_before_ &&
          limits_.IsDueAfterEpochs(static_cast<int64_t>(epochs)));
}

std::string TimedRun::ReasonToStop(double now) const {
  return request_.StopIsAsked() ? "interrupted" : limits_.ReasonToStop(world_->dealer.done(), now);
}

/// Whole ones.
double TimedRun::EpochsDone() const {
  return std::floor(world_->Done().examples / epoch_examples_ + 1e-9);
}

/// Until so many epochs are done.
int64_t TimedRun::StepsTo(double epochs) const {
  const double left = epochs * epoch_examples_ - world_->Done().examples;
  return static_cast<int64_t>(std::ceil(left / world_->step_examples - 1e-9));
}

/// To the last epoch.
int64_t TimedRun::StepsOfJob() const {
  return StepsTo(static_cast<double>(job_.train.Int("epochs")));
}

/// A checkpoint or an evaluation due by steps ends a round, and so does an epoch.
int64_t TimedRun::StepsOfRound() const {
  const int64_t done = world_->dealer.done();
  int64_t steps = limits_.StepsOfRound(done, done);
  if (request_.steps == 0) steps = std::min(steps, StepsOfJob());
  return meets_ ? std::min(steps, StepsTo(EpochsDone() + 1)) : steps;
}

StrategyStep TimedRun::SettingsOf(int64_t s) const {
  const int64_t batch = world_->model.batch.size;
  return {.step = s,
          .learning_rate = RateAt(s),
          .highest_rate = RateAt(0),
          .examples = batch,
          .team_examples = batch * world_->roles.team};
}

double TimedRun::RateAt(int64_t s) const {
  const auto epochs = static_cast<double>(job_.train.Int("epochs"));
  return rate_.After(std::min(epochs, world_->ExamplesBefore(s) / epoch_examples_));
}

/// What the checkpoint holds is certain when rank 0 has written it.
void TimedRun::Save(const Communicator& world, TimedRank& rank) {
  const bool leads = world.rank() == 0;
  const double settled = world.Now();
  if (world_->own_bytes > 0) rank.SendOwn();
  if (leads) {
    const TimedProgress progress = world_->Done();
    AccessCheckpoint(world);
    saved_ = progress;
    saved_at_ = world.Now();
  }
  rank.AwaitLeader();
  if (leads) wrote_.Add(world.Now() - settled);
}

void TimedRun::AccessCheckpoint(const Communicator& world) const {
  const double speed = request_.cluster->checkpoint_bytes_per_second;
  if (speed == 0) return;
  world.Sleep((world_->model.CheckpointBytes() + world.size() * world_->own_bytes) / speed);
}

double TimedRun::Epochs() const {
  return world_->Done().examples / static_cast<double>(context_.data.train->Size());
}

TimedResult TimedRun::Result() const {
  TimedResult result = {.reason = reason_,
                        .steps = world_->dealer.done(),
                        .epochs = Epochs(),
                        .seconds = saved_at_,
                        .exchange = Summary(world_->counts, stepped_, world_->roles.servers)};
  result.exchange.step_seconds = stepped_;
  result.exchange.meeting_seconds = settled_.Value();
  result.exchange.checkpoint_seconds = wrote_.Value();
  return result;
}

}  // namespace yoke
