// Leader: rank 0 decides when to stop, evaluates, saves and reports.
#include "train/leader.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "kernels/losses.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/rank_state.h"
#include "train/divergence.h"
#include "train/early_stopping.h"
#include "train/evaluator.h"
#include "train/notes.h"
#include "train/record/record.h"
#include "train/run_limits.h"

namespace yoke {
namespace {

constexpr double kSecondsBetweenStepEvents = 0.1;

class LeadingMember : public Leader {
 public:
  LeadingMember(const Job& job, const RunRequest& request, RunContext& context,
                const Communicator& world, const LocalRank& inside)
      : Leader(job, request, context, world, inside),
        run_(context.run->path()),
        record_(MakeRecord(run_)),
        observers_(request.observers),
        stopping_(job, data_),
        limits_(job, request),
        evaluator_(job, data_) {
    observers_.insert(observers_.begin(), record_.get());
  }
  ~LeadingMember() override { rounds_.reset(); }  // its thread asks Due
  LeadingMember(const LeadingMember&) = delete;
  LeadingMember& operator=(const LeadingMember&) = delete;

  bool IsOver() const override {
    return !ended_before_.empty() || position_.epoch >= cursor_.epochs();
  }

  EndEvent Lead() override {
    rate_ = cursor_.LearningRateAt(cursor_.done());  // told if it diverges before a round
    std::string reason = ended_before_;
    if (reason.empty() && position_.epoch >= cursor_.epochs()) reason = "finished";
    if (!reason.empty() && !inherits_)
      Tell(fmt::format("{} has already ended ({}): there is nothing left to train", run_, reason));
    if (reason.empty() && !inherits_ && Interrupted())
      reason = "interrupted";  // while reading data
    if (!reason.empty() || context_.pending || EvaluationIsDue()) {
      rounds_->Give({.kind = Order::kSettle});
      replica_->Settle();
    }
    if (context_.pending) reason = Save(RunContext::PendingCheckpoint(*context_.pending));
    if (reason.empty() && EvaluationIsDue()) reason = EvaluateBetweenSteps();
    while (reason.empty()) reason = RunRound();
    EndEvent end = End(reason);
    rounds_->Give(
        {.kind = Order::kEnd, .exit_status = end.exit_status, .replans = end.reason == "replan"});
    Finish();
    return end;
  }

 private:
  // Start.

  void TakeUp(const Checkpoint& checkpoint) override {
    const CheckpointHeader& header = checkpoint.header();
    CheckSameData(job_, data_, header, run_);
    position_ = header.position;
    if (position_.untrained_loss <= 0) position_.untrained_loss = OwnLoss();  // of initial weights
    if (!replica_->Restore(checkpoint))
      context_.messages.push_back(fmt::format(
          "{} has no hash tables of this job's shape and functions: they are built anew",
          checkpoint.folder()));
    TakeBest(header, job_, run_, position_);
    saved_test_ = header.test;
    for (const auto& [reason, key] :
         {std::pair("target", "target"), {"early_stopping", "early_stopping"}})
      if (header.reason == reason && job_.train.Has(key) && SameKey(job_, header, "train", key))
        ended_before_ = header.reason;
  }

  /// Earlier versions did not judge their checkpoints, or not their replicas.
  void TakenUp(const std::vector<double>& losses) override {
    const CheckpointHeader& header = context_.checkpoint->header();
    const auto ruined = std::ranges::find_if_not(losses, [&](double loss) { return Sane(loss); });
    if (!header.good || ruined == losses.end()) return;
    throw UserError(RuinNote(context_.checkpoint->folder(), losses,
                             static_cast<size_t>(ruined - losses.begin()),
                             position_.untrained_loss));
  }

