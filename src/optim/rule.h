// UpdateRule: computes new values from gradients, for a contiguous run of elements or for touched
// rows only; and which thread of a team updates which part.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/algorithms.h"
#include "base/cost.h"
#include "base/options.h"
#include "kernels/kernel.h"
#include "kernels/update.h"
#include "params/store.h"

namespace yoke {

/// How numbers that are stored in bf16 are rounded after an update in f32.
struct Rounding {
  /// True: up or down at random, so that the mean is exact and updates smaller than half a step
  /// between two bf16 numbers are not lost. False: to the nearest.
  bool stochastic = true;
  uint64_t seed = 0;  ///< Of the draws.
};

/// A whole update, as a rule that tunes itself sees it before it is made.
struct UpdateFacts {
  double gradient_square = 0;  ///< Sum of squares of all gradients, scaled by gradient_scale.
  double state_square = 0;     ///< The same of the first state array, over dense slices.
  int64_t elements = 0;        ///< Size of the slices that are updated.
  /// The momentum that late gradients and the rule bring together, if measured (total_momentum.h).
  std::optional<double> total_momentum = {};
};

class OperationEntry;
const OperationEntry& UpdateStartOperation();

/// An optimizer's update rule. Stateless: arrays and scalars belong to the caller (RuleState).
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  virtual const char* name() const = 0;  ///< "momentum": also of its operation on a device.
  /// Names of the state arrays: {"momentum"} or {"m", "v"}. Each is as long as the values and
  /// starts at zero.
  virtual std::vector<std::string> StateNames() const = 0;
  /// How many scalars it keeps from update to update, besides arrays. They start at zero. 0: it
  /// does not look at an update as a whole, and Tune is not called.
  virtual int Scalars() const { return 0; }
  /// Takes a whole update in, and returns the step by which its runs are updated.
  virtual UpdateStep Tune(const UpdateStep& step, const UpdateFacts& /*facts*/,
                          std::span<float> /*scalars*/) const {
    return step;
  }
  /// Updates a run in one pass over memory, in the calling thread. Apply divides a model among
  /// threads.
  virtual void Update(const UpdateSpan& span, const UpdateStep& step) const = 0;
  /// What a device's own kernel computes instead.
  virtual RuleConstants Constants() const { return {}; }
  /// The same for a target; it must not outlive the rule. Throws Error for a device that this rule
  /// does not take.
  virtual std::unique_ptr<Kernel<UpdateCall>> MakeKernel(const Target& target) const;
  /// True if Update only computes values -= learning_rate * gradient_scale * gradient. Code that
  /// computes a gradient may then update the values directly.
  virtual bool IsPlainDescent() const { return false; }
  /// How far a gradient of length 1 moves the values in all, at a rate of 1: 1 / (1 - momentum). 0:
  /// steps hardly depend on the length of gradients.
  virtual double Reach() const { return 0; }
  /// The same rule where what one update used to do is divided among `times` of them: its averages
  /// last `times` as many updates. Null: it is its own (it keeps no averages, or tunes itself).
  virtual std::unique_ptr<UpdateRule> Spread(int /*times*/) const { return nullptr; }
  /// Moves the values as this many more updates with gradients of 0 would; decay and the state are
  /// left out. `step.step`: updates so far.
  virtual void ApplyMomentum(const UpdateSpan& /*span*/, const UpdateStep& /*step*/,
                             int /*updates*/) const {}
};

struct RuleEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [train] that belong to this rule.
  std::unique_ptr<UpdateRule> (*make)(const Options& options);
  double learning_rate = 0.01;  ///< Default of train.learning_rate.
  /// Learning rates that a planner compares, from the highest down; empty: the rule finds its own.
  std::vector<double> rates = {30, 10, 3, 1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001};
};
const std::vector<RuleEntry>& rules();

class CapturedUpdate;

