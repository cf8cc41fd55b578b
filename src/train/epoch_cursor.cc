// EpochCursor: reads an epoch's plan step by step.
#include "train/epoch_cursor.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "base/registry.h"
#include "node/executor.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

constexpr int kMostThreadsReading = 16;

}  // namespace

int64_t StepExamplesOf(const Job& job, int64_t epoch) {
  const ExecutorEntry& executor = FindEntry(executors(), "executor", job.node.String("executor"));
  const int64_t batch = BatchOf(job);
  return executor.step_examples ? executor.step_examples(job.node, batch, epoch) : batch;
}

void RequireExamples(const Job& job, const Reader& data, int replicas) {
  Require(
      replicas == 1 || data.Size() >= replicas,
      "{}: {} replicas train, and an epoch has only {} examples: each replica needs at least one",
      job.cluster.Where("replicas"), replicas, data.Size());
}

/// With fewer threads, a reading thread would only take a core from the computing ones.
int EpochCursor::ThreadsReadingAhead(int threads) {
  constexpr int kThreadsThatSpareOne = 4;
  return threads >= kThreadsThatSpareOne ? 1 : 0;
}

EpochCursor::EpochCursor(const Job& job, const Reader& data, const TeamPlace& place, int threads)
    : job_(job),
      data_(data),
      place_(place),
      threads_(ThreadsReadingAhead(threads)),
      most_threads_(threads_ > 0 ? std::min(threads / 2, kMostThreadsReading) : 0),
      step_examples_(StepExamplesOf(job, data.Size() / std::max(1, place.world))),
      rate_(job) {
  position.examples = data.Size();
  RequireExamples(job, data, place.world);
  RequireWholeStep();
}

void EpochCursor::RequireWholeStep() const {
  if (!job_.train.Bool("drop_last")) return;
  const ExecutorEntry& executor = FindEntry(executors(), "executor", job_.node.String("executor"));
  Require(!executor.step_examples, "{}: executor {} divides an epoch into batches of its own",
          job_.train.Where("drop_last"), executor.name);
  Require(LeftOut() < data_.Size(),
          "{}: an epoch has {} examples, and a step takes {}: nothing is left",
          job_.train.Where("drop_last"), data_.Size(), step_examples_ * place_.team);
}

std::string EpochCursor::Note() const {
  const int64_t batch = step_examples_;
  if (place_.world == 1 || data_.Size() >= batch * place_.world) return "";
  return fmt::format(
      "an epoch has {} examples, fewer than a step of {} for each of {} replicas: some replicas "
      "have little or no work; a smaller train.batch gives work to all",
      data_.Size(), batch, place_.world);
}

int64_t EpochCursor::StepsPerEpoch() const {
  const int64_t step = step_examples_ * place_.world;
  return (data_.Size() - LeftOut() + step - 1) / step;
}

int64_t EpochCursor::LeftOut() const {
  if (!job_.train.Bool("drop_last")) return 0;
  return data_.Size() % (step_examples_ * place_.team);
}

int64_t EpochCursor::RestOfEpoch() const {
  const int64_t rest = (data_.Size() - LeftOut()) % (step_examples_ * place_.team);
  return rest == 0 ? 0 : std::max<int64_t>(1, rest / place_.team);
}

void EpochCursor::PlanEpoch() {
  if (plan_) return;
  consumed_before_ = position.consumed.Count();
  done_ = 0;
  plan_.emplace(EpochDeal{.seed = job_.seed(),
                          .epoch = position.epoch,
                          .examples = position.examples,
                          .batch = step_examples_,
                          .left_out = LeftOut(),
                          .rank = place_.rank,
                          .world = place_.team},
                position.consumed);
}

const Batch& EpochCursor::Read(int64_t step) {
  const double began = Now();
  const Batch& batch = Take(step);
  waited_ += Now() - began;
  return batch;
}

const Batch& EpochCursor::Take(int64_t step) {
  if (place_.team == place_.world && place_.reads && !ahead_)
    ahead_.emplace(
        data_, [this](int64_t each) { return plan_->Part(each); },
        Prefetch::Settings{.steps = plan_->Steps(),
                           .seed = job_.seed(),
                           .epoch = position.epoch,
                           .as_stored = as_stored,
                           .threads = threads_,
                           .most = most_threads_});
  if (ahead_) {
    const Batch& batch = *ahead_->Next();
    threads_ = ahead_->threads();  // in the next epoch too
    return batch;
  }
  Read(plan_->Part(step), batch_);
  return batch_;
}

void EpochCursor::Read(std::span<const int64_t> examples, Batch& batch) const {
  data_.Read(
      {.examples = examples, .seed = job_.seed(), .epoch = position.epoch, .as_stored = as_stored},
      batch);
}

double EpochCursor::EpochsAt(int64_t step) const {
  const auto examples = static_cast<double>(std::max<int64_t>(1, position.examples));
  const int64_t consumed =
      plan_ ? std::min(consumed_before_ + step * step_examples_ * place_.team, position.examples)
            : position.consumed.Count();
  return static_cast<double>(position.epoch) + static_cast<double>(consumed) / examples;
}

/// The time since the last call, which is long after a resume, in a hundred parts an epoch.
double EpochCursor::HighestRateUpTo(int64_t step) {
  constexpr double kPart = 0.01;
  const double until = EpochsAt(step);
  for (; highest_until_ < until; highest_until_ += kPart)
    highest_rate_ = std::max(highest_rate_, rate_.After(highest_until_));
  return highest_rate_ = std::max(highest_rate_, rate_.After(until));
}

void EpochCursor::Advance(int64_t dealt, const std::vector<StepTotals>& all_totals) {
  if (position.step == 0) position.untrained_loss = UntrainedLoss(all_totals);
  position.step += dealt - done_;
  for (; done_ < dealt; ++done_) plan_->Consume(done_, position.consumed);
  position.loss_sum = 0;
  position.loss_examples = 0;
  for (const StepTotals& totals : all_totals) {
    position.loss_sum += totals.loss_sum;
    position.loss_examples += totals.examples;
  }
}

Ranges EpochCursor::ConsumedWith(std::span<const int64_t> steps) const {
  Ranges consumed = position.consumed;
  for (const int64_t step : steps) plan_->Consume(step, consumed);
  return consumed;
}

double EpochCursor::EpochsDone() const { return EpochsAt(done_); }

void EpochCursor::FinishEpoch() {
  ahead_.reset();
  plan_.reset();
  ++position.epoch;
  position.consumed = {};
  position.loss_sum = 0;
  position.loss_examples = 0;
}

}  // namespace yoke