  void Begun(const std::optional<RecoveryPlan>& recovery) override {
    begun_at_ = context_.worlds > 1 ? 0 : position_.step;
    begun_epoch_ = position_.epoch;
    inherits_ = recovery && recovery->trained();
    if (inherits_ && !position_.has_best && context_.checkpoint)
      TakeBest(context_.checkpoint->header(), job_, run_, position_);  // the lost leader's
    saved_ = std::filesystem::exists(run_ + "/last");
    const DeviceShares devices = SharesOf(job_, local_.size);
    const int ranks = world_.size();
    const StartEvent event = {
        .run = run_,
        .parameters = replica_->layout().Parameters(),
        .devices = devices.used,
        .hardware = HardwareOf(job_, request_, devices, ranks, threads_.threads),
        .executor = job_.node.String("executor"),
        .strategy = job_.cluster.String("strategy"),
        .world = ranks,
        .train_examples = data_.train->Size(),
        .validation_examples = data_.validation ? data_.validation->Size() : 0,
        .test_examples = data_.test ? data_.test->Size() : 0,
        .epochs_done = cursor_.EpochsDone(),
        .epochs = cursor_.epochs(),
        .seconds = position_.seconds,
        .after_trials = context_.took_over};
    if (inherits_) told_ = EpochsTold(run_, event.epochs_done);
    evaluated_ = StepEvaluated(run_, event.epochs_done);
    for (Observer* observer : observers_) observer->Start(event);
    for (const std::string& place : Places()) LogInfo(place);
    for (const std::string& message : context_.messages) Tell(message);
    context_.messages.clear();
    for (const std::string& advice : replica_->Advice()) Tell(advice);
    if (recovery) Tell(LossOfRanksNote(*recovery, world_.size(), position_.step));
    if (inherits_) return;
    if (!context_.went_back) TellNotes();
    if (context_.checkpoint && !context_.took_over)
      Tell(
          fmt::format("resumed from {} at step {}", context_.checkpoint->folder(), position_.step));
    if ((request_.resume || context_.went_back) && !context_.checkpoint)
      Tell("there is no checkpoint yet: starting from the beginning");
  }

  void TellNotes() {
    for (const std::string& note : data_.notes) Tell(note);
    if (const std::string note = cursor_.Note(); !note.empty()) Tell(note);
    if (const std::string note = StalenessNote(job_, StrategyOf(job_), world_.size());
        !note.empty())
      Tell(note);
  }

  void Tell(const std::string& sentence) {
    for (Observer* observer : observers_) observer->Message(sentence);
  }

  // The loop. Functions that may end it return the reason, or "".

  /// One round on rank 0: steps until all meet, then what is due.
  std::string RunRound() {
    if (!cursor_.planned()) {
      cursor_.PlanEpoch();
      clock_.BeginEpoch(cursor_.EpochsDone());
      cursor_.TakeWait(1);
    }
    const Order order = {.kind = Order::kTrain,
                         .first = cursor_.done(),
                         .last = LastStepOfRound(),
                         .plateaus = position_.plateaus};
    rounds_->Give(order);
    rate_ = cursor_.LearningRateAt(cursor_.done());
    const std::vector<StepTotals> all_totals = Work(order);
    if (const auto bad = FirstBad(all_totals))
      return Diverged(LossNote(bad->bad_loss), bad->bad_step);
    recent_ = RecentLoss(all_totals);
    return cursor_.EpochIsOver() ? FinishEpoch() : BetweenSteps();
  }

  int64_t LastStepOfRound() const {
    const int64_t left = cursor_.steps() - cursor_.done();
    return cursor_.done() + std::min(left, limits_.StepsOfRound(position_.step, StepsTaken()));
  }

  int64_t StepsTaken() const { return position_.step - begun_at_; }

  std::string BetweenSteps() {
    const std::string reason = ReasonToStop();
    if (reason != "interrupted" && EvaluationIsDue()) return EvaluateBetweenSteps();
    return CheckpointIsDue() || !reason.empty() ? Save({.reason = reason}) : "";
  }

  /// By steps, unless a session before was stopped after this one.
  bool EvaluationIsDue() const {
    return limits_.EvaluationIsDueAfterSteps(position_.step) && position_.step != evaluated_;
  }

  std::string EvaluateBetweenSteps() {
    if (!replica_->BadParameter().empty())
      return Diverged("the weights became infinite", position_.step);
    return Consider(TellEvaluated(/*all=*/false), /*train_loss=*/0, CheckpointIsDue());
  }

  Evaluated Evaluate(bool all) {
    const double began = clock_.Now();
    Evaluated evaluated = evaluator_.Evaluate(*replica_, all, request_.stop_signal);
    clock_.Paused(began);
    return evaluated;
  }

  /// The same, and tells it if evaluations are counted in steps.
  Evaluated TellEvaluated(bool all) {
    Evaluated evaluated = Evaluate(all);
    if (!limits_.EvaluatesBySteps() || evaluated.watched().empty()) return evaluated;
    evaluated_ = position_.step;
    const EvaluationEvent event = EventOf(evaluated, cursor_, clock_);
    for (Observer* observer : observers_) observer->Evaluation(event);
    return evaluated;
  }

