// ServedHead: a model's head in one place, a thread of rank 0, which may train beside it. Teams
// send activations and labels up and get activation gradients back; the head's weights never
// travel.
#pragma once

#include <memory>
#include <vector>

#include "strategy/server.h"

namespace yoke {

class HeadService;

/// One rank's end. Forward, backward and update of the head on a team's whole batch are one act,
/// and teams wait in one queue: nothing of the head is ever stale.
///   (loss, dL/da, dL/dw) of the mean loss over the team's batch at w;  w <- rule(w, dL/dw)
/// The update is by context.rule at learning rate * head_rate_scale * Risen (ServerSettings), its
/// state the head's part of context.state; the gradient is clipped by its own length. Cost of a
/// team's step of n activations in all: 2 messages a rank, n numbers up and n down.
class ServedHead : public Head {
 public:
  /// context.head is not null. Each of the settings' workers is a team here: ranks that share a
  /// step, neighbours.
  ServedHead(const StrategyContext& context, const ServerSettings& settings);
  ~ServedHead() override;

  /// All ranks, once the first values and the rule's state are there.
  void Prepare();
  /// What holds for the next Step.
  void Begin(const StrategyStep& step) { step_ = step; }
  /// This rank's share of the team's step: the loss is the team's, the gradient that of the mean
  /// over the share.
  double Step(const Batch& batch, float* gradient) override;
  /// All ranks, while no step is under way: the newest values come to the head's place in a model's
  /// packed values. So whoever is left after a loss of rank 0 has a head that is not much older.
  void Mirror(float* packed) const;
  /// A rank is lost: the thread ends, and rank 0 has the newest values in `packed`.
  void Recover(float* packed);
  /// Of this rank, and on rank 0 of the thread beside it; waits of this rank alone.
  Traffic traffic() const;
  /// No more steps of this rank. Rank 0 waits for everybody's.
  void Finish();

 private:
  StrategyContext context_;
  ServerSettings settings_;
  StrategyStep step_;
  std::vector<std::byte> message_;
  bool serves_ = false;                   // between Prepare and Finish
  std::unique_ptr<HeadService> service_;  // rank 0's
  std::shared_ptr<void> thread_;          // last: it ends before the rest goes
};

/// What so many ranks together send to a served head and back in a step of each.
Cost CostOfServedHead(int workers, const ExchangeSize& size);

}  // namespace yoke
