// Trainer: epochs of steps, evaluation and checkpoints between them, until there is a reason to
// end.
#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "data/epoch.h"
#include "data/prefetch.h"
#include "kernels/threads.h"
#include "optim/schedule.h"
#include "train/checkpoint.h"
#include "train/record.h"
#include "train/replica.h"
#include "train/run_directory.h"
#include "train/watch.h"

namespace yoke {
namespace {

constexpr double kSecondsBetweenStepEvents = 0.1;
constexpr int kDivergedStatus = 3;
/// With fewer threads, one that reads ahead would only take a core from those that compute.
constexpr int kThreadsThatSpareOne = 4;

class Trainer {
 public:
  Trainer(const Job& job, const RunRequest& request, std::string run)
      : job_(job),
        request_(request),
        run_(std::move(run)),
        schedule_(MakeSchedule(job.train.Has("schedule") ? job.train.Raw("schedule") : Value())),
        record_(MakeRecord(run_)),
        observers_(request.observers) {
    observers_.insert(observers_.begin(), record_.get());
    if (job.train.Has("time_limit"))
      time_limit_ = ParseDuration(job.train.String("time_limit"), "train.time_limit");
  }

  /// Reads the data, builds the model and takes up a checkpoint where there is one.
  void Begin() {
    SetKernelThreads(job_.Threads());
    std::vector<std::string> messages;
    std::optional<Checkpoint> checkpoint;
    if (request_.resume) checkpoint = RecoverNewest(run_, messages);
    data_ = OpenData(job_.data(), job_.seed());
    before_model_ = ResidentMemory();
    watch_.emplace(job_, data_);
    replica_.emplace(job_, data_.train->Info());
    if (checkpoint) TakeUp(*checkpoint);
    position_.examples = data_.train->Size();
    base_seconds_ = position_.seconds;
    AnnounceStart();
    for (const std::string& message : messages) Tell(message);
    for (const std::string& note : data_.notes) Tell(note);
    if (checkpoint)
      Tell(fmt::format("resumed from {} at step {}", checkpoint->folder(), position_.step));
    if (request_.resume && !checkpoint) Tell("there is no checkpoint yet: from the beginning");
  }

  EndEvent Run() {
    began_ = saved_at_ = Now();
    std::string reason = ended_before_;
    if (reason.empty() && position_.epoch >= epochs()) reason = "finished";
    if (!reason.empty())
      Tell(fmt::format("{} has ended already ({}): nothing is left to train", run_, reason));
    if (reason.empty() && Interrupted()) reason = "interrupted";  // While the data was read.
    while (reason.empty()) reason = RunEpoch();
    return End(reason);
  }

 private:
  int64_t epochs() const { return job_.train.Int("epochs"); }
  double EpochsDone() const {
    const auto examples = static_cast<double>(std::max<int64_t>(1, position_.examples));
    return static_cast<double>(position_.epoch) +
           static_cast<double>(position_.consumed.Count()) / examples;
  }
  double LearningRate() const {
    return job_.train.Float("learning_rate") *
           schedule_->Factor({.epoch = EpochsDone(), .epochs = static_cast<double>(epochs())});
  }

  // Beginning.

  void TakeUp(const Checkpoint& checkpoint) {
    const CheckpointHead& head = checkpoint.head();
    CheckSameData(head);
    replica_->Restore(checkpoint);
    position_ = head.position;
    // The best value so far counts only as the same metric's, and where its weights are still here.
    position_.has_best = position_.has_best && SameKey(head.job, "checkpoint", "best") &&
                         std::filesystem::exists(run_ + "/best");
    saved_test_ = head.test;
    saved_ = true;
    if (head.reason == "target" && job_.train.Has("target") && SameKey(head.job, "train", "target"))
      ended_before_ = head.reason;
  }

