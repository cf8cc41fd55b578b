// Stages: a graph's layers compiled for one batch size, each with its place in memory.
#pragma once

#include <vector>

#include "model/graph_node.h"
#include "tensor/active_set.h"

namespace yoke {

/// Where one input of a stage comes from, and where its gradient goes.
struct Source {
  int stage = kData;     ///< A stage before this one, or kData.
  Tensor gradient = {};  ///< Null data when nobody wants it.
  bool adds =
      false;  ///< Another reader wrote the stage's gradient before: the plan adds this to it.
};

/// One compiled layer, or a conversion of scores to plain f32.
struct Stage {
  const GraphNode* node = nullptr;  ///< The layer; for a conversion the one it works for.
  bool converts = false;
  bool trained = false;  ///< It or a stage below has a parameter: Backward runs.
  std::unique_ptr<LayerPlan> plan;
  std::vector<Source> sources;
  Tensor output = {};    ///< Null data where it is the batch's own (OnData).
  Tensor gradient = {};  ///< Of the output; null data when nobody wants it.
  Tensor more = {};      ///< A second part of it, where the plan adds both.
  void* saved = nullptr;
  std::vector<ParamRef> params = {};
  ActiveSet active = {};  ///< The output where its edge is active.
};

/// The stages of a plan in the order in which Forward runs them, and the memory they share.
struct Stages {
  std::vector<Stage> list;
  std::vector<int> losses;   ///< Stages; the last one is the main loss. Empty below an output.
  int scores = 0;            ///< The stage that gives them in plain f32.
  Tensor cut_gradient = {};  ///< GraphPlan::CutGradient.
  void* scratch = nullptr;
  Buffer memory;               ///< None before Allocate.
  int64_t bytes = 0;           ///< Of it.
  int64_t unshared_bytes = 0;  ///< What they would take with no memory shared.
};

/// Whether a stage's output is the batch's own memory (a flatten of the data).
bool OnData(const std::vector<Stage>& stages, int stage);

/// What flows along an edge for a whole batch.
Tensor TensorOf(const Edge& edge, int64_t batch, void* data);

/// Compiles the nodes that the request needs: for training all (of its part), else those below the
/// scores (and the main loss). Places in memory are known, and there is none until Allocate: who
/// asks for sizes and kernels only takes none.
Stages MakeStages(const std::vector<GraphNode>& nodes, const ParamLayout& layout, const Edge& input,
                  const CompileRequest& request);

/// Takes the memory; nothing where it is there.
void Allocate(Stages& stages);

}  // namespace yoke
