// Checkpoint: a folder with the model, the rule's state and the position in the data, written so
// that it is whole or absent.
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
#include "train/job.h"
#include "train/metrics.h"
#include "train/safetensors.h"

namespace yoke {

/// Where training stands.
struct Position {
  int64_t epoch = 0;          ///< Epochs completed.
  int64_t step = 0;           ///< Steps done in all.
  int64_t examples = 0;       ///< Examples of an epoch; 0 before any is read.
  Ranges consumed;            ///< Of the epoch under way.
  double loss_sum = 0;        ///< Of the epoch under way: sum of losses over examples,
  int64_t loss_examples = 0;  ///< and how many.
  double seconds = 0;         ///< Training time so far, over all resumptions.
  double untrained_loss = 0;  ///< Of the run's first examples; 0: not known.
  double best = 0;            ///< Best value of the watched metric so far; valid when has_best.
  bool has_best = false;
};

/// What a checkpoint holds besides tensors: all that eval, predict and resume need.
struct CheckpointHead {
  Value job;      ///< The resolved job.
  DataInfo data;  ///< Shapes, label map, normalization.
  Position position;
  int64_t rule_steps = 0;  ///< RuleState::steps.
  Value executor;          ///< State of the executor and of the strategy.
  Value strategy;
  Metrics test;             ///< Metrics of these weights, when known.
  std::string reason = {};  ///< Why the run ended with these weights ("finished", "target", ...);
                            ///< empty while it goes on.
  /// Checksums of what each rank had of its own, by rank; empty where nobody had anything.
  std::vector<std::string> replicas = {};
};

/// `checkpoint.json` of a head and of the checksums of the two tensor files; and back (throws
/// UserError naming the file).
std::string EncodeHead(const CheckpointHead& head, const std::string& model,
                       const std::string& optimizer);
struct DecodedHead {
  CheckpointHead head;
  std::string model;
  std::string optimizer;
};
DecodedHead DecodeHead(std::string bytes, const std::string& name);

struct CheckpointParts {
  const CheckpointHead& head;
  const ParamLayout& layout;
  const float* values;
  const RuleState& state;
  std::vector<StateTensor> layers = {};  ///< Graph::StateTensors: what layers keep between steps.
  int replicas = 0;                      ///< How many ranks have something of their own, and what.
  std::function<std::vector<StoredTensor>(int rank)> own = {};
};

/// What to do with a checkpoint's neighbours.
struct CheckpointPlace {
  std::string run;    ///< The run directory.
  int keep = 2;       ///< How many of the newest stay (besides the one `run/best` points at).
  bool best = false;  ///< Point `run/best` at this one as well.
};

/// Writes `run/checkpoints/<step>/` atomically (temporary folder, fsync, rename), points `run/last`
/// at it and removes older ones as `place` says. Returns its folder. On failure (full disk) throws
/// Error; the previous one stays good.
std::string WriteCheckpoint(const CheckpointPlace& place, const CheckpointParts& parts);

/// What to do when the run's folder cannot be written, as the end of a sentence.
std::string HowToGoOn(const std::string& run);

/// A checkpoint whose head and weights were read and checked; the rule's state is read when it is
/// asked for.
class Checkpoint {
 public:
  /// `folder` may be a link to it (`run/last`). Throws DamagedError (train/files.h) naming the file
  /// and its damage, UserError where it cannot be read or another version wrote it.
  static Checkpoint Open(const std::string& folder);
  const CheckpointHead& head() const { return head_; }
  const std::string& folder() const { return folder_; }
  /// Copies the weights into a store whose layout must match by names and shapes (UserError
  /// otherwise).
  void Load(ParamStore& params) const;
  /// The same for the rule's state; false, and nothing is copied, where the checkpoint holds
  /// another one's (a strategy may change a rule): it starts anew.
  bool Load(const ParamLayout& layout, RuleState& state) const;
  /// The same for what layers keep; false, and nothing is copied, where the checkpoint holds other
  /// tensors (a layer was told other settings: it starts anew).
  bool Load(const std::vector<StateTensor>& layers) const;
  /// What a rank had of its own. Throws DamagedError, UserError.
  Safetensors OpenOwn(int rank) const;
  /// Reads and checks what Open leaves out. Throws UserError.
  void Verify() const;

 private:
  Checkpoint(std::string folder, DecodedHead decoded, Safetensors model);
  /// Read and checked when it is first asked for.
  const Safetensors& Optimizer() const;

  std::string folder_;
  CheckpointHead head_;
  std::string optimizer_checksum_;
  Safetensors model_;
  mutable std::optional<Safetensors> optimizer_;
};

/// What the newest checkpoint of a run says, where a head of one is whole. Changes nothing.
std::optional<CheckpointHead> NewestHead(const std::string& run);

/// Makes a run's folder ready to go on: removes what a killed writer left, gives checkpoints newer
/// than the newest good one other names (said in `messages`), points `last` at that one and returns
/// it; nothing when the run has none yet. Throws UserError, and renames nothing, when all are
/// damaged or one cannot be read.
std::optional<Checkpoint> RecoverNewest(const std::string& run, std::vector<std::string>& messages);

}  // namespace yoke
