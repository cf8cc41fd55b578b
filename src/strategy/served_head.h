// ServedHead: computes a model's head in one place, a thread of rank 0, beside rank 0's training.
// Teams send activations and labels and get activation gradients back; the head's weights are never
// sent.
#pragma once

#include <memory>
#include <vector>

#include "strategy/server.h"

namespace yoke {

class HeadService;

/// The client of one rank. Forward, backward and update of the head on a team's whole batch are
/// atomic, and teams wait in one queue, so the head is never stale.
///   (loss, dL/da, dL/dw) of the mean loss over the team's batch at w;  w <- rule(w, dL/dw)
/// The update uses context.rule at Scaled(learning rate, head_rate_scale) * Risen (ServerSettings),
/// with the head's part of context.state. The gradient is clipped by its own norm. Cost of a team's
/// step with n activations in total: 2 messages per rank, n elements up and n down.
class ServedHead : public Head {
 public:
  /// context.head must not be null. Each worker in `settings` is a team here: neighbouring ranks
  /// that share a step.
  ServedHead(const StrategyContext& context, const ServerSettings& settings);
  ~ServedHead() override;

  /// Called by all ranks, once the initial values and the rule's state are set.
  void Prepare();
  /// Sets the settings of the next Step.
  void Begin(const StrategyStep& step) { step_ = step; }
  /// Processes this rank's part of the team's step. The loss is that of the team; the gradient is
  /// that of the mean over the part.
  double Step(const Batch& batch, float* gradient) override;
  /// Called by all ranks while no step is in progress: copies the newest head values into a model's
  /// packed values, so that the survivors have a recent head if rank 0 is lost.
  void Mirror(std::span<float> packed) const;
  /// Called after a rank is lost: ends the thread, and on rank 0 writes the newest values to
  /// `packed`.
  void Recover(std::span<float> packed);
  /// Traffic of this rank, and on rank 0 also of the thread; waits of this rank only.
  Traffic traffic() const;
  /// No more steps from this rank. Rank 0 waits for all ranks.
  void Finish();

 private:
  StrategyContext context_;
  ServerSettings settings_;
  StrategyStep step_;
  std::vector<std::byte> message_;
  bool serves_ = false;                    // true between Prepare and Finish
  std::unique_ptr<HeadService> service_;   // on rank 0
  std::unique_ptr<ServingThread> thread_;  // last: it ends before the other members are destroyed
};

/// Messages and bytes between this many workers and a served head in one step of each.
Cost CostOfServedHead(int workers, const ExchangeSize& size);

}  // namespace yoke
