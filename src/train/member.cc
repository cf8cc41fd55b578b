// Member: steps between meetings, and the state saved when a rank is lost.
#include "train/member.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "comm/communicator.h"
#include "comm/gather.h"
#include "kernels/losses.h"
#include "kernels/threads.h"
#include "train/agreement.h"
#include "train/checkpoint/rank_state.h"
#include "train/events.h"
#include "train/record/machine.h"

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

Member::Member(const Job& job, const RunRequest& request, RunContext& context,
               const Communicator& world, const LocalRank& inside)
    : job_(job),
      request_(request),
      context_(context),
      data_(context.data),
      world_(world),
      local_(request.cluster ? LocalRank() : OnThisMachine(inside)),
      threads_(job.Plan(inside)),
      binding_(threads_),
      roles_(RolesIn(StrategyOf(job), job.cluster, world.size())),
      cursor_(job, *data_.train, PlaceOf(world.rank(), roles_), threads_.threads),
      position_(cursor_.position),
      clock_(world) {
  rounds_.emplace(
      world, Rounds::Settings{
                 .servers = roles_.servers,
                 .team = roles_.team,
                 .due = [this] { return Due(); },
                 .told = [this](int64_t dealt, const StepTotals& of_all) { Told(dealt, of_all); }});
}

/// All ranks call it.
LocalRank Member::AmongWorkers() const {
  const std::vector<std::string> hosts = GatherTexts(world_, HostName());
  LocalRank local = {.rank = 0, .size = 0};
  for (int rank = roles_.servers; rank < world_.size(); ++rank) {
    if (hosts[rank] != hosts[world_.rank()]) continue;
    local.rank += rank < world_.rank() ? 1 : 0;
    ++local.size;
  }
  return local;
}

void Member::Begin(const SurvivorState* survivor) {
  SetKernelThreads(threads_.threads);
  if (roles_.servers > 0 && !request_.cluster) local_ = AmongWorkers();
  replica_.emplace(job_, data_.train->Info(),
                   ReplicaPlace{.world = world_,
                                .local = local_,
                                .threads = threads_,
                                .step_examples = cursor_.StepExamples(),
                                .steps_per_epoch = cursor_.StepsPerEpoch(),
                                .class_weights = context_.class_weights,
                                .shared = &context_.shared});
  cursor_.as_stored = TakeStored(replica_->devices());
  replica_->RequireTraining(cursor_.StepExamples(), cursor_.RestOfEpoch());
  const std::optional<RecoveryPlan> recovery = PlanRecovery(world_, survivor);
  if (!leads()) log_.emplace(world_, context_.folder, threads_.threads);
  if (request_.guard_lost) peers_.emplace(world_, *request_.guard_lost);
  recovery && recovery->trained() ? TakeUp(survivor, *recovery) : TakeUpCheckpoint();
  replica_->Prepare();
  position_.examples = data_.train->Size();
  Begun(recovery);
  // The lost work counts; virtual time began with the run.
  if (context_.went_back) clock_.EnterAfter(clock_.Now() - clock_.OfSession());
  const bool back = context_.went_back;
  clock_.Begin(back ? clock_.OfSession() : position_.seconds,
               back ? context_.pauses : position_.pauses);
  totals_ = Before();
  begun_ = true;
}

void Member::TakeUpCheckpoint() {
  const Checkpoint* checkpoint = leads() && context_.checkpoint ? &*context_.checkpoint : nullptr;
  if (checkpoint)
    TakeUp(*checkpoint);
  else if (leads() && job_.model().Find("start"))
    context_.messages.push_back(replica_->TakeStart(data_.train->Info()));
  const std::optional<CheckpointHeader> header = BroadcastHeader(world_, checkpoint);
  if (header && !leads()) {
    replica_->Restore(*header);
    position_ = header->position;
  }
  replica_->Broadcast();
  RestoreRankState(world_, checkpoint, job_, *replica_);
  if (checkpoint || header) TakenUp(OwnLosses());
}

std::unique_ptr<Reader> Member::SomeExamples() const {
  constexpr int64_t kExamples = 64;
  std::vector<int64_t> some(static_cast<size_t>(std::min(kExamples, data_.train->Size())));
  std::iota(some.begin(), some.end(), 0);
  return Subset(data_.train, some);
}

