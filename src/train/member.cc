// Member: steps between meetings, and what is carried over when a world gets smaller.
#include "train/member.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "comm/lost.h"
#include "kernels/threads.h"
#include "train/explosion.h"
#include "train/own.h"

namespace yoke {
namespace {

TeamPlace PlaceOf(int rank, const Roles& roles) {
  const int worker = rank - roles.servers;
  return {.rank = std::max(0, worker) % roles.team,
          .team = roles.team,
          .world = roles.workers,
          .reads = worker >= 0};
}

}  // namespace

Member::Member(const Job& job, const RunRequest& request, Ground& ground, const Communicator& world,
               const LocalRank& inside)
    : job_(job),
      request_(request),
      ground_(ground),
      data_(ground.data),
      world_(world),
      threads_(job.Plan(inside)),
      binding_(threads_),
      roles_(RolesIn(StrategyOf(job), job.cluster, world.size())),
      course_(job, *data_.train, PlaceOf(world.rank(), roles_), threads_.threads),
      position_(course_.position) {
  rounds_.emplace(world,
                  Rounds::Settings{
                      .servers = roles_.servers,
                      .team = roles_.team,
                      .due = [this] { return Due(); },
                      .told = [this](int64_t dealt, const Tally& of_all) { Told(dealt, of_all); }});
}

void Member::Begin(const Remains* remains) {
  SetKernelThreads(threads_.threads);
  replica_.emplace(
      job_, data_.train->Info(),
      ReplicaPlace{
          .world = world_, .threads = threads_, .steps_per_epoch = course_.StepsPerEpoch()});
  const std::optional<Heritage> heritage = Inherit(world_, remains);
  if (!leads()) log_.emplace(world_, ground_.folder, threads_.threads);
  if (request_.guard_lost) peers_.emplace(world_, *request_.guard_lost);
  heritage && heritage->trained() ? TakeUp(remains, *heritage) : TakeUpCheckpoint();
  replica_->Prepare();
  position_.examples = data_.train->Size();
  Begun(heritage);
  pace_.Begin(position_.seconds);
  tally_ = Before();
  begun_ = true;
}

void Member::TakeUpCheckpoint() {
  const Checkpoint* checkpoint = leads() && ground_.checkpoint ? &*ground_.checkpoint : nullptr;
  if (checkpoint) TakeUp(*checkpoint);
  if (const auto head = ShareHead(world_, checkpoint); head && !leads()) {
    replica_->Restore(*head);
    position_ = head->position;
  }
  replica_->Share();
  RestoreOwn(world_, checkpoint, job_, *replica_);
}

void Member::TakeUp(const Remains* remains, const Heritage& heritage) {
  replica_->TakeUp(remains, heritage);
  position_ = heritage.position;
  if (remains) pace_.EnterAfter(remains->seconds_since);
}

std::optional<Remains> Member::Rescue() {
  if (!begun_) return {};
  Remains remains = {.rank = world_.rank(),
                     .world = world_.size(),
                     .worlds = ground_.worlds,
                     .position = position_,
                     .consumed = course_.ConsumedWith(taken_),
                     .loss_sum = tally_.loss_sum - Before().loss_sum,
                     .loss_examples = tally_.examples - Before().examples,
                     .step_examples = job_.train.Int("batch") * roles_.team,
                     .seconds_since = pace_.OfSession()};
  remains.position.seconds = pace_.OfTraining();
  replica_->Rescue(remains);
  return remains;
}

EndEvent Member::Follow() {
  for (;;) {
    const Order order = rounds_->Await();
    switch (order.kind) {
      case Order::kTrain: {
        // Only after rank 0 has finished the epoch; otherwise the next leader does that.
        if (course_.planned() && course_.EpochIsOver()) course_.FinishEpoch();
        course_.PlanEpoch();
        Work(order);
        break;
      }
      case Order::kSettle:
        replica_->Settle();
        break;
      case Order::kKeep:
        SendOwn(world_, *replica_);
        break;
      case Order::kEnd: {
        Finish();
        EndEvent end;
        end.exit_status = static_cast<int>(order.exit_status);
        if (log_) log_->End(end.exit_status);
        return end;
      }
    }
  }
}

/// All is decided: a loss changes nothing any more.
void Member::Finish() try { replica_->Finish(); } catch (const RankLost& lost) {
  Note(lost);
}

/// Rank 0 goes on adding to the sums of the epoch so far.
Tally Member::Before() const {
  if (!leads()) return {};
  return {.loss_sum = position_.loss_sum, .examples = position_.loss_examples};
}

std::vector<Tally> Member::Work(const Order& order) {
  const double began = Now();
  tally_ = Before();
  for (Lease lease; !(lease = rounds_->Next(tally_)).empty();) {
    for (int64_t s = lease.begin; s < lease.end; ++s) TakeStep(s, position_.step + s - order.first);
    if (tally_.bad_step > 0 || Interrupted()) rounds_->AskToMeet();
  }
  replica_->Idle();
  tally_.signal = Signal();
  std::vector<Tally> tallies = rounds_->Meet(tally_);
  if (tallies[0].dealt > order.first) rate_ = course_.LearningRateAt(tallies[0].dealt - 1);
  if (log_)
    log_->Round({.epoch = position_.epoch + 1,
                 .step = position_.step + tallies[0].dealt - order.first,
                 .tally = tally_,
                 .seconds = Now() - began,
                 .waited = replica_->SecondsWaiting()});
  if (FirstBad(tallies)) return tallies;  // There is nothing worth bringing together.
  for (const Tally& theirs : tallies)
    if (theirs.signal > 0) signal_ = static_cast<int>(theirs.signal);
  course_.Advance(tallies[0].dealt, tallies);
  tally_ = Before();
  taken_.clear();
  replica_->Settle();
  worked_ += Now() - began;
  exchange_ = replica_->Exchange(worked_);
  return tallies;
}

/// Step s of the epoch's plan; `done` steps came before it in all.
void Member::TakeStep(int64_t s, int64_t done) {
  rate_ = course_.LearningRateAt(s);
  const StepResult result = replica_->Step(
      course_.Read(s),
      {.step = done, .learning_rate = rate_, .team_examples = course_.TeamExamples(s)});
  taken_.push_back(s);
  if (leads()) ground_.began = true;
  if (!std::isfinite(result.loss)) {
    if (tally_.bad_step == 0) tally_.bad_step = done + 1, tally_.bad_loss = result.loss;
    return;
  }
  tally_.loss_sum += result.loss * static_cast<double>(result.examples);
  tally_.examples += result.examples;
  if (result.examples > 0) NoteLoss(result.loss, result.examples);
  if (tally_.examples > 0) Stepped(s + 1, done + 1, tally_);
}

/// For the question whether the loss has exploded.
void Member::NoteLoss(double loss, int64_t examples) {
  tally_.recent = std::min(tally_.recent + 1, kRecentSteps);
  tally_.recent_log +=
      (std::log(std::max(loss, 1.0)) - tally_.recent_log) / static_cast<double>(tally_.recent);
  if (position_.step > 0 || tally_.first_examples >= kFirstExamples) return;
  tally_.first_examples += examples;
  tally_.first_loss += (loss - tally_.first_loss) * static_cast<double>(examples) /
                       static_cast<double>(tally_.first_examples);
}

/// The others' steps, where this rank only serves.
void Member::Told(int64_t dealt, const Tally& of_all) {
  if (leads()) ground_.began = true;
  if (of_all.examples > 0) Stepped(dealt, position_.step + dealt - course_.done(), of_all);
}

std::optional<Tally> Member::FirstBad(const std::vector<Tally>& tallies) {
  for (const Tally& tally : tallies)
    if (tally.bad_step > 0) return tally;
  return {};
}

}  // namespace yoke
