// Constant: factor = 1.
#include "optim/schedule.h"

namespace yoke::schedule {
namespace {

class Constant : public Schedule {
 public:
  double Factor(const Progress& /*progress*/) const override { return 1; }
};

}  // namespace

ScheduleEntry constant() {
  return {.name = "constant",
          .summary = "The rate does not change",
          .options = {},
          .make = [](const Options&) -> std::unique_ptr<Schedule> {
            return std::make_unique<Constant>();
          }};
}

}  // namespace yoke::schedule
