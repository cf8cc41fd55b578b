// OuterSum: the mean change of the replicas that meet, summed while they wait or beside training.
#pragma once

#include <vector>

#include "strategy/compress.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/strategy.h"

namespace yoke::strategy {

/// One sum at a time. All functions are called by all ranks in the same order.
class OuterSum {
 public:
  struct Settings {
    CompressionSettings compression = {};
    bool beside = false;  ///< A side thread sums.
  };
  OuterSum(const Settings& settings, const StrategyContext& context);

  /// For parts of the weights of at most so many elements.
  void Allocate(int64_t largest);
  void Prepare();
  /// Begins to sum (x_0 - x_i) / ranks over the ranks, for the part of the weights that begins at
  /// `offset`, and with it the mean of the running statistics if it is asked for.
  void Begin(Array<const float> x_0, Array<const float> x_i, int64_t offset, bool with_statistics);
  /// Waits for the sum.
  void Wait() { thread_.Wait(); }
  /// The mean change of a part of `count` elements. After Wait.
  Array<const float> Change(int64_t count) const { return AllOf<float>(change_).First(count); }
  /// The mean of the running statistics when the sum began. After Wait.
  Array<const float> Statistics() const { return AllOf<float>(statistics_sum_); }

  Traffic traffic() const { return thread_.traffic(); }  ///< Of the side thread.
  double seconds_waited() const { return seconds_waited_ + thread_.seconds_waited(); }
  /// What a checkpoint keeps: the error of the compression, and the sum if training goes on beside.
  void SaveIn(std::vector<Strategy::SavedTensor>& saved);
  void Finish() { thread_.Finish(); }
  void Abandon() { thread_.Abandon(); }

 private:
  void Sum(const Communicator& world, Array<float> change, int64_t offset);

  StrategyContext context_;
  const bool beside_;
  Compressor compressor_;
  RunningStatistics statistics_;
  Buffer change_, statistics_sum_;
  bool with_statistics_ = false;
  double seconds_waited_ = 0;  // on the training thread
  SideThread thread_;          // last: it ends first
};

}  // namespace yoke::strategy
