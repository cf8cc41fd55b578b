// Running statistics: how replicas agree on values that no gradient reaches.
#pragma once

#include "comm/communicator.h"
#include "kernels/vectors.h"
#include "params/store.h"

namespace yoke {

/// The running statistics at the end of packed values. A layer's forward pass moves those of the
/// values at which it computes.
class RunningStatistics {
 public:
  explicit RunningStatistics(const ParamLayout& layout)
      : begin_(layout.statistics_begin()), count_(layout.size() - begin_) {}

  int64_t begin() const { return begin_; }
  int64_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// Those of packed values.
  Values Of(Values packed) const { return packed.subspan(begin_, count_); }
  ConstValues Of(ConstValues packed) const { return packed.subspan(begin_, count_); }
  template <typename T>
  Array<T> Of(Array<T> packed) const {
    return packed.Part(begin_, begin_ + count_);
  }

  /// All ranks call it: their statistics become the mean over the ranks.
  void Average(const Communicator& world, Array<float> packed) const;
  /// Remembers those of a copy at which a gradient is about to be computed.
  void Remember(Array<const float> copy);
  /// Adds to `packed` `factor` times what has changed in the copy since.
  void AddChanges(Array<const float> copy, Array<float> packed, float factor = 1) const;
  /// Moves those of shared values, which other threads write too, by `fraction` towards `theirs`.
  static void MoveShared(Values ours, float fraction, ConstValues theirs);

 private:
  int64_t begin_, count_;
  Buffer before_;
};

}  // namespace yoke
