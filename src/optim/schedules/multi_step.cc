// Multi-step: a drop at each named epoch; factor = drop^(number of named epochs reached).
#include <utility>

#include "base/check.h"
#include "optim/schedules/share.h"

namespace yoke::schedule {
namespace {

class MultiStep : public Schedule {
 public:
  MultiStep(std::vector<double> at, double factor) : at_(std::move(at)), factor_(factor) {}
  double Factor(const Progress& progress) const override {
    double factor = 1;
    for (double epoch : at_)
      if (progress.epoch >= epoch) factor *= factor_;
    return factor;
  }

 private:
  std::vector<double> at_;
  double factor_;
};

std::unique_ptr<Schedule> Make(const Options& options) {
  std::vector<double> at = options.Floats("at_epochs");
  for (double epoch : at)
    Require(epoch > 0, "{}: every epoch must be above 0", options.Where("at_epochs"));
  return std::make_unique<MultiStep>(std::move(at), options.Float("factor"));
}

}  // namespace

ScheduleEntry multi_step() {
  return {.name = "multi_step",
          .summary = "The rate drops by a factor at each of the given epochs",
          .options = {{.name = "at_epochs",
                       .type = OptionType::kFloats,
                       .fallback = {},
                       .help = "The epochs at which the rate drops, in any order.",
                       .required = true},
                      FactorOption()},
          .make = Make,
          .counts_from_start = true};
}

}  // namespace yoke::schedule
