// Checkpoint: a folder with the model, the rule's state and the position in the data. It is written
// atomically: complete or absent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/epoch.h"
#include "data/reader.h"
#include "model/graph.h"
#include "optim/rule.h"
#include "train/checkpoint/safetensors.h"
#include "train/divergence.h"
#include "train/job/job.h"
#include "train/metrics.h"

namespace yoke {

/// The progress of training.
struct Position {
  int64_t epoch = 0;          ///< Epochs completed.
  int64_t step = 0;           ///< Total steps done.
  int64_t examples = 0;       ///< Examples of an epoch; 0 before any is read.
  Ranges consumed;            ///< Positions consumed in the current epoch.
  double loss_sum = 0;        ///< In the current epoch: sum of losses over examples,
  int64_t loss_examples = 0;  ///< and number of examples.
  double seconds = 0;         ///< Training time so far, including earlier sessions.
  double pauses = 0;          ///< Of these, spent on evaluations and checkpoints.
  double untrained_loss = 0;  ///< Loss of the run's first examples; 0: unknown.
  double best = 0;            ///< Best value of the watched metric so far; valid if has_best.
  bool has_best = false;
  int64_t stale = 0;     ///< Evaluations since the best one.
  int64_t plateaus = 0;  ///< How often these were the patience of schedule plateau.
  BestEvaluation best_evaluation = {};
  std::optional<Collapse> collapse = {};  ///< Of the last evaluation, if it shows one.
};

/// The contents of a checkpoint besides tensors: everything that eval, predict and resume need.
struct CheckpointHeader {
  Value job;      ///< The resolved job.
  DataInfo data;  ///< Shapes, label map, normalization.
  Position position;
  int64_t rule_steps = 0;  ///< RuleState::steps.
  Value executor;          ///< State of the executor and of the strategy.
  Value strategy;
  DataChecksum training = {};  ///< Of the training files; 0: unknown.
  Metrics test;                ///< Metrics of these weights, if known.
  std::string reason = {};  ///< Why the run ended with these weights ("finished", "target", ...);
                            ///< empty while it continues.
  bool good = true;         ///< Whether the last evaluation and losses are sane.
  /// Checksums of each rank's own state, by rank; empty if no rank has any.
  std::vector<std::string> replicas = {};
};

/// Encodes `checkpoint.json` from a header and the checksums of the two tensor files. DecodeHeader
/// does the reverse (throws UserError with the file).
std::string EncodeHeader(const CheckpointHeader& header, const std::string& model,
                         const std::string& optimizer);
struct DecodedHeader {
  CheckpointHeader header;
  std::string model;
  std::string optimizer;
};
DecodedHeader DecodeHeader(std::string bytes, const std::string& name);

struct CheckpointParts {
  const CheckpointHeader& header;
  const ParamLayout& layout;
  const float* values;
  const RuleState& state;
  std::vector<StateTensor> layers = {};  ///< Graph::StateTensors: the layers' state.
  int replicas = 0;                      ///< Ranks with their own state, and that state.
  std::function<std::vector<StoredTensor>(int rank)> own = {};
};

/// Where to write a checkpoint, and which others to keep.
struct CheckpointPlace {
  std::string run;    ///< The run directory.
  int keep = 2;       ///< Number of newest checkpoints to keep, besides the target of `run/best`.
  bool best = false;  ///< Also point `run/best` at this one.
};

/// A tensor of a checkpoint has a non-finite value: training has diverged.
class NotFiniteError : public Error {
  using Error::Error;
};

/// Writes `run/checkpoints/<step>/` atomically (temporary folder, fsync, rename), points `run/last`
/// at it and removes older ones according to `place`. If this one is not good, `run/good` points at
/// the last one that is, which is kept. Returns its folder. Throws Error on failure (full disk),
/// NotFiniteError with the tensor; the previous checkpoint stays valid.
std::string WriteCheckpoint(const CheckpointPlace& place, const CheckpointParts& parts);

/// Whether the file at `path` belongs to the checkpoint in its folder, if there is one.
bool IsPartOfCheckpoint(const std::string& path);

/// The end of a message when the run's folder cannot be written: what to do.
std::string HowToGoOn(const std::string& run);

/// The checkpoint folder for `path`: the path itself, or `last` of a run directory. Throws
/// UserError if it is neither.
std::string CheckpointFolder(const std::string& path);

/// The header alone of the checkpoint in `folder`. Throws UserError if it cannot be read.
CheckpointHeader ReadHeader(const std::string& folder);

/// A checkpoint with its header and weights read and verified; the rule's state is read on demand.
class Checkpoint {
 public:
  /// `folder` may be a link to it (`run/last`). Throws DamagedError (train/files.h) with the
  /// damaged file, UserError if it cannot be read or another version wrote it.
  static Checkpoint Open(const std::string& folder);
  const CheckpointHeader& header() const { return header_; }
  const std::string& folder() const { return folder_; }
  const Safetensors& model() const { return model_; }  ///< The weights, by `layer.parameter`.
  /// Copies the weights to a store. Names and shapes of the layout must match (UserError
  /// otherwise).
  void Load(ParamStore& params) const;
  /// The same for the rule's state. Returns false and copies nothing if the checkpoint has the
  /// state of another rule (a strategy may change the rule); the state then starts from zero.
  bool Load(const ParamLayout& layout, RuleState& state) const;
  /// Whether the rule has a state array of this name.
  bool HasState(const std::string& name) const;
  /// The same for the layers' state. Returns false and copies nothing if the checkpoint has other
  /// tensors (a layer's settings were changed); the state is then rebuilt.
  bool Load(const std::vector<StateTensor>& layers) const;
  /// A rank's own state. Throws DamagedError, UserError.
  Safetensors OpenOwn(int rank) const;
  /// Reads and verifies everything that Open does not. Throws UserError.
  void Verify() const;

