// RoundSource: the steps dealt to a rank, as the examples of one round for an executor that updates
// in place.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "node/work_source.h"
#include "train/epoch_cursor.h"
#include "train/replica.h"
#include "train/rounds.h"

namespace yoke {

/// Steps of the epoch's plan that are dealt to a rank, one by one.
class DealtSteps {
 public:
  /// `next` asks for a range; it is not called again after an empty one.
  explicit DealtSteps(std::function<StepRange()> next) : next_(std::move(next)) {}
  /// The next step; none: the rank has done all.
  std::optional<int64_t> Peek();
  void Pop() { ++range_.begin; }

 private:
  std::function<StepRange()> next_;
  StepRange range_;
  bool over_ = false;
};

/// Goes on from step to step until the strategy exchanges or there are no more.
class RoundSource : public WorkSource {
 public:
  struct Settings {
    Replica& replica;
    EpochCursor& cursor;
    DealtSteps& steps;
    int64_t last = 0;  ///< The first step of the plan that is not this rank's; 0: not known.
    std::function<StrategyStep(int64_t)> of_step;             ///< Its settings, without examples.
    std::function<void(double loss, int64_t examples)> done;  ///< As WorkSource::Done.
  };
  /// Enters the first step, which there must be.
  explicit RoundSource(Settings settings);

  WorkRate Take(int64_t most, std::vector<int64_t>& examples) override;
  void Read(std::span<const int64_t> examples, Batch& batch) const override;
  int64_t Left() const override;
  void Done(double loss, int64_t examples) override { s_.done(loss, examples); }

  const ParamView& view() const { return view_; }     ///< For the whole round.
  const StrategyStep& step() const { return step_; }  ///< The one entered last.
  const std::vector<int64_t>& entered() const { return entered_; }

 private:
  void Enter(int64_t step);
  bool GoOn();
  bool NextIsAsLong();

  Settings s_;
  ParamView view_;
  StrategyStep step_;
  std::vector<int64_t> entered_;       // steps
  std::span<const int64_t> examples_;  // of the last step, not taken yet
};

}  // namespace yoke