/// A rule's state for one parameter layout: arrays packed and stored like the values, scalars, and
/// a step count for each row of row-sparse slices.
class RuleState {
 public:
  /// `stream`: of the device's kernels; null: its own.
  RuleState(const ParamLayout& layout, const UpdateRule& rule, Device& device,
            const Rounding& rounding = {}, Stream* stream = nullptr);
  ~RuleState();
  RuleState(RuleState&&) noexcept;
  RuleState& operator=(RuleState&&) noexcept;
  Array<float> array(int i) const { return AllOf<float>(arrays_[i]); }
  const std::vector<std::string>& names() const { return names_; }
  /// Number of updates so far of each row of a row-sparse slice; empty for other slices.
  Array<int32_t> row_steps(int slice) const { return AllOf<int32_t>(row_steps_[slice]); }
  /// The rule's scalars: of the model (without a head that is served apart), and of such a head.
  std::span<float> scalars() { return all_scalars().first(scalars_.size() / 2); }
  std::span<float> head_scalars() { return all_scalars().last(scalars_.size() / 2); }
  std::span<float> all_scalars() { return scalars_; }
  std::span<const float> all_scalars() const { return scalars_; }
  /// By slice of the layout, where not all are updated alike. Call it before the first update.
  void SetSlices(const ParamLayout& layout, std::vector<SliceSettings> settings);
  bool UpdatesAlike() const { return settings_.empty(); }
  SliceSettings Of(size_t slice) const {
    return settings_.empty() ? SliceSettings() : settings_[slice];
  }
  /// Of values and state that are stored in bf16.
  const Rounding& rounding() const { return rounding_; }
  /// On a device: the address of the scalars there, and an update's kernels. Null on the host.
  UpdateScalars* on_device() const { return on_device_.As<UpdateScalars>(); }
  Kernel<UpdateStart>* start() const { return start_.get(); }
  Kernel<UpdateCall>* update() const { return update_.get(); }
  /// Where the device's stream captures, of a rule that does not tune itself; else null.
  CapturedUpdate* captured() const { return captured_.get(); }
  /// On a device, where not all slices are updated alike: the dense ones that are not frozen.
  Array<const UpdatePart> parts() const { return AllOf<const UpdatePart>(parts_); }
  /// Memory in which the host reads them.
  HostCopy& scalars_copy() { return scalars_copy_; }
  int64_t bytes() const;  ///< Size of arrays, scalars and step counts.
  int64_t steps = 0;      ///< Updates applied to the dense part so far.

 private:
  std::vector<std::string> names_;
  Rounding rounding_;
  std::vector<SliceSettings> settings_;
  std::vector<Buffer> arrays_;
  std::vector<float> scalars_;
  std::vector<Buffer> row_steps_;
  Buffer on_device_, parts_;
  HostCopy scalars_copy_;
  std::unique_ptr<Kernel<UpdateStart>> start_;
  std::unique_ptr<Kernel<UpdateCall>> update_;
  std::unique_ptr<CapturedUpdate> captured_;
};

/// Slices [begin, end) of a layout; all of them by default.
struct SliceRange {
  static constexpr int kEnd = std::numeric_limits<int>::max();
  int begin = 0;
  int end = kEnd;
  bool Has(size_t slice) const {
    return static_cast<int>(slice) >= begin && static_cast<int>(slice) < end;
  }
};

/// Sets the gradients of frozen parameters to 0: of one slice, or of all.
void ClearFrozen(const ParamLayout& layout, const RuleState& state, int slice,
                 Gradients& gradients);
void ClearFrozen(const ParamLayout& layout, const RuleState& state, Gradients& gradients);

/// Euclidean norm of these slices' gradients (dense and touched rows).
double GradientNorm(const ParamLayout& layout, const Gradients& gradients,
                    const SliceRange& slices = {});

/// The facts that gradients tell; the state's and total_momentum are left out.
UpdateFacts FactsOf(const ParamLayout& layout, const Gradients& gradients, double gradient_scale,
                    const SliceRange& slices = {});

/// One update of the whole model, or of some slices: the dense part in one pass, row-sparse slices
/// row by row. Each row has its own step count; an untouched row neither decays nor ages. On a
/// device that holds values, gradients and state, the rule is the state's, and the update is there
/// in the order of Device::stream(); only for a rule with Scalars the host waits, once, for facts.
/// `clip_norm` <= 0: no clipping. Increments state.steps (or *steps).
struct ApplyRequest {
  const UpdateRule& rule;
  RuleState& state;
  const Gradients& gradients;
  double learning_rate = 0;
  double clip_norm = 0;
  double gradient_scale = 1;                  ///< Factor on the contents of `gradients`.
  SliceRange slices = {};                     ///< Other slices are neither read nor written.
  int64_t* steps = nullptr;                   ///< Step counter to use; null: state.steps.
  const UpdateRule* row_rule = nullptr;       ///< Rule of row-sparse slices; null: `rule`.
  std::span<float> scalars = {};              ///< The rule's to use; empty: state.scalars().
  std::optional<double> total_momentum = {};  ///< As in UpdateFacts.
};
/// Returns the step that was made, as the rule tuned it; a device may have clipped it.
UpdateStep Apply(ParamStore& params, const ApplyRequest& request);

/// The arithmetic of an update of `count` elements: values and the rule's arrays are read and
/// written, the gradient is read.
Cost CostOfUpdate(const RuleState& state, int64_t count);

/// Elements [begin, end) of `extent`, whole lines of a cache: the first thread has the first ones
/// and so on.
inline std::pair<int64_t, int64_t> ThreadPart(int64_t extent, int64_t thread, int64_t threads) {
  constexpr int64_t kLine = 16;
  const int64_t lines = RoundUp(extent, kLine) / kLine;
  return {kLine * (lines * thread / threads),
          std::min(extent, kLine * (lines * (thread + 1) / threads))};
}

/// Lets each thread of the caller's team touch its part of the values of every slice, the part that
/// it will update. For a new store, whose values are zeros still; small ones, and those that lie on
/// a device, are left alone. All else of this size is first written by the team's loops.
void TouchFirst(const ParamStore& params);

}  // namespace yoke
