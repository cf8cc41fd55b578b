// ChargedExecutor: the gradient first, its time afterwards.
#include "node/charged_executor.h"
#include "comm/virtual_time.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

namespace yoke {
namespace {

constexpr double kForward = 1.0 / 3;  // of a training step's operations

/// A remote head, with the time of the body's forward pass before it.
class HeadAfterForward : public Head {
 public:
  HeadAfterForward(Head& head, std::function<void()> forward)
      : head_(head), forward_(std::move(forward)) {}
  double Step(const Batch& batch, float* gradient) override {
    forward_();
    return head_.Step(batch, gradient);
  }

 private:
  Head& head_;
  std::function<void()> forward_;
};

}  // namespace

LayerOperations::LayerOperations(const Graph& graph) {
  const std::vector<LayerInfo> layers = graph.Info();
  for (const LayerInfo& layer : layers) operations.push_back(layer.cost.operations);
  for (const Slice& slice : graph.layout().slices()) {
    const std::string layer = slice.name.substr(0, slice.name.rfind('.'));
    const auto at = std::ranges::find(layers, layer, &LayerInfo::name);
    layer_of.push_back(at == layers.end() ? -1 : static_cast<int>(at - layers.begin()));
  }
  body = static_cast<int>(layers.size());
  if (const std::optional<GraphCut> cut = graph.Cut(); cut && layer_of[cut->first_slice] >= 0)
    body = layer_of[cut->first_slice];
}

ChargedExecutor::ChargedExecutor(std::shared_ptr<Executor> shared, const Graph& graph,
                                 std::shared_ptr<const LayerOperations> layers,
                                 const Communicator& world, std::string device)
    : inner_(std::move(shared)),
      graph_(graph),
      layers_(std::move(layers)),
      world_(world),
      device_(std::move(device)) {}

double ChargedExecutor::Price(int64_t examples, GraphPart part) const {
  const VirtualTime time(world_);
  const auto seconds = [&](const Cost& cost, WorkPlace place) {
    place.device = device_;
    return time.Price(cost, place);
  };
  return SecondsInParts(seconds, graph_, examples, chip_, part);
}

/// One draw for the whole step, however many pieces it is charged in.
StepResult ChargedExecutor::Step(const Batch& batch, const ParamView& params,
                                 const ExecutorStep& step) {
  const GraphPart part = step.head ? GraphPart::kBody : GraphPart::kWhole;
  const WorkPlace place = {.device = device_, .examples = batch.size};
  double seconds = step.head ? Price(batch.size, part) : 0;
  announced_.clear();
  ExecutorStep inner = step;
  inner.ready = [this](int slice) { announced_.push_back(slice); };
  std::optional<HeadAfterForward> head;
  if (step.head)
    inner.head =
        &head.emplace(*step.head, [&] { VirtualTime(world_).Work(kForward * seconds, place); });
  const StepResult result = inner_->Step(batch, params, inner);
  if (!std::isfinite(result.loss)) non_finite_ = inner_->FirstNonFinite();
  if (!step.head) {
    seconds = result.seconds > 0 ? result.seconds : Price(batch.size, part);
    VirtualTime(world_).WorkAhead(kForward * seconds, place);
  }
  const auto layers = static_cast<int>(layers_->operations.size());
  Announce((1 - kForward) * seconds, step.head ? layers_->body : layers, step.ready);
  return result;
}

/// From the last layer to the first: each slice when its layer and all above have had their time.
void ChargedExecutor::Announce(double seconds, int above, const GradientReady& ready) const {
  const double sum =
      std::accumulate(layers_->operations.begin(), layers_->operations.begin() + above, 0.0);
  const auto work_down_to = [&](int layer) {
    double operations = 0;
    while (above > layer) operations += layers_->operations[--above];
    if (operations > 0)
      VirtualTime(world_).WorkAhead(seconds * operations / sum, {.device = device_});
  };
  for (const int slice : announced_) {
    if (layers_->layer_of[slice] >= 0) work_down_to(layers_->layer_of[slice]);
    if (ready) ready(slice);
  }
  work_down_to(0);
  VirtualTime(world_).CatchUp();
}

}  // namespace yoke
