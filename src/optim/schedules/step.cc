// Step: a drop at regular intervals; factor = drop^floor(epoch / every_epochs).
#include <cmath>

#include "optim/schedules/share.h"

namespace yoke::schedule {
namespace {

class Step : public Schedule {
 public:
  Step(double every, double factor) : every_(every), factor_(factor) {}
  double Factor(const Progress& progress) const override {
    return std::pow(factor_, std::floor(progress.epoch / every_));
  }

 private:
  double every_;
  double factor_;
};

}  // namespace

ScheduleEntry step() {
  return {.name = "step",
          .summary = "The rate drops by a factor at regular intervals",
          .options = {{.name = "every_epochs",
                       .type = OptionType::kFloat,
                       .fallback = {},
                       .help = "Epochs between two drops.",
                       .minimum = 0,
                       .exclusive_minimum = true,
                       .required = true},
                      FactorOption()},
          .make = [](const Options& options) -> std::unique_ptr<Schedule> {
            return std::make_unique<Step>(options.Float("every_epochs"), options.Float("factor"));
          },
          .counts_from_start = true};
}

}  // namespace yoke::schedule
