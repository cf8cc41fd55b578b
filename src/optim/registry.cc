// The lists of update rules and schedules: each .def file once as declarations, once as the table.
#include "optim/rule.h"
#include "optim/schedule.h"

namespace yoke {

namespace rule {
#define YOKE_RULE(name) RuleEntry name();
#include "optim/rules.def"
#undef YOKE_RULE
}  // namespace rule

namespace schedule {
#define YOKE_SCHEDULE(name) ScheduleEntry name();
#include "optim/schedules.def"
#undef YOKE_SCHEDULE
}  // namespace schedule

const std::vector<RuleEntry>& rules() {
  static const std::vector<RuleEntry> entries = {
#define YOKE_RULE(name) rule::name(),
#include "optim/rules.def"
#undef YOKE_RULE
  };
  return entries;
}

const std::vector<ScheduleEntry>& schedules() {
  static const std::vector<ScheduleEntry> entries = {
#define YOKE_SCHEDULE(name) schedule::name(),
#include "optim/schedules.def"
#undef YOKE_SCHEDULE
  };
  return entries;
}

}  // namespace yoke