  /// Whether a key says what it said in the job of the checkpoint.
  bool SameKey(const Value& before, const char* section, const char* key) const {
    const Value* old_section = before.Find(section);
    const Value* old_value = old_section ? old_section->Find(key) : nullptr;
    const Value* value = job_.resolved.Find(section)->Find(key);
    return old_value && value ? *old_value == *value : old_value == value;
  }

  void CheckSameData(const CheckpointHead& head) const {
    Require(head.data.input == data_.train->Info().input,
            "the training data of {} has changed: its examples are {}, the checkpoint knew {}",
            run_, data_.train->Info().input.Text(), head.data.input.Text());
    for (const char* share : {"test_share", "validation_share"})
      Require(!job_.data().Find(share) || SameKey(head.job, "train", "seed"),
              "train.seed cannot change when {} is resumed: data.{} would be drawn anew, and "
              "examples held back before would be trained on",
              run_, share);
    Require(head.position.examples == data_.train->Size() &&
                head.data.label_names == data_.train->Info().label_names,
            "the training data of {} has changed: it holds {} examples in {} classes, the "
            "checkpoint knew {} in {}",
            run_, data_.train->Size(), data_.train->Info().label_names.size(),
            head.position.examples, head.data.label_names.size());
  }

  void AnnounceStart() {
    const StartEvent event = {
        .run = run_,
        .parameters = replica_->layout().Parameters(),
        .devices = fmt::format("cpu ({} thread{})", job_.Threads(), job_.Threads() == 1 ? "" : "s"),
        .executor = job_.node.String("executor"),
        .strategy = job_.cluster.String("strategy"),
        .world = 1,
        .train_examples = data_.train->Size(),
        .test_examples = data_.test ? data_.test->Size() : 0,
        .epochs_done = EpochsDone(),
        .epochs = epochs()};
    for (Observer* observer : observers_) observer->Start(event);
  }

  void Tell(const std::string& sentence) {
    for (Observer* observer : observers_) observer->Message(sentence);
  }

  // The loop. Functions that may end it return the reason, or "".

  std::string RunEpoch() {
    const EpochPlan plan({.seed = job_.seed(),
                          .epoch = position_.epoch,
                          .examples = position_.examples,
                          .batch = job_.train.Int("batch")},
                         position_.consumed);
    Prefetch batches(*data_.train, [&plan](int64_t step) { return plan.Share(step); },
                     {.steps = plan.Steps(),
                      .seed = job_.seed(),
                      .epoch = position_.epoch,
                      .threads = job_.Threads() >= kThreadsThatSpareOne ? 1 : 0});
    epoch_under_way_ = position_.epoch + 1;
    epoch_began_ = Now();
    epoch_examples_ = 0;
    paused_ = 0;
    for (int64_t s = 0; s < plan.Steps(); ++s) {
      std::string reason = TakeStep(*batches.Next());
      if (!reason.empty()) return reason;
      plan.Consume(s, position_.consumed);
      if (s + 1 < plan.Steps()) reason = BetweenSteps();
      if (!reason.empty()) return reason;
    }
    return FinishEpoch();
  }

  std::string TakeStep(const Batch& batch) {
    rate_ = LearningRate();
    const StepResult result =
        replica_->Step(batch, {.step = position_.step, .learning_rate = rate_});
    if (!std::isfinite(result.loss))
      return Diverged(std::isnan(result.loss) ? "the loss became nan"
                                              : fmt::format("the loss became {}", result.loss),
                      position_.step + 1);
    ++position_.step;
    position_.loss_sum += result.loss * static_cast<double>(result.examples);
    position_.loss_examples += result.examples;
    epoch_examples_ += result.examples;
    if (Now() - step_told_ >= kSecondsBetweenStepEvents) AnnounceStep();
    return "";
  }

  std::string BetweenSteps() {
    const std::string reason = ReasonToStop();
    const int64_t every = job_.checkpoint.Int("every_steps");
    const bool due = (every > 0 && position_.step % every == 0) || MinutesAreOver();
    return due || !reason.empty() ? Save(reason, {}, false) : "";
  }