 private:
  friend std::optional<Checkpoint> OpenNewest(const std::string& run);
  Checkpoint(std::string folder, DecodedHeader decoded, Safetensors model);
  /// Read and verified on first use.
  const Safetensors& Optimizer() const;

  std::string folder_;
  CheckpointHeader header_;
  std::string optimizer_checksum_;
  Safetensors model_;
  mutable std::optional<Safetensors> optimizer_;
};

/// The newest header of a run that is intact, if any. Changes nothing.
std::optional<CheckpointHeader> NewestHeader(const std::string& run);
/// The newest checkpoint of a run whose model and rule's state are intact, if any. Changes nothing.
std::optional<Checkpoint> OpenNewest(const std::string& run);

/// Prepares a run's folder for resuming: removes leftovers of a killed writer, renames checkpoints
/// that are newer than the newest intact one (reported in `messages`), points `last` at that one
/// and returns it; nothing if the run has none yet. Not intact: also values that are not finite,
/// in any replica, and a test loss that is impossible or exploded. Throws UserError and renames
/// nothing if all are damaged or one cannot be read.
std::optional<Checkpoint> RecoverNewest(const std::string& run, std::vector<std::string>& messages);

/// After a divergence: renames the checkpoints that are newer than the last good one to
/// `ruined-<step>`, points `last` at that one and returns its header; nothing if none is good.
std::optional<CheckpointHeader> FallBackToGood(const std::string& run);
/// The last good one if `last` is not good; "": it is, or there is none.
std::string GoodCheckpoint(const std::string& run);

/// Whether a key has the same value as in the checkpoint's job (or is absent in both).
bool SameKey(const Job& job, const CheckpointHeader& header, const char* section, const char* key);

/// Whether a checkpoint is from a job with the same strategy, rule and number of replicas, so that
/// its exact part applies.
bool GoesOnExactly(const Job& job, const CheckpointHeader& header);

/// Throws UserError with the run unless the training data are those of the checkpoint:
/// sizes, classes, inputs and labels.
void CheckSameData(const Job& job, const DataSets& sets, const CheckpointHeader& header,
                   const std::string& run);

}  // namespace yoke
