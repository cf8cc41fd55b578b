// Polynomial: with p the fraction of the schedule that is over, factor = end + (1 - end) (1 -
// p)^power. Power 1 is linear; Caffe's "poly" policy has end = 0.
#include <cmath>

#include "optim/schedules/share.h"

namespace yoke::schedule {
namespace {

class Polynomial : public Schedule {
 public:
  Polynomial(double power, double end) : power_(power), end_(end) {}
  double Factor(const Progress& progress) const override {
    return end_ + (1 - end_) * std::pow(1 - Done(progress), power_);
  }

 private:
  double power_;
  double end_;
};

}  // namespace

ScheduleEntry polynomial() {
  return {
      .name = "polynomial",
      .summary = "The rate falls with a power of the remaining fraction of training (1: linearly)",
      .options = {{.name = "power",
                   .type = OptionType::kFloat,
                   .fallback = 1.0,
                   .help = "The exponent.",
                   .minimum = 0,
                   .exclusive_minimum = true},
                  EndOption()},
      .make = [](const Options& options) -> std::unique_ptr<Schedule> {
        return std::make_unique<Polynomial>(options.Float("power"), options.Float("end"));
      }};
}

}  // namespace yoke::schedule