  std::string FinishEpoch() {
    EpochEvent event = {
        .epoch = ++position_.epoch,
        .epochs = epochs(),
        .seconds = 0,
        .examples_per_second = ExamplesPerSecond(),
        .learning_rate = rate_,
        .step = position_.step,
        .train_loss = position_.loss_sum / static_cast<double>(position_.loss_examples),
        .validation = {},
        .test = {}};
    position_.consumed = {};
    position_.loss_sum = 0;
    position_.loss_examples = 0;
    const std::string bad = replica_->BadParameter();
    if (!bad.empty()) return Diverged("the weights became infinite", position_.step);
    const bool measure =
        position_.epoch % job_.train.Int("evaluate_every") == 0 || position_.epoch >= epochs();
    if (measure && data_.validation)
      event.validation = replica_->Evaluate(*data_.validation, request_.stop_signal);
    if (measure && data_.test) event.test = replica_->Evaluate(*data_.test, request_.stop_signal);
    event.seconds = Seconds();
    for (Observer* observer : observers_) observer->Epoch(event);
    return Decide(measure ? (data_.validation ? event.validation : event.test) : Metrics{},
                  event.test);
  }

  /// After an epoch: goes on or not, and saves if that is due.
  std::string Decide(const Metrics& watched, const Metrics& test) {
    const bool best = watch_->IsBest(watched, position_);
    const bool measured = !data_.test || !test.empty();  // In the last epoch: nobody broke it off.
    std::string reason = watch_->ReachesTarget(watched)            ? "target"
                         : position_.epoch >= epochs() && measured ? "finished"
                                                                   : ReasonToStop();
    const int64_t every = job_.checkpoint.Int("every_epochs");
    const bool due = (every > 0 && position_.epoch % every == 0) || MinutesAreOver();
    return due || best || !reason.empty() ? Save(reason, test, best) : "";
  }

  bool Interrupted() const { return request_.stop_signal && *request_.stop_signal != 0; }

  std::string ReasonToStop() const {
    if (Interrupted()) return "interrupted";
    return time_limit_ > 0 && Now() - entered_ >= time_limit_ ? "time_limit" : "";
  }

  bool MinutesAreOver() const {
    const double minutes = job_.checkpoint.Float("every_minutes");
    return minutes > 0 && Now() - saved_at_ >= minutes * 60;
  }

  /// Writes a checkpoint; returns `reason`, or "diverged" when the weights are not worth keeping.
  std::string Save(const std::string& reason, const Metrics& test, bool best) {
    if (!replica_->BadParameter().empty())
      return Diverged("the weights became infinite", position_.step);
    const double begin = Now();
    position_.seconds = Seconds();
    CheckpointHead head = {.job = job_.resolved,
                           .data = data_.train->Info(),
                           .position = position_,
                           .rule_steps = 0,
                           .executor = {},
                           .strategy = {},
                           .test = test,
                           .reason = reason};
    replica_->Describe(head);
    WriteCheckpoint(
        {.run = run_, .keep = static_cast<int>(job_.checkpoint.Int("keep")), .best = best},
        {.head = head,
         .layout = replica_->layout(),
         .values = replica_->Model(),
         .state = replica_->state(),
         .layers = replica_->LayerTensors()});
    saved_test_ = test;
    saved_ = true;
    saved_at_ = Now();
    paused_ += saved_at_ - begin;
    return reason;
  }

  std::string Diverged(const std::string& what, int64_t step) {
    const std::string where = replica_->FirstNonFinite();
    sentence_ = fmt::format(
        "{} at step {} (epoch {}){}; try a smaller train.learning_rate (now {:.3g}), "
        "train.clip_norm = 1, or "
        "a warm-up (train.schedule)",
        what, step, epoch_under_way_, where.empty() ? "" : fmt::format(", first in '{}'", where),
        rate_);
    if (saved_) sentence_ += fmt::format("; the last good checkpoint is {}/last", run_);
    return "diverged";
  }

  // Telling.

