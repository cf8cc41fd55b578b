// Trial: the Trainer with a time limit, observed.
#include "plan/trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/check.h"
#include "train/job/job.h"

namespace yoke {
namespace {

/// Turns the means over an epoch that steps report into means between them.
class Curve : public Observer {
 public:
  void Step(const StepEvent& event) override {
    const double sum = event.loss * static_cast<double>(event.examples);
    if (event.examples < examples_) {  // the next epoch
      before_ += static_cast<double>(examples_);
      examples_ = 0;
      sum_ = 0;
    }
    const auto more = static_cast<double>(event.examples - examples_);
    if (points_.empty() && !began_) {  // the first steps: from here it counts
      began_ = true;
      start_seconds_ = event.seconds;
      start_examples_ = before_ + static_cast<double>(event.examples);
    } else if (more > 0) {
      points_.push_back(
          {.seconds = event.seconds - start_seconds_,
           .examples = before_ + static_cast<double>(event.examples) - start_examples_,
           .loss = (sum - sum_) / more});
    }
    examples_ = event.examples;
    sum_ = sum;
  }
  const std::vector<LossPoint>& points() const { return points_; }

 private:
  bool began_ = false;
  double start_seconds_ = 0, start_examples_ = 0;
  double before_ = 0;     // examples of earlier epochs
  int64_t examples_ = 0;  // of this epoch so far, and the sum of their losses
  double sum_ = 0;
  std::vector<LossPoint> points_;
};

/// Without all that costs time beside training.
Job TrialJob(const Job& job, double seconds) {
  const auto set = [](const char* key, const std::string& value, bool text = false) {
    return Override{.key = key, .value = value, .flag = "the plan", .text = text};
  };
  return WithKeys(job, {set("train.time_limit", fmt::format("{}s", seconds), true),
                        set("train.target", ""), set("train.evaluate_every", "1000000"),
                        set("checkpoint.every_epochs", "0"), set("checkpoint.every_steps", "0"),
                        set("checkpoint.every_minutes", "0.0"), set("checkpoint.best", "")});
}

double LastLoss(const std::vector<LossPoint>& curve) {
  const double from = curve.back().seconds * 2 / 3;
  double sum = 0, examples = 0, before = 0;
  for (const LossPoint& point : curve) {
    if (point.seconds >= from) {
      sum += point.loss * (point.examples - before);
      examples += point.examples - before;
    }
    before = point.examples;
  }
  return sum / examples;
}

}  // namespace

Trial RunTrial(const Job& job, const TrialRequest& request) {
  namespace fs = std::filesystem;
  Trial trial;
  DataSets data = request.data;
  data.test = data.validation = nullptr;
  if (!request.from.empty())
    fs::copy(request.from, request.folder,
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  Curve curve;
  try {
    const Job its = TrialJob(job, request.seconds);
    const EndEvent end = Train(its, {.run = request.folder,
                                     .resume = !request.from.empty(),
                                     .stop_signal = request.run.stop_signal,
                                     .observers = {&curve},
                                     .cluster = request.run.cluster,
                                     .cluster_title = request.run.cluster_title,
                                     .data = &data});
    if (end.reason == "diverged") trial.failure = end.sentence;
    trial.ended = end.reason == "finished";
  } catch (const UserError& refused) {
    trial.failure = refused.what();
  }
  trial.curve = curve.points();
  if (trial.curve.empty()) {
    if (trial.failure.empty())
      trial.failure = fmt::format("{:.3g} s are too short for a trial", request.seconds);
    return trial;
  }
  trial.seconds_per_example = trial.curve.back().seconds / trial.curve.back().examples;
  trial.loss = LastLoss(trial.curve);
  if (!std::isfinite(trial.loss) && trial.failure.empty()) trial.failure = "the loss became nan";
  return trial;
}

double TimeTo(const Trial& trial, double loss) {
  for (const LossPoint& point : trial.curve)
    if (point.loss <= loss) return point.seconds;
  return std::numeric_limits<double>::infinity();
}

}  // namespace yoke
