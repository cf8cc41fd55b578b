// TimedModel: what the ranks of a simulation of times share. In place of the job's model stands a
// shrunken one of a few elements a slice, whose messages and arithmetic are billed at full size, so
// that a hundred thousand ranks fit into a machine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "node/charged_executor.h"
#include "optim/rule.h"
#include "strategy/strategy.h"
#include "train/job/job.h"

namespace yoke {

struct TimedModel {
  /// For so many ranks. Throws UserError for executors other than `single` and the CPU's `split`,
  /// and for models with slices of which a step touches some rows only, because their number
  /// depends on the data.
  TimedModel(const Job& job, const DataInfo& data, int ranks);

  const Graph graph;
  const std::shared_ptr<const LayerOperations> layers;
  const std::unique_ptr<UpdateRule> rule;
  std::vector<std::string> devices;
  ParamLayout layout;  ///< Shrunken.
  double scale = 1;    ///< Elements of the model for one of the layout.
  std::optional<HeadOffer> head;
  Batch batch;  ///< Has a size and nothing else.
  /// Announces gradients that it does not compute.
  std::shared_ptr<Executor> executor;

  /// Bytes of a checkpoint: the values and the rule's state.
  double CheckpointBytes() const;
};

}  // namespace yoke