  std::string FinishEpoch() {
    EpochEvent event = {
        .epoch = position_.epoch + 1,
        .epochs = cursor_.epochs(),
        .examples_per_second = ExamplesPerSecond(cursor_.done()),
        .learning_rate = rate_,
        .step = position_.step,
        .train_loss = position_.loss_sum / static_cast<double>(position_.loss_examples),
        .exchange = exchange_,
        .node = replica_->Work()};
    if (!request_.cluster) event.layers = replica_->TakeLayerReport();
    if (!request_.cluster) event.data = cursor_.TakeWait(clock_.OfEpoch());
    cursor_.FinishEpoch();
    totals_ = Before();
    const std::string bad = replica_->BadParameter();
    if (!bad.empty()) return Diverged("the weights became infinite", position_.step);
    const bool last = position_.epoch >= cursor_.epochs();
    const bool due = limits_.EvaluationIsDueAfterEpochs(position_.epoch) || EvaluationIsDue();
    const Evaluated evaluated = last || due ? TellEvaluated(last) : Evaluated{};
    event.validation = evaluated.validation;
    event.test = evaluated.test;
    event.seconds = clock_.OfTraining();
    event.training_seconds = clock_.WithoutPauses();
    if (event.epoch > told_)
      for (Observer* observer : observers_) observer->Epoch(event);
    return Consider(evaluated, event.train_loss,
                    limits_.IsDueAfterEpochs(position_.epoch) || CheckpointIsDue());
  }

  /// What follows from an evaluation, or from an epoch without one. `due`: a checkpoint is.
  std::string Consider(const Evaluated& evaluated, double train_loss, bool due) {
    if (Exploded(position_.untrained_loss, recent_,
                 evaluated.test.empty() ? evaluated.validation : evaluated.test))
      return Diverged(fmt::format("the loss became {:.3g}, from {:.3g} before training", recent_,
                                  position_.untrained_loss),
                      position_.step);
    Judge(evaluated, train_loss);
    return Decide(evaluated, due);
  }

  /// Compares an evaluation with the best so far; without other data, the epoch's training loss.
  void Judge(const Evaluated& evaluated, double train_loss) {
    const bool other = data_.validation || data_.test;
    if (other && evaluated.watched().empty()) return;  // not measured
    const bool before = position_.collapse.has_value();
    position_.collapse =
        FindCollapse(other ? evaluated.watched() : Metrics{{"loss", train_loss}},
                     cursor_.EpochsDone(), position_.untrained_loss,
                     {.outputs = data_.train->Info().outputs,
                      .examples = other ? evaluated.examples : data_.train->Size()},
                     position_.best_evaluation);
    if (position_.collapse && !before)
      Tell(position_.collapse->Text() + ": the model has collapsed; training goes on");
  }

  /// Whether the weights are sane: by their test metrics if known, else by some training examples,
  /// because the last step's loss is that of the weights before it.
  bool IsGood(const Metrics& test) const {
    if (position_.collapse) return false;
    if (!test.empty()) return true;
    return Sane(MetricOf(replica_->Evaluate(*SomeExamples(), nullptr), "loss"));
  }

  bool Sane(double loss) const {
    const double untrained = LossOverAll(position_.untrained_loss, data_.train->Info());
    return IsPossibleLoss(loss) && !Exploded(untrained, loss, {});
  }

  /// Where a sample is drawn, `best` compares its metrics alone: in the last epoch too.
  bool IsBest(const Evaluated& evaluated) {
    if (!stopping_.KeepsBest() || evaluated.watched().empty()) return false;
    const bool compares = !evaluated.whole || !evaluator_.samples();
    return stopping_.IsBest((compares ? evaluated : Evaluate(/*all=*/false)).watched(), position_);
  }