double Member::OwnLoss() const { return MetricOf(replica_->EvaluateOwn(*SomeExamples()), "loss"); }

std::vector<double> Member::OwnLosses() const { return GatherOne(world_, OwnLoss()); }

void Member::TakeUp(const SurvivorState* survivor, const RecoveryPlan& recovery) {
  replica_->TakeUp(survivor, recovery);
  position_ = recovery.position;
  if (survivor) clock_.EnterAfter(survivor->seconds_since);
}

std::optional<SurvivorState> Member::Rescue() {
  if (!begun_) return {};
  NoteLateResults(/*all=*/true);
  SurvivorState survivor = {.rank = world_.rank(),
                            .world = world_.size(),
                            .worlds = context_.worlds,
                            .position = position_,
                            .consumed = cursor_.ConsumedWith(taken_),
                            .loss_sum = totals_.loss_sum - Before().loss_sum,
                            .loss_examples = totals_.examples - Before().examples,
                            .step_examples = cursor_.StepExamples() * roles_.team,
                            .seconds_since = clock_.OfSession()};
  survivor.position.seconds = clock_.OfTraining();
  survivor.position.pauses = clock_.Pauses();
  replica_->Rescue(survivor);
  return survivor;
}

EndEvent Member::Follow() {
  for (;;) {
    const Order order = rounds_->Await();
    switch (order.kind) {
      case Order::kTrain: {
        // Only after rank 0 has finished the epoch; otherwise the next leader does that.
        if (cursor_.planned() && cursor_.EpochIsOver()) cursor_.FinishEpoch();
        cursor_.PlanEpoch();
        position_.plateaus = order.plateaus;
        Work(order);
        break;
      }
      case Order::kSettle:
        replica_->Settle();
        break;
      case Order::kKeep:
        OwnLosses();
        SendRankState(world_, *replica_);
        break;
      case Order::kEnd: {
        Finish();
        EndEvent end = {.run = context_.folder};
        end.exit_status = static_cast<int>(order.exit_status);
        end.reason = order.replans != 0                   ? "replan"
                     : end.exit_status == kDivergedStatus ? "diverged"
                                                          : "";
        if (log_) log_->End(end.exit_status);
        return end;
      }
    }
  }
}

/// The run is decided: a loss no longer matters.
void Member::Finish() try { replica_->Finish(); } catch (const RankLost& lost) {
  Note(lost);
}

/// Rank 0 continues the sums of the epoch.
StepTotals Member::Before() const {
  if (!leads()) return {};
  return {.loss_sum = position_.loss_sum, .examples = position_.loss_examples};
}

std::vector<StepTotals> Member::Work(const Order& order) {
  totals_ = Before();
  round_first_ = order.first;
  bool began_steps = false;
  DealtSteps steps([&] {
    if (std::exchange(began_steps, true) && (totals_.bad_step > 0 || Interrupted()))
      rounds_->AskToMeet();
    return rounds_->Next(totals_);
  });
  std::vector<StepTotals> all_totals;
  const std::optional<RoundSeconds> seconds = RunToMeeting(
      {.now = [this] { return clock_.Now(); },
       .step = [&] { return TakeNext(steps, order); },
       .idle =
           [this] {
             NoteLateResults(/*all=*/true);
             replica_->Idle();
           },
       .meet =
           [&](double began) {
             all_totals = Meet(order, began);
             return FirstBad(all_totals) ? std::nullopt : std::optional(rounds_->met_at());
           },
       .settle = [&] { Settle(all_totals); }});
  if (!seconds) return all_totals;
  worked_ += seconds->all();
  stepped_ += seconds->steps;
  exchange_ = replica_->Exchange(worked_, stepped_);
  return all_totals;
}

/// The next step dealt to this rank, or those up to the next exchange; false: it has done all.
bool Member::TakeNext(DealtSteps& steps, const Order& order) {
  const std::optional<int64_t> step = steps.Peek();
  if (!step) return false;
  if (replica_->in_place()) {
    TakeRound(steps, world_.size() == 1 ? order.last : 0);
  } else {
    steps.Pop();
    TakeStep(*step);
  }
  return true;
}

