// The layer `channel_shuffle`: interleaves the channels of groups (Zhang et al., "ShuffleNet",
// 2018).
#include "base/check.h"
#include "kernels/rearrange.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class ShufflePlan : public LayerPlan {
 public:
  ShufflePlan(int64_t groups, const PlanRequest& request)
      : shuffle_(MakeShuffle(groups, request.target)) {
    output = request.input;
    reads_input = reads_output = false;
    kernel = shuffle_->name();
  }
  void Forward(const LayerCall& call) override {
    shuffle_->Forward({.input = call.input, .output = call.output});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      shuffle_->Backward({.input = call.output_gradient, .output = call.input_gradient});
  }

 private:
  std::unique_ptr<ShuffleKernel> shuffle_;
};

class ChannelShuffle : public Layer {
 public:
  ChannelShuffle(int64_t groups, const Shape& shape) : groups_(groups), shape_(shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * shape_.Count(), 0); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<ShufflePlan>(groups_, request);
  }

 private:
  int64_t groups_;
  Shape shape_;
};

std::unique_ptr<Layer> MakeChannelShuffleLayer(const Options& options,
                                               const LayerContext& context) {
  RequireDense(context, "channel_shuffle");
  const int64_t groups = options.Int("groups"), channels = context.input.shape[0];
  Require(channels % groups == 0, "{}: expected a divisor of its input's {} channels",
          options.Where("groups"), channels);
  return std::make_unique<ChannelShuffle>(groups, context.input.shape);
}

}  // namespace

LayerEntry channel_shuffle() {
  return {.name = "channel_shuffle",
          .summary = "interleaves the channels of groups, as in ShuffleNet",
          .options = {CountOption("groups", {}, "Number of groups that are interleaved.")},
          .make = MakeChannelShuffleLayer};
}

}  // namespace yoke::layer