  /// Decides whether to stop, and saves if that is `due`. A sample's metrics are not those of the
  /// checkpoint, and what reaches the target in a sample must do so on all examples.
  std::string Decide(const Evaluated& evaluated, bool due) {
    const bool good = !position_.collapse;
    const bool best = good && IsBest(evaluated);
    if (!evaluated.watched().empty()) stopping_.Count(best, position_);
    const bool reaches = good && stopping_.ReachesTarget(evaluated.watched());
    const Evaluated all = evaluated.whole ? evaluated
                          : reaches       ? Evaluate(/*all=*/true)
                                          : Evaluated{};
    const bool measured = !data_.test || !all.test.empty();  // not interrupted
    std::string reason = reaches && stopping_.ReachesTarget(all.watched()) ? "target"
                         : position_.epoch >= cursor_.epochs() && measured ? "finished"
                         : stopping_.IsStale(position_)                    ? "early_stopping"
                                                                           : ReasonToStop();
    if (reason.empty() && PauseIsDue(position_.epoch - begun_epoch_)) reason = "replan";
    if (!due && !best && reason.empty()) return "";
    return Save({.reason = reason, .test = all.test, .best = best});
  }

  /// Due by steps or minutes.
  bool CheckpointIsDue() const {
    return limits_.IsDueAfterSteps(position_.step) ||
           limits_.IsDueAfterSeconds(clock_.SinceSaved());
  }

  std::string ReasonToStop() const {
    if (Interrupted()) return "interrupted";
    std::string reason = limits_.ReasonToStop(StepsTaken(), clock_.OfSession());
    return reason.empty() && PauseIsDue(/*epochs=*/0) ? "replan" : reason;
  }

  /// Not after a loss of ranks.
  bool PauseIsDue(int64_t epochs) const {
    return context_.worlds == 1 && limits_.PauseIsDue(epochs, clock_.OfSession());
  }

  bool Due() const override {
    return !ReasonToStop().empty() || limits_.IsDueAfterSeconds(clock_.SinceSaved());
  }

  /// Writes a checkpoint; returns `reason`, or "diverged" if the weights are not finite.
  std::string Save(const RunContext::PendingCheckpoint& due) {
    context_.pending = due;
    if (!replica_->BadParameter().empty())
      return Diverged("the weights became infinite", position_.step);
    const double begin = clock_.Now();
    position_.seconds = clock_.OfTraining();
    position_.pauses = clock_.Pauses();
    CheckpointHeader header = {.job = job_.resolved,
                               .data = data_.train->Info(),
                               .position = position_,
                               .rule_steps = 0,
                               .executor = {},
                               .strategy = {},
                               .training = data_.training_files,
                               .test = due.test,
                               .reason = due.reason,
                               .good = IsGood(due.test)};
    replica_->Describe(header);
    const bool own = replica_->KeepsOwn();
    if (own) {
      rounds_->Give({.kind = Order::kKeep});
      const std::vector<double> losses = OwnLosses();
      header.good &= std::ranges::all_of(losses, [&](double loss) { return Sane(loss); });
    }
    if (request_.cluster && request_.cluster->checkpoint_bytes_per_second > 0)
      world_.Sleep(replica_->CheckpointBytes() /  // before the files, which a loss would prevent
                   request_.cluster->checkpoint_bytes_per_second);
    RankStateCollector collector(world_, *replica_);
    HostCopies copies;
    try {
      WriteCheckpoint(
          {.run = run_, .keep = static_cast<int>(job_.checkpoint.Int("keep")), .best = due.best},
          {.header = header,
           .layout = replica_->layout(),
           .values = replica_->Model().data(),
           .state = replica_->state(),
           .layers = replica_->SavedTensors(copies),
           .replicas = own ? world_.size() : 0,
           .own = [&collector](int rank) { return collector.Of(rank); }});
    } catch (const NotFiniteError& bad) {
      context_.pending.reset();
      return Diverged(bad.what(), position_.step);
    }
    context_.pending.reset();
    saved_test_ = due.test;
    saved_ = true;
    clock_.Saved(begin);
    context_.pauses = clock_.Pauses();
    return due.reason;
  }

  std::string Diverged(const std::string& what, int64_t step) {
    sentence_ = DivergenceNote({.what = what,
                                .step = step,
                                .epoch = position_.epoch + (cursor_.planned() ? 1 : 0),
                                .where = replica_->FirstNonFinite(),
                                .learning_rate = rate_});
    if (saved_) sentence_ += "; " + FallBack();
    return "diverged";
  }

  /// Goes back to the last good checkpoint, and names it.
  std::string FallBack() {
    const std::optional<CheckpointHeader> good = FallBackToGood(run_);
    position_.collapse.reset();
    saved_ = good.has_value();
    saved_test_ = good ? good->test : Metrics{};
    if (!good) return "no checkpoint is good: --resume starts from the beginning";
    return fmt::format("the last good checkpoint is {}/last (step {})", run_, good->position.step);
  }

