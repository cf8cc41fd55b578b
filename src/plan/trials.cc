// Trial: the Trainer with a time limit, observed.
#include "plan/trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "plan/candidates.h"
#include "train/checkpoint/checkpoint.h"
#include "train/early_stopping.h"
#include "train/epoch_cursor.h"
#include "train/files.h"
#include "train/job/job.h"
#include "train/job/parts.h"
#include "train/trainer.h"

namespace yoke {
namespace {

constexpr double kDrops[] = {0.5, 0.7, 0.85};  // of the steps
constexpr double kDrop = 0.25;

/// Turns the means over an epoch that events report into means between them.
class Curve : public Observer {
 public:
  void Start(const StartEvent& event) override {
    began_ = {.seconds = event.seconds, .epochs = event.epochs_done};
    epoch_examples_ = static_cast<double>(event.train_examples);
  }
  void Step(const StepEvent& event) override {
    Add({.seconds = event.seconds, .epochs = event.epoch}, event.loss,
        static_cast<double>(event.examples));
  }
  void Epoch(const EpochEvent& event) override {
    Add({.seconds = event.seconds, .epochs = static_cast<double>(event.epoch)}, event.train_loss,
        epoch_examples_);
    examples_ = sum_ = 0;
  }
  /// The first steps, which do not count if there are others.
  LossPoint WarmUp() const { return points_.size() < 2 ? LossPoint() : points_[0]; }
  /// The others.
  std::vector<LossPoint> Points() const {
    if (points_.size() < 2) return points_;
    std::vector<LossPoint> points(points_.begin() + 1, points_.end());
    for (LossPoint& point : points) {
      point.seconds -= points_[0].seconds;
      point.examples -= points_[0].examples;
    }
    return points;
  }

 private:
  struct Moment {
    double seconds = 0, epochs = 0;  // in all sessions
  };

  void Add(const Moment& now, double mean, double examples) {
    const double sum = mean * examples;
    if (examples > examples_)
      points_.push_back({.seconds = now.seconds - began_.seconds,
                         .examples = (now.epochs - began_.epochs) * epoch_examples_,
                         .loss = (sum - sum_) / (examples - examples_)});
    examples_ = examples;
    sum_ = sum;
  }

  Moment began_;
  double epoch_examples_ = 0;
  double examples_ = 0, sum_ = 0;  // of this epoch so far: examples and the sum of their losses
  std::vector<LossPoint> points_;
};

double EpochsOf(const std::string& run) {
  if (run.empty()) return 0;
  const Position at = Checkpoint::Open(run + "/last").header().position;
  return static_cast<double>(at.epoch) + static_cast<double>(at.consumed.Count()) /
                                             static_cast<double>(std::max<int64_t>(1, at.examples));
}

/// The job's rate, which falls in the second half of the next steps.
Job Annealed(const Job& job, const TrialRequest& request) {
  const double begin = EpochsOf(request.from);
  const double epochs = static_cast<double>(request.steps) / StepsPerEpoch(job, request.data);
  List drops;
  for (const double share : kDrops) drops.emplace_back(begin + share * epochs);
  Value schedule = Table{{"name", Value("multi_step")},
                         {"at_epochs", Value(std::move(drops))},
                         {"factor", Value(kDrop)}};
  return WithKeys(job, {PlanKey("train.schedule", FormatValue(schedule))});
}

/// Without all that costs time beside training.
Job TrialJob(const Job& job, const TrialRequest& request) {
  const bool limited = request.seconds > 0 || request.steps == 0;
  const std::string limit = limited ? fmt::format("{}s", request.seconds) : "";
  Overrides keys = {PlanKey("train.time_limit", limit, !limit.empty()),
                    PlanKey("train.target", ""),
                    PlanKey("train.early_stopping", ""),
                    PlanKey("train.evaluate_every", "1000000"),
                    PlanKey("train.evaluate_examples", ""),
                    PlanKey("checkpoint.every_epochs", "0"),
                    PlanKey("checkpoint.every_steps", "0"),
                    PlanKey("checkpoint.every_minutes", "0.0"),
                    PlanKey("checkpoint.best", ""),
                    PlanKey("checkpoint.keep", "1")};
  if (FollowsEvaluations(job)) keys.push_back(PlanKey("train.schedule", ""));
  return WithKeys(job, keys);
}

/// Times a trial's first loss (at least 1, as in Exploded): later ones, which are differences of
/// sums, are lost in its rounding.
constexpr double kUnreadable = 1e8;

/// The mean loss of the last third of the examples up to a point.
double RecentLoss(const std::vector<LossPoint>& curve, size_t at) {
  const double from = curve[at].examples * 2 / 3;
  double sum = 0, examples = 0, before = 0;
  for (size_t i = 0; i <= at; ++i) {
    const LossPoint& point = curve[i];
    if (point.examples >= from) {
      sum += point.loss * (point.examples - before);
      examples += point.examples - before;
    }
    before = point.examples;
  }
  return sum / examples;
}

/// Where the loss, over the last third of the examples up to there, was first at most this; with
/// infinite seconds and examples if it never was.
LossPoint FirstAt(const std::vector<LossPoint>& curve, double loss) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < curve.size(); ++i)
    if (RecentLoss(curve, i) <= loss) return curve[i];
  return {.seconds = kNever, .examples = kNever};
}

}  // namespace

