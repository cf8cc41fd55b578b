// Stepper: a replica's parts with the strategy none, trained step by step so that its steps can be
// timed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "measure/machine_profile.h"
#include "measure/step_timer.h"
#include "train/training_loop.h"

namespace yoke {

inline constexpr int kRounds = 3;      ///< Visits of each batch but the job's.
inline constexpr int kLeastSteps = 3;  ///< Of each batch, in all.

/// One replica, as the Trainer joins its parts (train/training_loop.h), with the strategy none.
/// Values, gradients and the rule's state lie on the host.
class Stepper {
 public:
  /// By an executor with these keys of [node], on these devices. The arguments must outlive it.
  /// Throws UserError if the executor does not take the devices, or a device a layer.
  Stepper(const ProfileRequest& request, const ExecutorEntry& entry, const Options& node,
          const std::vector<Device*>& devices);

  bool in_place() const { return executor_->in_place(); }
  /// Whether its batches are read as they are stored.
  bool takes_stored() const { return takes_stored_; }
  int64_t step_examples() const { return step_examples_ > 0 ? step_examples_ : request_.batch; }
  Cost UpdateCost() const { return CostOfUpdate(state_, request_.graph.layout().dense_size()); }

  /// Gradient and update.
  void Step(const Batch& batch);
  /// Starts again where the job's training is over.
  void Prepare() {
    if (request_.examples > 0 && examples_ >= request_.examples) Restart();
  }
  /// The median seconds of its updates; 0: there were none.
  double UpdateSeconds() const;
  /// The same since the last ForgetUpdates, while its thread had a core.
  double UpdateCpuSeconds() const;
  void ForgetUpdates() { update_cpu_.clear(); }

 private:
  void Restart();

  const ProfileRequest& request_;
  bool takes_stored_;
  int64_t step_examples_ = 0;
  ParamStore params_;
  LayerStates states_;
  Gradients gradients_;
  RuleState state_;
  double learning_rate_;
  int64_t examples_ = 0;  // since the initial values
  std::vector<double> updates_, update_cpu_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Strategy> strategy_;
  std::optional<ReplicaStep> step_;
};

/// Batches of the training data in random order.
class Batches {
 public:
  Batches(const ProfileRequest& request, int64_t size, bool as_stored = false);
  int64_t size() const { return size_; }
  const Batch& batch() const { return batch_; }
  void Read();

 private:
  const ProfileRequest& request_;
  std::vector<int64_t> order_;
  int64_t size_;
  bool as_stored_;
  int64_t next_ = 0;
  Batch batch_;
};

/// The steps of a stepper with batches of one size.
struct TimedSteps {
  /// `reads_in_step`: reading the batch is timed. The arguments must outlive it.
  TimedSteps(const ProfileRequest& request, Stepper& stepper, int64_t size, bool reads_in_step);
  StepTime Result() const;

  std::unique_ptr<Batches> batches;
  StepTimer timer;
};

/// Steps of the request's executor on the CPU with the job's batch. The request must outlive it.
class MeanSteps {
 public:
  /// Takes the first steps, which are slower.
  explicit MeanSteps(const ProfileRequest& request);
  /// The mean seconds of so many steps, each followed by after().
  double Seconds(int64_t steps, const std::function<void()>& after);
  /// The median seconds of their updates of the dense values, while the thread had a core; 0: there
  /// are none.
  double UpdateCpuSeconds() const { return stepper_.UpdateCpuSeconds(); }
  Cost UpdateCost() const { return stepper_.UpdateCost(); }

 private:
  Stepper stepper_;
  Batches batches_;
};

/// The steps of each batch (MachineProfile::steps): the job's in one go, which is its training from
/// the beginning, for twice the time of another; then the others by turns.
std::vector<StepTime> TimeSteps(const ProfileRequest& request, Stepper& stepper, double seconds,
                                bool reads_in_step);

}  // namespace yoke
