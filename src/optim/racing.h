// Racing: updates of values that other threads read and write at the same time, without a lock.
#pragma once

#include "optim/rule.h"

namespace yoke {

/// Unlocked writes of Hogwild's updates happen here (threads of an executor, or of a server that
/// replicas push to), and, by plain descent, in the products of linear layers, which add to the
/// weights themselves (kernels/shared.h, oneDNN). Passes over the shared weights otherwise only
/// read them, but for batch normalization's running statistics, which each training pass moves by
/// relaxed atomic reads and writes (kernels/batch_norm.cc). Niu, Recht, Re, Wright, "Hogwild!"
/// (2011).
///
/// Why the races are harmless:
/// - A number is 32 bits at an address divisible by 4, which x86 and ARM read and write whole: what
///   is read was written by somebody (no torn number), in a vector of numbers each one for itself.
/// - Two threads that update a number at once may lose one of the updates: one small step fewer, of
///   a gradient that is noise around its mean anyway.
/// - Of the numbers of a rule's state one may be lost and another not: Adam bounds its step by what
///   is left (rules/adam_family.cc), the other rules have one number.
/// - A gradient is taken at values that change during the pass. Between a thread's read of a number
///   and its write lie at most the updates that the other threads make in the time of one small
///   batch: a staleness of about the number of threads, which the method's proof allows.
/// - Nothing is decided by these numbers (no index, no size, no pointer).
/// The language calls it undefined all the same; the functions that touch shared numbers are few,
/// compiled as plain loops, and marked for the thread sanitizer, which sees everything else.
class RacingUpdates {
 public:
  RacingUpdates(const ParamLayout& layout, const UpdateRule& rule, RuleState& state)
      : layout_(layout), rule_(rule), state_(state) {}

  /// One slice's update, dense or by touched rows; a row counts its own steps.
  void Apply(int slice, float* values, const Gradients& gradients, UpdateStep step);

 private:
  void ApplyRun(float* values, const float* gradient, int64_t offset, int64_t count,
                const UpdateStep& step);

  const ParamLayout& layout_;
  const UpdateRule& rule_;
  RuleState& state_;
};

}  // namespace yoke