double StepsPerEpoch(const Job& job, const DataSets& data) {
  const Roles roles = RolesOf(job);
  const int64_t step = StepExamplesOf(job, data.train->Size() / roles.workers);
  return std::ceil(static_cast<double>(data.train->Size()) /
                   static_cast<double>(step * roles.team));
}

double ExamplesPerUpdate(const Job& job) {
  return static_cast<double>(BatchOf(job)) * RolesOf(job).workers;
}

Trial RunTrial(const Job& job, const TrialRequest& request) {
  namespace fs = std::filesystem;
  Trial trial;
  DataSets data = request.data;
  data.test = data.validation = nullptr;
  Curve curve;
  const ScratchFiles scratch;
  try {
    if (!request.from.empty() && request.from != request.folder) {
      fs::create_directories(fs::path(request.folder).parent_path());
      fs::copy(request.from, request.folder,
               fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    }
    const Job its = TrialJob(request.steps > 0 ? Annealed(job, request) : job, request);
    std::optional<SimulatedCluster> cluster;
    if (request.run.cluster) {
      cluster = *request.run.cluster;
      cluster->checkpoint_bytes_per_second = 0;  // those of trials take no time
      if (request.apart) cluster->machines = Alone(std::move(cluster->machines), request.rank);
    }
    const RunRequest its_run = {
        .run = request.folder,
        .resume = !request.from.empty(),
        .stop_signal = request.run.stop_signal,
        .guard_lost = request.run.guard_lost,
        .observers = {&curve},
        .steps = request.steps,
        .tell_each_step = request.each_step || request.steps > 0 || request.run.cluster,
        .cluster = cluster ? &*cluster : nullptr,
        .apart = request.apart,
        .data = &data};
    const EndEvent end = request.peers ? request.peers->Train(its, its_run) : Train(its, its_run);
    if (end.reason == "diverged") trial.failure = end.sentence;
    trial.ended = end.reason == "finished";
    trial.seconds = end.virtual_seconds;
  } catch (const Error& refused) {
    trial.failure = refused.what();
    trial.refused = std::current_exception();
  } catch (const fs::filesystem_error& full) {
    trial.failure = fmt::format("cannot copy a checkpoint for a trial: {}", full.what());
    trial.refused = std::make_exception_ptr(Error(trial.failure));
  }
  trial.warm_up = curve.WarmUp();
  trial.curve = curve.Points();
  if (!request.run.cluster && !trial.curve.empty()) trial.seconds = trial.curve.back().seconds;
  if (trial.curve.empty()) {
    if (trial.failure.empty()) trial.failure = "it ended before its first step";
    return trial;
  }
  trial.seconds_per_example = trial.curve.back().seconds / trial.curve.back().examples;
  trial.loss = LastLoss(trial.curve);
  const double worst = std::ranges::max(trial.curve, {}, &LossPoint::loss).loss;
  const bool exploded = !(worst < kUnreadable * std::max(trial.curve.front().loss, 1.0));
  if ((exploded || !std::isfinite(trial.loss)) && trial.failure.empty())
    trial.failure = fmt::format("the loss rose to {:.3g}", worst);
  return trial;
}

double LastLoss(const std::vector<LossPoint>& curve) { return RecentLoss(curve, curve.size() - 1); }

double TimeTo(const Trial& trial, double loss) { return FirstAt(trial.curve, loss).seconds; }

double ExamplesTo(const std::vector<LossPoint>& curve, double loss) {
  return FirstAt(curve, loss).examples;
}

}  // namespace yoke
