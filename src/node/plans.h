// Plans: a graph's training plans by batch size, for one caller.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "node/executor.h"

namespace yoke {

class Plans {
 public:
  /// `usual` is the batch size whose plan is always kept; `immediate` and `part`: see
  /// CompileRequest.
  Plans(const ExecutorContext& context, int64_t usual, bool immediate = false,
        GraphPart part = GraphPart::kWhole);
  /// The plan for `batch` examples, compiled when it is new; valid until the next call.
  GraphPlan& For(int64_t batch);
  /// Of the plan asked for last: the layer where a loss ceased to be finite, or "".
  std::string FirstNonFinite() const { return last_ ? last_->FirstNonFinite() : ""; }

 private:
  struct Sized {
    int64_t batch = 0;
    std::unique_ptr<GraphPlan> plan;
  };

  const ExecutorContext& context_;
  int64_t usual_;
  bool immediate_;
  GraphPart part_;
  std::vector<Sized> plans_;
  GraphPlan* last_ = nullptr;
};

/// The step of no examples: the gradient is zero.
StepResult StepOfNothing(const ParamView& params, const GradientReady& ready);
/// Tells of all slices with a gradient, in the order of a backward pass.
void AnnounceAll(const ParamLayout& layout, const GradientReady& ready);

}  // namespace yoke
