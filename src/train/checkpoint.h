// Checkpoint: a folder with the model, the rule's state and the position in the data, written so that it is whole or absent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/epoch.h"
#include "data/reader.h"
#include "model/graph.h"
#include "optim/rule.h"
#include "train/job.h"
#include "train/metrics.h"

namespace yoke {

/// Where training stands.
struct Position {
  int64_t epoch = 0;  ///< Epochs completed.
  int64_t step = 0;   ///< Steps done in all.
  Ranges consumed;    ///< Of the epoch under way.
  double loss_sum = 0;        ///< Of the epoch under way: sum of losses over examples,
  int64_t loss_examples = 0;  ///< and how many.
  double seconds = 0;         ///< Training time so far, over all resumptions.
  double best = 0;            ///< Best value of the watched metric so far; valid when has_best.
  bool has_best = false;
};

/// What a checkpoint holds besides tensors: all that eval, predict and resume need.
struct CheckpointHead {
  Value job;       ///< The resolved job.
  DataInfo data;   ///< Shapes, label map, normalization.
  Position position;
  Value executor;  ///< State of the executor and of the strategy.
  Value strategy;
  Metrics test;    ///< Metrics of these weights, when known.
};

/// Writes `run/checkpoints/<step>/` atomically (temporary folder, fsync, rename), points `run/last` at it and removes all but the
/// newest `keep` (never the one `run/best` points at). On failure (full disk) throws Error; the previous one stays good.
struct CheckpointParts {
  const CheckpointHead& head;
  const ParamLayout& layout;
  const float* values;
  const RuleState* state;
};
std::string WriteCheckpoint(const std::string& run, const CheckpointParts& parts, int keep);

/// A checkpoint read and checked (sizes, checksums). Throws UserError naming file and damage.
class Checkpoint {
 public:
  static Checkpoint Open(const std::string& folder);
  const CheckpointHead& head() const { return head_; }
  /// Copies the weights into a store whose layout must match by names and shapes (UserError otherwise).
  void Load(ParamStore& params) const;
  /// The same for the rule's state.
  void Load(const ParamLayout& layout, RuleState& state) const;

 private:
  std::string folder_;
  CheckpointHead head_;
};

/// The newest good checkpoint of a run, or "" when there is none; damaged ones are skipped and told in `messages`.
std::string NewestGood(const std::string& run, std::vector<std::string>& messages);

}  // namespace yoke