  // Reports.

  /// The rate after `done` steps of the epoch's plan.
  double ExamplesPerSecond(int64_t done) const {
    return clock_.Speed(cursor_.EpochsAt(done)) * static_cast<double>(position_.examples);
  }

  void Stepped(int64_t done, int64_t step, const StepTotals& so_far) override {
    if (!request_.tell_each_step && clock_.Now() - step_told_ < kSecondsBetweenStepEvents) return;
    step_told_ = clock_.Now();
    const double speed = ExamplesPerSecond(done), epoch = cursor_.EpochsAt(done);
    const double left =
        (static_cast<double>(cursor_.epochs()) - epoch) * static_cast<double>(position_.examples);
    const StepEvent event = {.step = step,
                             .epoch = epoch,
                             .epochs = cursor_.epochs(),
                             .loss = so_far.loss_sum / static_cast<double>(so_far.examples),
                             .examples = so_far.examples,
                             .seconds = clock_.OfTraining(),
                             .learning_rate = rate_,
                             .examples_per_second = speed,
                             .seconds_left = left / speed};
    for (Observer* observer : observers_) observer->Step(event);
  }

  MemoryUse Memory() const {
    MemoryUse memory = replica_->Memory();
    memory.peak = PeakMemory();
    memory.before_model = context_.before_model;
    return memory;
  }

  EndEvent End(const std::string& reason) {
    const bool diverged = reason == "diverged";
    if (saved_test_.empty() && data_.test && !diverged && reason != "interrupted" &&
        reason != "replan")
      saved_test_ = replica_->Evaluate(*data_.test, request_.stop_signal);
    EndEvent event = {.run = run_,
                      // As in the checkpoint, from which a resumed run continues.
                      .seconds = diverged ? clock_.OfTraining() : position_.seconds,
                      .epochs = cursor_.EpochsDone(),
                      .step = position_.step,
                      .test = saved_test_,
                      .reason = reason,
                      .exit_status = diverged                  ? kDivergedStatus
                                     : reason == "interrupted" ? 128 + Signal()
                                                               : 0,
                      .memory = Memory(),
                      .exchange = exchange_,
                      .node = replica_->Work(),
                      .collapse = position_.collapse,
                      .good = GoodCheckpoint(run_)};
    if (position_.has_best && std::filesystem::exists(run_ + "/best")) {
      event.best = run_ + "/best";
      event.best_text = stopping_.BestText(position_);
    }
    if (request_.cluster) {
      event.virtual_seconds = request_.time_used + clock_.Now();
      event.lost_trials = std::max(0.0, request_.time_used - clock_.Before());
      event.cost = request_.cluster->CostOf(event.virtual_seconds);
      event.lost = context_.lost_nodes;
    }
    event.sentence = diverged ? sentence_ : EndSentence(event, request_.cluster != nullptr);
    if (const std::string note = LongWaitNote(context_.timeline, job_); !note.empty()) Tell(note);
    for (Observer* observer : observers_) observer->End(event);
    return event;
  }

  std::string run_;
  std::unique_ptr<Observer> record_;
  std::vector<Observer*> observers_;
  EarlyStopping stopping_;
  RunLimits limits_;
  Evaluator evaluator_;
  bool inherits_ = false;     ///< Continues from a larger world.
  int64_t told_ = 0;          ///< The last epoch that a lost leader recorded.
  int64_t evaluated_ = 0;     ///< The step of the last evaluation by steps.
  std::string ended_before_;  ///< Why the resumed run had ended, if the job is the same.
  Metrics saved_test_;        ///< Test metrics of the weights in `last`, if known.
  bool saved_ = false;        ///< A checkpoint exists.
  int64_t begun_at_ = 0;      ///< The step at which this session began,
  int64_t begun_epoch_ = 0;   ///< and how many epochs were done then.
  std::string sentence_;
  double recent_ = 0;  ///< Loss of the last steps; 0: there were none.
  double step_told_ = 0;
};

}  // namespace

std::unique_ptr<Leader> MakeLeader(const Job& job, const RunRequest& request, RunContext& context,
                                   const Communicator& world, const LocalRank& inside) {
  return std::make_unique<LeadingMember>(job, request, context, world, inside);
}

}  // namespace yoke
