// Scorer: forward passes of a graph where its values lie, with the scores on the host.
#pragma once

#include <memory>
#include <span>

#include "model/graph.h"

namespace yoke {

/// Has a stream of its own, so several work on a device at the same time. One caller at a time.
class Scorer {
 public:
  /// Compiles for batches of `request.batch` examples on `request.target.device`.
  Scorer(const Graph& graph, CompileRequest request);

  /// The scores [batch, outputs] once they are there, for the caller to change; valid until the
  /// next call.
  std::span<float> Forward(const Batch& batch, const ParamView& params);
  /// GraphPlan::Loss.
  double Loss() const { return plan_->Loss(); }

 private:
  Device& device_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<GraphPlan> plan_;
  Buffer copy_;  // of another device's scores
};

}  // namespace yoke
