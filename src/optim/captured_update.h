// CapturedUpdate: an update on a device that is enqueued with the pass before it, as a part of one
// captured step, so that Apply then finds it done.
#pragma once

#include <optional>

#include "optim/rule.h"

namespace yoke {

/// Of one RuleState on a device whose stream captures, of a rule that does not tune itself. Apply
/// works as ever until an update is begun here.
class CapturedUpdate {
 public:
  /// By who knows that each step's gradient goes, as it is, into one update of the same values,
  /// before anything else looks at them.
  void Allow() { allowed_ = true; }
  /// Whether the next update can be enqueued here: one has been seen, which does not clip gradients
  /// of touched rows or frozen parameters.
  bool Ready() const;
  /// Enqueues what differs from step to step, before the step. The next Apply must make this
  /// update, with this learning rate.
  void Begin(double learning_rate);
  /// Enqueues the rest, which is the same in each step with gradients in the same place.
  void Enqueue() const;
  /// By Apply: whether the update was begun here. If not, the next one will be like it.
  bool IsMade(const ParamStore& params, const ApplyRequest& request, const UpdateStep& step);

 private:
  /// The last update.
  struct Seen {
    const ParamStore& params;
    ApplyRequest request;
    UpdateStep step;
  };

  bool allowed_ = false, begun_ = false;
  std::optional<Seen> last_;
};

}  // namespace yoke
