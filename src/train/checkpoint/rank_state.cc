// Rank state: one message per rank, the tensors in the format of a file.
#include "train/checkpoint/rank_state.h"

#include <algorithm>

#include "train/checkpoint/checkpoint.h"
#include "train/files.h"

namespace yoke {
namespace {

constexpr int kTag = 1;

StoredTensor OwnTensor(const StateTensor& tensor) {
  return {tensor.name, tensor.type, tensor.shape, tensor.data};
}

/// A rank's tensors, encoded like a file.
std::string Encoded(Replica& replica) {
  std::vector<StoredTensor> stored;
  HostCopies copies;
  for (const StateTensor& tensor : replica.OwnTensors(copies)) stored.push_back(OwnTensor(tensor));
  return EncodeSafetensors(stored);
}

bool OfLayers(const StateTensor& tensor) { return tensor.name.starts_with("layers."); }

/// Tensors that the file does not have (it was written with other options) start anew; those of
/// layers together, because they describe each other.
void CopyInto(Replica& replica, const Safetensors& file) {
  HostCopies copies;
  const std::vector<StateTensor> tensors = replica.OwnTensors(copies);
  const auto has = [&](const StateTensor& tensor) { return file.Has(OwnTensor(tensor)); };
  const bool layers = std::ranges::all_of(
      tensors, [&](const StateTensor& tensor) { return !OfLayers(tensor) || has(tensor); });
  for (const StateTensor& tensor : tensors)
    if (has(tensor) && (layers || !OfLayers(tensor))) file.CopyTo(OwnTensor(tensor));
  copies.Write();
  replica.Restored();
}

Safetensors Received(const Communicator& world, int from) {
  const Message message = world.Receive(from, kTag);
  std::string bytes(reinterpret_cast<const char*>(message.bytes.data()), message.bytes.size());
  return {std::move(bytes), fmt::format("the message of rank {}", from)};
}

/// Returns rank 0's number on every rank.
int64_t Agree(const Communicator& world, int64_t number) {
  world.Broadcast(std::as_writable_bytes(std::span(&number, 1)), 0);
  return number;
}

}  // namespace

std::string BroadcastText(const Communicator& world, std::string text) {
  text.resize(static_cast<size_t>(Agree(world, static_cast<int64_t>(text.size()))));
  if (!text.empty()) world.Broadcast(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

std::optional<CheckpointHeader> BroadcastHeader(const Communicator& world,
                                                const Checkpoint* checkpoint) {
  if (world.size() == 1) return {};
  std::string bytes =
      BroadcastText(world, checkpoint ? EncodeHeader(checkpoint->header(), "", "") : "");
  if (bytes.empty()) return {};
  return DecodeHeader(std::move(bytes), "the checkpoint of rank 0").header;
}

void RestoreRankState(const Communicator& world, const Checkpoint* checkpoint, const Job& job,
                      Replica& replica) {
  const bool fits = checkpoint && !checkpoint->header().replicas.empty() &&
                    GoesOnExactly(job, checkpoint->header());
  if (Agree(world, fits ? 1 : 0) == 0) return;
  if (world.rank() > 0) return CopyInto(replica, Received(world, 0));
  CopyInto(replica, checkpoint->OpenOwn(0));
  for (int rank = 1; rank < world.size(); ++rank) {
    const std::string bytes = EncodeSafetensors(checkpoint->OpenOwn(rank).tensors());
    world.Send(std::as_bytes(std::span(bytes)), rank, kTag);
  }
}

void SendRankState(const Communicator& world, Replica& replica) {
  // Not all at once; writing those before may take longer than a wait.
  world.ReceiveWithoutTimeout(0, kTag);
  const std::string bytes = Encoded(replica);
  world.Send(std::as_bytes(std::span(bytes)), 0, kTag);
}

std::vector<StoredTensor> RankStateCollector::Of(int rank) {
  const int next = std::min(rank + 1, world_.size() - 1);  // encodes while this one is received
  while (asked_ < next) world_.Send({}, ++asked_, kTag);
  file_.reset();
  file_.emplace(rank == 0 ? Safetensors(Encoded(replica_), "the state of rank 0")
                          : Received(world_, rank));
  return file_->tensors();
}

}  // namespace yoke
