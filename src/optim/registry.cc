// The lists of update rules and schedules, made from their .def files.
#include "optim/rule.h"
#include "optim/schedule.h"

namespace yoke {

#define YOKE_RULE(name)   \
  namespace rule_##name { \
    RuleEntry Entry();    \
  }
#include "optim/rules.def"
#undef YOKE_RULE

#define YOKE_SCHEDULE(name)   \
  namespace schedule_##name { \
    ScheduleEntry Entry();    \
  }
#include "optim/schedules.def"
#undef YOKE_SCHEDULE

const std::vector<RuleEntry>& rules() {
  static const std::vector<RuleEntry> entries = {
#define YOKE_RULE(name) rule_##name::Entry(),
#include "optim/rules.def"
#undef YOKE_RULE
  };
  return entries;
}

const std::vector<ScheduleEntry>& schedules() {
  static const std::vector<ScheduleEntry> entries = {
#define YOKE_SCHEDULE(name) schedule_##name::Entry(),
#include "optim/schedules.def"
#undef YOKE_SCHEDULE
  };
  return entries;
}

}  // namespace yoke
