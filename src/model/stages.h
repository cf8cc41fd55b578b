// Stages: a graph's layers compiled for one batch size, with their memory.
#pragma once

#include <vector>

#include "model/graph_node.h"
#include "tensor/active_set.h"

namespace yoke {

/// Origin of one input of a stage, and destination of its gradient.
struct Source {
  int stage = kData;     ///< A stage before this one, or kData.
  Tensor gradient = {};  ///< Null data if not needed.
  bool adds = false;  ///< Another reader has already written the stage's gradient, so this one is
                      ///< added to it.
};

/// One compiled layer, or a conversion of scores to plain f32.
struct Stage {
  /// The layer; for a conversion, the layer whose scores it converts.
  const GraphNode* node = nullptr;
  bool converts = false;
  bool trained = false;  ///< This stage or one below has parameters, so Backward runs.
  std::unique_ptr<LayerPlan> plan;
  bool in_place = false;  ///< The plan is FullyConnected::PlanInPlace.
  std::vector<Source> sources;
  Tensor output = {};    ///< Null data if it is the batch's own memory (OnData).
  Tensor gradient = {};  ///< Gradient of the output; null data if not needed.
  Tensor more = {};      ///< A second part of the gradient, if the plan adds both.
  void* saved = nullptr;
  std::vector<ParamRef> params = {};
  ActiveSet active = {};  ///< The output if its edge is active.
};

/// The stages of a plan in forward order, and their shared memory.
struct Stages {
  std::vector<Stage> list;
  /// Stage indices; the last one is the main loss. Empty for below_output.
  std::vector<int> losses;
  int scores = 0;            ///< The stage that outputs the scores in plain f32.
  Tensor cut_gradient = {};  ///< GraphPlan::CutGradient.
  void* scratch = nullptr;
  Buffer memory;               ///< Empty before Allocate.
  int64_t bytes = 0;           ///< Size of `memory`.
  int64_t unshared_bytes = 0;  ///< Size without shared memory.
};

/// Whether a stage's output is the batch's own memory (a flatten of the data).
bool OnData(const std::vector<Stage>& stages, int stage);

/// The tensor of an edge for a whole batch.
Tensor TensorOf(const Edge& edge, int64_t batch, void* data);

/// Compiles the nodes that the request needs: for training all nodes of its part, otherwise only
/// the scores, the main loss and the nodes below them. Offsets are assigned, but memory is
/// allocated only by Allocate, so sizes and kernels can be queried without it.
Stages MakeStages(const std::vector<GraphNode>& nodes, const ParamLayout& layout, const Edge& input,
                  const CompileRequest& request);

/// Allocates the memory on the target's device, unless it is already allocated.
void Allocate(Stages& stages, const Target& target);

}  // namespace yoke
