// Own: what each rank alone has of a checkpoint, on its way to rank 0, which writes it, and back.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "train/replica.h"

namespace yoke {

/// Rank 0's text, on every rank.
std::string ShareText(const Communicator& world, std::string text);

/// Rank 0's head (null: there is no checkpoint), on every rank.
std::optional<CheckpointHead> ShareHead(const Communicator& world, const Checkpoint* checkpoint);

/// What each rank had of its own comes back to it, where rank 0's checkpoint (or null) was written
/// so that it goes on exactly; else nothing happens. All ranks call it.
void RestoreOwn(const Communicator& world, const Checkpoint* checkpoint, const Job& job,
                Replica& replica);

/// A rank's own tensors, to rank 0.
void SendOwn(const Communicator& world, Replica& replica);

/// Rank 0's side of SendOwn: one rank's tensors after the other.
class OwnCollector {
 public:
  OwnCollector(const Communicator& world, Replica& replica) : world_(world), replica_(replica) {}
  /// Valid until the next call.
  std::vector<StoredTensor> Of(int rank);

 private:
  Communicator world_;
  Replica& replica_;
  std::optional<Safetensors> file_;
};

}  // namespace yoke
