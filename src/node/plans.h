// Plans: a graph's training plans by batch size, for one caller; and a head that the caller
// computes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/executor.h"

namespace yoke {

/// As in CompileRequest.
struct PlanSettings {
  bool immediate = false;
  GraphPart part = GraphPart::kWhole;
  CutAt cut = CutAt::kFullyConnected;
  const ParamLayout* layout = nullptr;
  Target target = {};
};

class Plans {
 public:
  /// The plan for batch size `usual` is always kept.
  Plans(const ExecutorContext& context, int64_t usual, PlanSettings settings = {});
  /// The plan for `batch` examples, compiled on first use; valid until the next call.
  GraphPlan& For(int64_t batch);
  /// The same, prepared for this batch.
  GraphPlan& For(const Batch& batch) {
    GraphPlan& plan = For(batch.size);
    plan.Prepare(batch);
    return plan;
  }
  /// For the last plan returned: the layer where values became non-finite, or "".
  std::string FirstNonFinite() const { return last_ ? last_->FirstNonFinite() : ""; }

 private:
  struct Sized {
    int64_t batch = 0;
    std::unique_ptr<GraphPlan> plan;
  };

  void MakeRoom(int64_t batch);

  const ExecutorContext& context_;
  int64_t usual_;
  PlanSettings settings_;
  std::vector<Sized> plans_;
  GraphPlan* last_ = nullptr;
};

/// The result of a step without examples: the gradient is zero.
StepResult StepOfNothing(const ParamView& params, const GradientReady& ready);
/// Announces all slices with a gradient, in backward order.
void AnnounceAll(const ParamLayout& layout, const GradientReady& ready);

/// The head of the context's graph that a strategy may serve; none if the graph has no cut. The
/// offer is valid as long as the graph.
std::optional<HeadOffer> OfferHead(const ExecutorContext& context);

}  // namespace yoke