/// After the rank's steps of a round that began at this time.
std::vector<StepTotals> Member::Meet(const Order& order, double began) {
  totals_.signal = Signal();
  std::vector<StepTotals> all_totals = rounds_->Meet(totals_);
  if (all_totals[0].dealt > order.first) rate_ = cursor_.LearningRateAt(all_totals[0].dealt - 1);
  if (log_)
    log_->Round({.epoch = position_.epoch + 1,
                 .step = position_.step + all_totals[0].dealt - order.first,
                 .totals = totals_,
                 .seconds = clock_.Now() - began,
                 .waited = replica_->SecondsWaiting()});
  if (const std::optional<StepTotals> bad = FirstBad(all_totals))
    rate_ = cursor_.LearningRateAt(order.first + bad->bad_step - 1 - position_.step);
  return all_totals;
}

/// After a round without a bad loss.
void Member::Settle(const std::vector<StepTotals>& all_totals) {
  for (const StepTotals& theirs : all_totals)
    if (theirs.signal > 0) signal_ = static_cast<int>(theirs.signal);
  cursor_.Advance(all_totals[0].dealt, all_totals);
  totals_ = Before();
  taken_.clear();
  replica_->Settle();
}

/// Of step s of the epoch's plan.
StrategyStep Member::SettingsOf(int64_t s) {
  return {.step = position_.step + s - round_first_,
          .learning_rate = cursor_.LearningRateAt(s),
          .highest_rate = cursor_.HighestRateUpTo(s),
          .team_examples = cursor_.TeamExamples(s),
          .last = s + 1 == cursor_.steps()};
}

void Member::TakeStep(int64_t s) {
  const StrategyStep settings = SettingsOf(s);
  rate_ = settings.learning_rate;
  const StepResult result = replica_->Step(cursor_.Read(s), settings);
  if (leads()) context_.began = true;
  taken_.push_back(s);
  if (result.late) late_.push_back(s);
  NoteLateResults(/*all=*/!result.late);
  if (!result.late) NoteResult(result, s);
}

/// Of earlier steps, in order; `all`: nothing goes on before they are known.
void Member::NoteLateResults(bool all) {
  while (!late_.empty()) {
    const std::optional<StepResult> result = replica_->LateResult(all);
    if (!result) return;
    const int64_t s = late_.front();
    late_.erase(late_.begin());
    rate_ = cursor_.LearningRateAt(s);
    NoteResult(*result, s);
  }
}

/// The steps up to the next exchange. `last`: as in RoundSource.
void Member::TakeRound(DealtSteps& steps, int64_t last) {
  StepResult part;  // not noted yet
  const int64_t batch = BatchOf(job_);
  RoundSource* entered = nullptr;
  RoundSource source({.replica = *replica_,
                      .cursor = cursor_,
                      .steps = steps,
                      .last = last,
                      .of_step = [this](int64_t s) { return SettingsOf(s); },
                      .done =
                          [&](double loss, int64_t examples) {
                            part.loss += loss;
                            part.examples += examples;
                            if (part.examples < batch) return;
                            part.loss /= static_cast<double>(part.examples);
                            NoteResult(std::exchange(part, {}), entered->entered().back());
                          }});
  entered = &source;
  StepResult result;
  try {
    result = replica_->RunRound(source, source.view());
  } catch (...) {  // of the last step some examples may be left
    taken_.insert(taken_.end(), source.entered().begin(), source.entered().end() - 1);
    throw;
  }
  rate_ = source.step().learning_rate;
  if (replica_->Leaves(result)) replica_->Leave(source.step());
  taken_.insert(taken_.end(), source.entered().begin(), source.entered().end());
  if (part.examples > 0) part.loss /= static_cast<double>(part.examples);
  NoteResult(part, source.entered().back());
}

/// Of step s, or a part of it.
void Member::NoteResult(const StepResult& result, int64_t s) {
  const int64_t done = position_.step + s - round_first_;
  if (leads()) context_.began = true;
  if (context_.timeline && context_.worlds == 1) context_.timeline->Step(world_.rank());
  totals_.Add(result, done + 1, position_.step == 0);
  if (IsPossibleLoss(result.loss) && totals_.examples > 0) Stepped(s + 1, done + 1, totals_);
}

/// On a rank that only serves: reports the others' steps.
void Member::Told(int64_t dealt, const StepTotals& of_all) {
  if (leads()) context_.began = true;
  if (of_all.examples > 0) Stepped(dealt, position_.step + dealt - cursor_.done(), of_all);
}

}  // namespace yoke
