// Update: the rule, applied.
#include "strategy/update.h"

#include <algorithm>

#include "comm/virtual_time.h"

namespace yoke {

void Update::Charge() const {
  if (!context_.updated_in_place)
    context_.world.Charge(CostOfUpdate(context_.state, context_.params.layout().dense_size()));
}

void Update::ApplyUncharged(const StrategyStep& step, double scale) {
  if (context_.updated_in_place) return context_.params.Publish();
  Apply(context_.params, {.rule = context_.rule,
                          .state = context_.state,
                          .gradients = context_.gradients,
                          .learning_rate = step.learning_rate,
                          .clip_norm = context_.clip_norm,
                          .gradient_scale = scale});
}

void Update::Count(int64_t examples, int64_t staleness) {
  ++counts_.updates;
  counts_.examples += examples;
  CountStaleness(counts_.staleness, staleness);
}

void CountStaleness(std::vector<int64_t>& histogram, int64_t staleness) {
  if (staleness >= static_cast<int64_t>(histogram.size())) histogram.resize(staleness + 1);
  ++histogram[staleness];
}

void AddCounts(const ExchangeCounts& counts, ExchangeCounts& sums) {
  sums.updates += counts.updates;
  sums.examples += counts.examples;
  sums.staleness.resize(std::max(sums.staleness.size(), counts.staleness.size()));
  for (size_t s = 0; s < counts.staleness.size(); ++s) sums.staleness[s] += counts.staleness[s];
}

double ChargeCopy(const Communicator& world, int64_t bytes) {
  const double seconds = VirtualTime(world).Price({.device_bytes = static_cast<double>(bytes)});
  if (seconds > 0) VirtualTime(world).Work(seconds);
  return seconds;
}

}  // namespace yoke
