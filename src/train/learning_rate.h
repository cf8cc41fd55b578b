// LearningRate: a job's learning rate as training proceeds.
#pragma once

#include <memory>

#include "optim/schedules.h"
#include "train/job/job.h"

namespace yoke {

class LearningRate {
 public:
  explicit LearningRate(const Job& job)
      : base_(job.train.Float("learning_rate")),
        epochs_(static_cast<double>(job.train.Int("epochs"))),
        schedule_(MakeSchedule(job.train.Has("schedule") ? job.train.Raw("schedule") : Value())) {}

  /// After so many epochs, fractional.
  double After(double epochs, int64_t plateaus = 0) const {
    return base_ * schedule_->Factor({.epoch = epochs, .epochs = epochs_, .plateaus = plateaus});
  }

 private:
  double base_;
  double epochs_;  // in all
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace yoke