  double Seconds() const { return base_seconds_ + Now() - began_; }

  double ExamplesPerSecond() const {
    return static_cast<double>(epoch_examples_) / std::max(1e-9, Now() - epoch_began_ - paused_);
  }

  void AnnounceStep() {
    step_told_ = Now();
    const double speed = ExamplesPerSecond();
    const double left =
        (static_cast<double>(epochs()) - EpochsDone()) * static_cast<double>(position_.examples);
    const StepEvent event = {
        .step = position_.step,
        .epoch = EpochsDone(),
        .epochs = epochs(),
        .loss = position_.loss_sum / static_cast<double>(position_.loss_examples),
        .learning_rate = rate_,
        .examples_per_second = speed,
        .seconds_left = left / speed};
    for (Observer* observer : observers_) observer->Step(event);
  }

  std::string SentenceOf(const std::string& reason) const {
    if (reason == "finished" || reason == "target")
      return fmt::format("the weights are in {}/last", run_);
    return fmt::format("stopped at step {}; continue with: yoke train --resume {}", position_.step,
                       run_);
  }

  MemoryUse Memory() const {
    MemoryUse memory = replica_->Memory();
    memory.peak = PeakMemory();
    memory.before_model = before_model_;
    return memory;
  }

  EndEvent End(const std::string& reason) {
    const bool diverged = reason == "diverged";
    if (saved_test_.empty() && data_.test && !diverged && reason != "interrupted")
      saved_test_ = replica_->Evaluate(*data_.test, request_.stop_signal);
    const int signal = request_.stop_signal ? request_.stop_signal->load() : 0;
    EndEvent event = {.run = run_,
                      // As in the checkpoint: whoever goes on counts from there.
                      .seconds = diverged ? Seconds() : position_.seconds,
                      .epochs = EpochsDone(),
                      .step = position_.step,
                      .test = saved_test_,
                      .reason = reason,
                      .sentence = diverged ? sentence_ : SentenceOf(reason),
                      .exit_status = diverged                  ? kDivergedStatus
                                     : reason == "interrupted" ? 128 + signal
                                                               : 0,
                      .memory = Memory()};
    for (Observer* observer : observers_) observer->End(event);
    return event;
  }

  const Job& job_;
  const RunRequest& request_;
  std::string run_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<Observer> record_;
  std::vector<Observer*> observers_;
  double time_limit_ = 0;

  DataSets data_;
  std::optional<Replica> replica_;
  std::optional<Watch> watch_;
  int64_t before_model_ = 0;  ///< Bytes of memory before there was a replica.
  Position position_;
  std::string ended_before_;  ///< Why the run that is resumed had ended, if nothing changed since.
  Metrics saved_test_;        ///< Of the weights in `last`, when known.
  bool saved_ = false;        ///< There is a checkpoint.
  std::string sentence_;
  double rate_ = 0;
  int64_t epoch_under_way_ = 0;  ///< 1 for the first.

  double entered_ = Now();      ///< When this session began; the time limit counts from here.
  double began_ = Now();        ///< When its training began.
  double base_seconds_ = 0;     ///< Training time of the sessions before.
  double saved_at_ = Now();     ///< When the newest checkpoint was written.
  double epoch_began_ = 0;      ///< Within this session.
  double paused_ = 0;           ///< Time since then spent on checkpoints.
  int64_t epoch_examples_ = 0;  ///< Examples since then.
  double step_told_ = 0;
};

}  // namespace

EndEvent Train(const Job& job, const RunRequest& request) {
  bool began = false;
  RunDirectory run =
      request.resume ? RunDirectory::Resume(request.run) : RunDirectory::Create(request.run, job);
  try {
    Trainer trainer(job, request, run.path());
    trainer.Begin();
    if (request.resume) run.WriteJob(job);  // Not before: a refused one leaves the run as it was.
    began = true;
    return trainer.Run();
  } catch (...) {
    if (!began && !request.resume) run.Abandon();
    throw;
  }
}

}  // namespace yoke
