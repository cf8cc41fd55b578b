// Cosine: with p the fraction of the schedule that is over, factor = end + (1 - end) (1 + cos(pi
// p)) / 2. Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts" (2017),
// without restarts.
#include <cmath>
#include <numbers>

#include "optim/schedules/share.h"

namespace yoke::schedule {
namespace {

class Cosine : public Schedule {
 public:
  explicit Cosine(double end) : end_(end) {}
  double Factor(const Progress& progress) const override {
    return end_ + (1 - end_) * (1 + std::cos(std::numbers::pi * Done(progress))) / 2;
  }

 private:
  double end_;
};

}  // namespace

ScheduleEntry cosine() {
  return {.name = "cosine",
          .summary = "The rate falls along half a cosine until the last epoch",
          .options = {EndOption()},
          .make = [](const Options& options) -> std::unique_ptr<Schedule> {
            return std::make_unique<Cosine>(options.Float("end"));
          }};
}

}  // namespace yoke::schedule
