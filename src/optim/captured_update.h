// CapturedUpdate: an update on a device that is enqueued with the pass before it, as a part of one
// captured step, so that Apply then finds it done.
#pragma once

#include <memory>
#include <vector>

#include "optim/rule.h"

namespace yoke {

/// Of one RuleState, whose kernels it sees. Apply works as ever until an update is begun here.
class CapturedUpdate {
 public:
  CapturedUpdate(Kernel<UpdateStart>& start, Kernel<UpdateCall>& update)
      : start_(start), update_(update) {}

  /// By who knows that each step's gradient goes, as it is, into one update of the same values,
  /// before anything else looks at them.
  void Allow() { allowed_ = true; }
  /// Whether the next update can be enqueued here: one has been seen, of dense slices, without
  /// clipping.
  bool Ready() const;
  /// Enqueues what differs from step to step, before the step. The next Apply must make this
  /// update, with this learning rate.
  void Begin(double learning_rate);
  /// Enqueues the rest, which is the same in each step.
  void Enqueue();

 private:
  friend class SeenStart;
  friend class SeenUpdate;

  void Start(const UpdateStart& call);
  void Update(const UpdateCall& call);

  Kernel<UpdateStart>& start_;
  Kernel<UpdateCall>& update_;
  bool allowed_ = false, begun_ = false;
  UpdateStart last_;
  std::vector<UpdateCall> calls_;  // of the last update
  size_t made_ = 0;                // of these, to come in Apply though they have been enqueued
};

/// The two kernels of an update, with a CapturedUpdate of them.
struct UpdateKernels {
  std::unique_ptr<Kernel<UpdateStart>> start;
  std::unique_ptr<Kernel<UpdateCall>> update;
};
UpdateKernels Seen(UpdateKernels kernels);

/// Of a state on a device whose stream captures, of a rule that does not tune itself; null: there
/// is none.
CapturedUpdate* CapturedUpdateOf(const RuleState& state);

}  // namespace yoke
