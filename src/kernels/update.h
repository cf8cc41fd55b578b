// Update: what an update of values by a rule is told: elements, settings of the step, and the
// rule's formula, for kernels of devices.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>

namespace yoke {

inline constexpr int kMaxStateArrays = 2;

/// A contiguous run of elements to update, with the matching state arrays.
struct UpdateSpan {
  float* values = nullptr;
  const float* gradient = nullptr;
  std::array<float*, kMaxStateArrays> state = {};
  int64_t count = 0;
  bool rounded = false;  ///< Values and state are rounded to bf16 after each update.
};

/// Settings of one step.
struct UpdateStep {
  double learning_rate = 0;
  int64_t step = 1;  ///< 1 for the first update of these elements; each row counts its own.
  double gradient_scale = 1;  ///< Factor applied to gradients first (clipping).
  double momentum = 0;        ///< Set by Tune, for rules that tune it.
  /// The rate of decoupled decay, if it is not the learning rate.
  std::optional<double> decay_rate = {};
  double decay = 1;  ///< Factor on the rule's weight decay.
};

/// How the updates of one parameter differ from the job's.
struct SliceSettings {
  double rate = 1;   ///< Factor on the learning rate; 0: frozen, neither value nor state changes.
  double decay = 1;  ///< Factor on the rule's weight decay.

  constexpr bool frozen() const { return rate == 0; }
  constexpr UpdateStep Of(UpdateStep step) const {
    step.learning_rate *= rate;
    if (step.decay_rate) *step.decay_rate *= rate;
    step.decay *= decay;
    return step;
  }
  bool operator==(const SliceSettings&) const = default;
};

/// Sums of squares, as far as an update needs them.
struct UpdateSquares {
  double gradient = 0;  ///< Of all gradients, not scaled.
  double state = 0;     ///< As UpdateFacts::state_square.
};

/// What kernels of an update read on a device: no launch but UpdateStart's differs from step to
/// step.
struct UpdateScalars {
  double stop = 0;        ///< Not 0: nothing changes any more.
  UpdateSquares squares;  ///< If gradients are clipped, or the rule tunes itself.
  UpdateStep step;
};

/// Sets scalars->step, clipped by squares.gradient to `clip_norm` (0: not).
struct UpdateStart {
  UpdateScalars* scalars = nullptr;
  UpdateStep step;
  double clip_norm = 0;
  bool starts = true;  ///< False: clips the step that is there.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(scalars);
  }
};

/// Elements [begin, end) of the packed buffer, which are updated alike.
struct UpdatePart {
  int64_t begin = 0;
  int64_t end = 0;
  SliceSettings settings;
};

/// One run, or touched rows, as a device's kernel gets it.
struct UpdateCall {
  UpdateSpan span;  ///< With `ids`: of row 0, with the gradients of all rows [rows, span.count].
  const UpdateScalars* scalars = nullptr;
  SliceSettings settings = {};
  /// Where parts of a run differ: those of the packed buffer, in order, instead of `settings`. What
  /// is in none of them stays as it is.
  const UpdatePart* parts = nullptr;
  int64_t part_count = 0;
  int64_t first = 0;  ///< With `parts`: the run's first element in the packed buffer.
  int64_t rows = 0;
  /// Where the device counts the rows: their number, at most `rows`. Null: it is `rows`.
  const int64_t* counted = nullptr;
  const int32_t* ids = nullptr;  ///< [rows]: each once. Null: a run.
  int32_t* steps = nullptr;      ///< Of each row of the slice; those of touched rows go on by 1.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(span.values, span.gradient, scalars, parts, counted, ids, steps);
    for (float*& state : span.state) reach(state);
  }
  /// For who reads it where the rows lie.
  constexpr int64_t Rows() const { return counted ? *counted : rows; }
};

/// A rule's arithmetic.
enum class UpdateFormula : uint8_t {
  kNone,  ///< Only on the host.
  kSgd,
  kMomentum,
  kAdam,
  kAdagrad,
  kRmsProp,
  kLion,
  kYellowFin,
};

/// A rule's formula and its numbers, as far as it has them (src/optim/rules).
struct RuleConstants {
  UpdateFormula formula = UpdateFormula::kNone;
  double decay = 0;            ///< This times the value is added to the gradient.
  double decoupled_decay = 0;  ///< This times rate and value is subtracted from the value.
  double beta1 = 0;            ///< Of the first state array; a momentum.
  double beta2 = 0;
  double epsilon = 0;
  float direct = 0, along = 1, gain = 1;  ///< Of momentum (rules/momentum.cc).
  bool sums_steps = false;
  float most = std::numeric_limits<float>::max();  ///< Of Adam: |m| <= most sqrt(v).
};

}  // namespace yoke
