// Racing: lock-free updates of values that other threads read and write at the same time.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "optim/rule.h"

namespace yoke {

/// The learning rate of one of the `parts` updates that take the place of one at `rate`, for values
/// that a fraction `touched` of all updates change. A rule whose steps follow the length of
/// gradients: rate / parts. Others (Adam) step about as far in each update, and steps of noisy
/// gradients add up by the root of their number (Malladi et al., "On the SDEs and Scaling Rules for
/// Adaptive Gradient Algorithms", 2022): rate / sqrt(1 + (parts - 1) touched), by how many of them
/// change the values if one does.
double RateOfPart(const UpdateRule& rule, double rate, double parts, double touched = 1);

/// The rate of decoupled decay, which does not depend on gradients: the decays of the updates that
/// change the values add up to that of one at `rate`.
double DecayRateOfPart(double rate, double parts, double touched = 1);

/// Hogwild's unlocked writes happen in two places: here (threads of an executor, or of a server
/// that replicas push to), and, for plain SGD, in the products of linear layers, which add directly
/// to the weights (kernels/shared.h, oneDNN). All other code only reads the shared weights, except
/// that each training pass updates batch normalization's running statistics by relaxed atomic reads
/// and writes (kernels/batch_norm/reference.cc). Niu, Recht, Re, Wright, "Hogwild!" (2011).
///
/// Why the races are harmless:
/// - A value is 32 bits at an address divisible by 4, or 16 bits at an even one. x86 and ARM read
///   and write it atomically, also as an element of a vector, so no torn value is read.
/// - When two threads update a value at the same time, one update may be lost: one small step less,
///   of a gradient that is noisy anyway.
/// - One state value of a rule may be lost while another is kept. Adam bounds its step by the
///   remaining one (rules/adam.cc); of YellowFin's two only one moves values, the other is a
///   mean; the other rules have a single state value.
/// - A gradient is computed at values that change during the pass. Between a thread's read of a
///   value and its write, the other threads make at most the updates of one small batch's time: a
///   staleness of about the number of threads, which the method's proof allows.
/// - No index, size, pointer or branch depends on these values.
///
/// Locked, no update is lost: a lock for each run of values keeps others from writing it. Reading
/// still takes none.
///
/// It is still undefined behaviour in C++. The few functions that touch shared values are compiled
/// as plain loops and marked for the thread sanitizer, which checks everything else.
class RacingUpdates {
 public:
  /// `row_rule`: of row-sparse slices; null: `rule`. `locked`: no update is lost.
  RacingUpdates(const ParamLayout& layout, const UpdateRule& rule, RuleState& state,
                const UpdateRule* row_rule = nullptr, bool locked = false)
      : layout_(layout),
        rule_(rule),
        row_rule_(row_rule ? *row_rule : rule),
        state_(state),
        locks_(locked ? kLocks : 0) {}

  /// Before an update of all slices by a rule that tunes itself: the step to apply. Sums are taken
  /// beside the others' writes, the rule's scalars change under a lock.
  UpdateStep Tune(const UpdateStep& step, const Gradients& gradients,
                  std::optional<double> total_momentum = {});
  /// Updates one slice, either all of it or only touched rows; each row counts its own steps.
  /// `step` counts all updates, and has the rate of `parts` of them together.
  void Apply(int slice, float* values, const Gradients& gradients, UpdateStep step,
             double parts = 1);

 private:
  static constexpr size_t kLocks = 256;

  std::unique_lock<std::mutex> LockRun(int64_t offset);
  int32_t CountRow(int slice, int64_t row, int64_t offset);
  void ApplyRow(int index, float* values, const float* gradient, int64_t row,
                const UpdateStep& step);
  void ApplyRun(const UpdateRule& rule, float* values, const float* gradient, int64_t offset,
                int64_t count, const UpdateStep& step);
  float* StateAt(size_t array, int64_t offset) const {
    return state_.array(static_cast<int>(array)).Host().data() + offset;
  }

  const ParamLayout& layout_;
  const UpdateRule& rule_;
  const UpdateRule& row_rule_;
  RuleState& state_;
  std::mutex scalars_;             // of the state
  std::vector<std::mutex> locks_;  // of runs, which share them; empty: none are taken
};

}  // namespace yoke
