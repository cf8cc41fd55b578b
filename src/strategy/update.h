// Update: a strategy's use of the rule: one step with a gradient, its price, what is counted; and
// what a strategy saves in a checkpoint.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/value.h"
#include "strategy/strategy.h"

namespace yoke {

/// Makes and counts the updates of one rank's values.
class Update {
 public:
  explicit Update(const StrategyContext& context) : context_(context) {}

  /// One step of the rule from `context.params` with `context.gradients` times `scale`, after it is
  /// charged. If the executor has updated in place, only publishes the values.
  void Step(const StrategyStep& step, double scale = 1) {
    Charge();
    ApplyUncharged(step, scale);
  }
  /// The two halves of Step, for values under a lock: a charge may wait.
  void Charge() const;
  void ApplyUncharged(const StrategyStep& step, double scale = 1);
  /// Counts an update that uses a gradient computed `staleness` updates earlier.
  void Count(int64_t examples, int64_t staleness = 0);

  /// `updates`, `examples` and `staleness` so far.
  const ExchangeCounts& counts() const { return counts_; }

 private:
  StrategyContext context_;
  ExchangeCounts counts_ = {};
};

/// Adds one more update with this staleness to a histogram.
void CountStaleness(std::vector<int64_t>& histogram, int64_t staleness);
/// Adds updates, examples and staleness, not traffic.
void AddCounts(const ExchangeCounts& counts, ExchangeCounts& sums);

/// Copying so many values within the host's memory: each is read and written.
inline Cost CostOfMemoryCopy(int64_t values) {
  return {.bytes = 2.0 * static_cast<double>(values * SizeOf(DType::kF32))};
}

/// Charges a copy between the host's memory and the device that computes, and returns its virtual
/// seconds: 0 without such a device, and on a real machine, whose copies take time of their own.
double ChargeCopy(const Communicator& world, int64_t bytes);

namespace strategy {

/// Lists an array for Tensors, unless it is empty.
inline void Save(std::vector<Strategy::SavedTensor>& saved, const std::string& name,
                 std::vector<float>& values) {
  if (!values.empty()) saved.push_back({name, OnHost(std::span(values))});
}
inline void Save(std::vector<Strategy::SavedTensor>& saved, const std::string& name,
                 const Buffer& buffer) {
  if (buffer.bytes() > 0) saved.push_back({name, AllOf<float>(buffer)});
}

}  // namespace strategy
}  // namespace yoke
