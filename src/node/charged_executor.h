// ChargedExecutor: an executor in virtual time, where work takes the time that it is charged.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "node/chip_parts.h"
#include "node/executor.h"

namespace yoke {

/// In virtual time: the executor with which all replicas of this process compute, one at a time.
struct SharedExecutor {
  std::optional<Graph> graph;
  std::shared_ptr<Executor> executor;
};

/// The operations of a graph's layers, and which layer has which slice.
struct LayerOperations {
  explicit LayerOperations(const Graph& graph);

  std::vector<double> operations;  ///< By layer.
  std::vector<int> layer_of;       ///< By slice; -1: none.
  int body = 0;                    ///< Layers below a head that is computed elsewhere.
};

/// Computes a rank's whole gradient at the instant of the call, so that ranks can share the plans
/// and the memory of one executor; then charges forward and backward layer by layer, and announces
/// each slice once its layer's backward pass is charged. Executors that update in place charge by
/// themselves.
class ChargedExecutor : public Executor {
 public:
  /// `shared` is used by one rank at a time. With a remote head a step waits in the middle, so the
  /// executor must not be shared.
  /// `device`: the name of the one that computes, if the executor does not time its steps itself.
  ChargedExecutor(std::shared_ptr<Executor> shared, const Graph& graph, const Communicator& world,
                  std::string device)
      : ChargedExecutor(std::move(shared), graph, std::make_shared<LayerOperations>(graph), world,
                        std::move(device)) {}
  /// `layers`: the graph's, which replicas may share.
  ChargedExecutor(std::shared_ptr<Executor> shared, const Graph& graph,
                  std::shared_ptr<const LayerOperations> layers, const Communicator& world,
                  std::string device);

  /// Charges for the parts of the CPU that compute a batch.
  void InParts(const ChipParts& chip) { chip_ = chip; }

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override;
  int64_t SmallestBatch(int64_t step, int64_t rest) const override {
    return inner_->SmallestBatch(step, rest);
  }
  /// Of this rank's last step that was not finite: others have computed on the executor since.
  std::string FirstNonFinite() const override { return non_finite_; }
  std::vector<DeviceWork> Work() const override { return inner_->Work(); }
  Value State() const override { return inner_->State(); }
  void Restore(const Value& state) override { inner_->Restore(state); }

 private:
  double Price(int64_t examples, GraphPart part) const;
  void Announce(double seconds, int above, const GradientReady& ready) const;

  std::shared_ptr<Executor> inner_;
  const Graph& graph_;
  std::shared_ptr<const LayerOperations> layers_;
  Communicator world_;
  std::string device_;
  ChipParts chip_;
  std::vector<int> announced_;  // slices, in the order of the last backward pass
  std::string non_finite_;
};

}  // namespace yoke
