// TimedRank: what Replica does, without gradients.
#include "simulate/timed_rank.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "comm/virtual_time.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

enum CheckpointTag : int { kOwn, kWritten };

}  // namespace

TimedRank::TimedRank(const Job& job, const TimedModel& model, const Communicator& world,
                     int64_t steps_per_epoch)
    : model_(model),
      entry_(StrategyOf(job)),
      meetings_(VirtualTime(world).BilledBy(model.scale)),
      params_(model.layout, Cpu()),
      gradients_(model.layout, Cpu()),
      state_(model.layout, *model.rule, Cpu()),
      executor_(model.executor, model.graph, model.layers, world, model.devices[0]) {
  executor_.InParts(ChipPartsOf(job.node, model.graph.task(), steps_per_epoch * model.batch.size));
  strategy_ = entry_.make(job.cluster, {.world = VirtualTime(world).BilledBy(model.scale),
                                        .params = params_,
                                        .gradients = gradients_,
                                        .rule = *model.rule,
                                        .state = state_,
                                        .clip_norm = job.train.Float("clip_norm"),
                                        .seed = job.seed(),
                                        .steps_per_epoch = steps_per_epoch,
                                        .head = model.head ? &*model.head : nullptr});
  step_.emplace(ReplicaStep::Parts{.executor = executor_, .strategy = *strategy_});
}

void TimedRank::Begin(bool mean) {
  if (mean) meetings_.AllReduce(params_.values());
  meetings_.Broadcast(params_.values(), 0);
  for (size_t i = 0; i < state_.names().size(); ++i)
    meetings_.Broadcast(state_.array(static_cast<int>(i)), 0);
  strategy_->Prepare();
}

bool TimedRank::HasExchanged() {
  const int64_t messages = strategy_->Counts().traffic.messages_sent;
  return std::exchange(messages_, messages) != messages;
}

/// With the sum for the distance of replicas (Replica::Exchange).
void TimedRank::Settle() {
  strategy_->Quiesce();
  strategy_->Model();
  if (!entry_.replicas_differ) return;
  std::vector<float> values(params_.values().count);
  meetings_.AllReduce(values);
}

/// Of the shrunken model.
int64_t TimedRank::OwnValues() {
  int64_t values = 0;
  if (meetings_.size() > 1 && entry_.replicas_differ)
    values = (1 + std::ssize(state_.names())) * params_.values().count;
  for (const Strategy::SavedTensor& saved : strategy_->Tensors()) values += saved.values.count;
  return values;
}

double TimedRank::OwnBytes() {
  return model_.scale * static_cast<double>(OwnValues()) * SizeOf(DType::kF32);
}

/// As RankStateCollector: one rank after the other, while the next one prepares its own.
void TimedRank::SendOwn() {
  const int ranks = meetings_.size();
  if (meetings_.rank() > 0) {
    meetings_.ReceiveWithoutTimeout(0, kOwn);
    const std::vector<float> own(OwnValues());
    return meetings_.Send(std::as_bytes(std::span(own)), 0, kOwn);
  }
  for (int rank = 1, asked = 0; rank < ranks; ++rank) {
    while (asked < std::min(rank + 1, ranks - 1)) meetings_.Send({}, ++asked, kOwn);
    meetings_.Receive(rank, kOwn);
  }
}

void TimedRank::AwaitLeader() {
  if (meetings_.rank() > 0)
    meetings_.ReceiveWithoutTimeout(0, kWritten);
  else
    for (int rank = 1; rank < meetings_.size(); ++rank) meetings_.Send({}, rank, kWritten);
}

bool TimedRank::Recover() {
  const Strategy::Rescued rescued = strategy_->Recover();
  return rescued.values.data || !entry_.replicas_differ;
}

}  // namespace yoke
