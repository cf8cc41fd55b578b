// UpdateRule: gradient -> new values, for a whole run of numbers or for touched rows only.
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/options.h"
#include "params/store.h"

namespace yoke {

inline constexpr int kMaxStateArrays = 2;

/// A run of numbers to update, with the rule's state arrays beside it.
struct UpdateSpan {
  float* values = nullptr;
  const float* gradient = nullptr;
  std::array<float*, kMaxStateArrays> state = {};
  int64_t count = 0;
};

/// What holds for one step.
struct UpdateStep {
  double learning_rate = 0;
  int64_t step = 1;           ///< 1 for the first update of these numbers (a row counts its own).
  double gradient_scale = 1;  ///< Gradients are multiplied by it first (clipping).
};

/// Stateless: the arrays belong to the caller (RuleState).
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Names of the state arrays, each as long as the values and zero at first: {"momentum"}, {"m",
  /// "v"}.
  virtual std::vector<std::string> StateNames() const = 0;
  /// Updates a run in one pass over memory, in the calling thread: Apply divides a model among
  /// threads.
  virtual void Update(const UpdateSpan& span, const UpdateStep& step) const = 0;
  /// values -= learning_rate * gradient_scale * gradient is all that Update does: whoever computes
  /// a gradient may move the values on the spot.
  virtual bool IsPlainDescent() const { return false; }
};

struct RuleEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [train] that belong to this rule.
  std::unique_ptr<UpdateRule> (*make)(const Options& options);
};
const std::vector<RuleEntry>& rules();

/// A rule's state for one parameter layout: arrays packed like the values, and a step count for
/// each row of row-sparse slices.
class RuleState {
 public:
  RuleState(const ParamLayout& layout, const UpdateRule& rule, Device& device);
  float* array(int i) const { return arrays_[i].As<float>(); }
  const std::vector<std::string>& names() const { return names_; }
  /// Updates of each row of a row-sparse slice so far; empty for other slices.
  std::vector<int32_t>& row_steps(int slice) { return row_steps_[slice]; }
  const std::vector<int32_t>& row_steps(int slice) const { return row_steps_[slice]; }
  int64_t bytes() const;  ///< Of arrays and clocks.
  int64_t steps = 0;      ///< Updates applied to the dense part so far.

 private:
  std::vector<std::string> names_;
  std::vector<Buffer> arrays_;
  std::vector<std::vector<int32_t>> row_steps_;
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

/// Euclidean norm of these slices' gradients (dense and touched rows).
double GradientNorm(const ParamLayout& layout, const Gradients& gradients,
                    const SliceRange& slices = {});

/// One update of the whole model, or of some slices: the dense part in one pass, row-sparse slices
/// row by row, each row with its own clock (an untouched row neither decays nor ages). `clip_norm`
/// <= 0: no clipping. Advances state.steps (or *steps).
struct ApplyRequest {
  const UpdateRule& rule;
  RuleState& state;
  const Gradients& gradients;
  double learning_rate = 0;
  double clip_norm = 0;
  double gradient_scale = 1;  ///< The gradient is this times what `gradients` holds.
  SliceRange slices = {};     ///< Nothing else is read or written.
  int64_t* steps = nullptr;   ///< Counts these updates; null: state.steps.
};
void Apply(ParamStore& params, const ApplyRequest& request);

}  // namespace yoke
