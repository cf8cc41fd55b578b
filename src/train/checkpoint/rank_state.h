// Rank state: sends each rank's own part of a checkpoint to rank 0, which writes it, and back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "train/replica.h"

namespace yoke {

/// Returns rank 0's text on every rank.
std::string BroadcastText(const Communicator& world, std::string text);

/// Returns rank 0's header on every rank; nothing if there is no checkpoint.
std::optional<CheckpointHeader> BroadcastHeader(const Communicator& world,
                                                const Checkpoint* checkpoint);

/// Restores each rank's own state from rank 0's checkpoint (or null) if the job continues it
/// exactly; otherwise does nothing. All ranks call it.
void RestoreRankState(const Communicator& world, const Checkpoint* checkpoint, const Job& job,
                      Replica& replica);

/// Sends a rank's own tensors to rank 0 when it asks for them.
void SendRankState(const Communicator& world, Replica& replica);

/// Rank 0's side of SendRankState: asks for the tensors of one rank after the other.
class RankStateCollector {
 public:
  RankStateCollector(const Communicator& world, Replica& replica)
      : world_(world), replica_(replica) {}
  /// By increasing rank. Valid until the next call.
  std::vector<StoredTensor> Of(int rank);

 private:
  Communicator world_;
  Replica& replica_;
  int asked_ = 0;  // ranks up to this one
  std::optional<Safetensors> file_;
};

}  // namespace yoke
