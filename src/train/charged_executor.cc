// ChargedExecutor: the gradient first, its time afterwards.
#include "train/charged_executor.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "kernels/vectors.h"

namespace yoke {
namespace {

constexpr double kForward = 1.0 / 3;  // of a training step's operations

Cost Scaled(Cost cost, double factor) {
  cost.operations *= factor;
  cost.bytes *= factor;
  return cost;
}

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

ChargedExecutor::ChargedExecutor(std::shared_ptr<Executor> shared, const Graph& graph,
                                 const Communicator& world)
    : inner_(std::move(shared)), graph_(graph), world_(world) {
  const std::vector<LayerInfo> layers = graph.Info();
  double sum = 0;
  for (const LayerInfo& layer : layers) sum += layer.cost.operations;
  for (const LayerInfo& layer : layers)
    fractions_.push_back(sum > 0 ? layer.cost.operations / sum : 0);
  for (const Slice& slice : graph.layout().slices()) {
    const std::string layer = slice.name.substr(0, slice.name.rfind('.'));
    const auto at = std::ranges::find(layers, layer, &LayerInfo::name);
    layer_of_.push_back(at == layers.end() ? -1 : static_cast<int>(at - layers.begin()));
  }
}

StepResult ChargedExecutor::Step(const Batch& batch, const ParamView& params,
                                 const ExecutorStep& step) {
  if (in_place()) return StepInPlace(batch, params, step);
  announced_.clear();
  ExecutorStep inner = step;
  inner.ready = [this](int slice) { announced_.push_back(slice); };
  std::optional<HeadAfterForward> head;
  if (step.head) inner.head = &head.emplace(*step.head, [&] { ChargeForward(batch.size); });
  const StepResult result = inner_->Step(batch, params, inner);
  if (!step.head) ChargeForward(batch.size);
  Announce(batch.size, step.ready);
  return result;
}

void ChargedExecutor::ChargeForward(int64_t examples) const {
  world_.Charge(Scaled(graph_.Price(examples), kForward));
}

/// From the last layer to the first: each slice when its layer and all above have had their time.
void ChargedExecutor::Announce(int64_t examples, const GradientReady& ready) const {
  const std::vector<int> announced = announced_;  // others use the member while this one waits
  const Cost backward = Scaled(graph_.Price(examples), 1 - kForward);
  int above = static_cast<int>(fractions_.size());
  const auto charge_down_to = [&](int layer) {
    double fraction = 0;
    while (above > layer) fraction += fractions_[--above];
    if (fraction > 0) world_.Charge(Scaled(backward, fraction));
  };
  for (const int slice : announced) {
    if (layer_of_[slice] >= 0) charge_down_to(layer_of_[slice]);
    if (ready) ready(slice);
  }
  charge_down_to(0);
}

StepResult ChargedExecutor::StepInPlace(const Batch& batch, const ParamView& params,
                                        const ExecutorStep& step) {
  const auto count = static_cast<size_t>(params.layout->size());
  const std::vector<float> before(params.values, params.values + count);
  copy_ = before;
  ParamView view = params;
  view.values = copy_.data();
  const StepResult result = inner_->Step(batch, view, step);
  const std::vector<float> after = copy_;
  world_.Charge(graph_.Price(batch.size));
  AddDifference({params.values, count}, 1, after, before);
  return result;
}

}  // namespace yoke
