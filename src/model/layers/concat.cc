// The layer `concat`: concatenates its inputs along channels.
#include "base/check.h"
#include "kernels/join/join.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class ConcatPlan : public LayerPlan {
 public:
  ConcatPlan(const PlanRequest& request, const Shape& shape)
      : concatenate_(MakeConcatenate(request.target)) {
    output = request.input;
    output.shape = shape;
    reads_input = reads_output = false;
    kernel = concatenate_->name();
  }

  void Forward(const LayerCall& call) override {
    Gather(call.input, call.others, call_.parts);
    call_.whole = call.output;
    concatenate_->Forward(call_);
  }

  void Backward(const LayerCall& call) override {
    Gather(call.input_gradient, call.other_gradients, call_.parts);
    call_.whole = call.output_gradient;
    concatenate_->Backward(call_);
  }

 private:
  std::unique_ptr<ConcatenateKernel> concatenate_;
  ConcatenateCall call_;  // its parts are inputs, or their gradients
};

class Concat : public Layer {
 public:
  explicit Concat(const Shape& shape) : shape_(shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * shape_.Count(), 0); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return LikeTheFirst(
        request, [this](const PlanRequest& r) { return std::make_unique<ConcatPlan>(r, shape_); });
  }

 private:
  Shape shape_;
};

/// `shape` with another number of channels.
Shape WithChannels(const Shape& shape, int64_t channels) {
  std::vector<int64_t> axes(shape.axes().begin(), shape.axes().end());
  axes[0] = channels;
  return Shape(axes);
}

std::unique_ptr<Layer> MakeConcatLayer(const Options& /*options*/, const LayerContext& context) {
  RequireAllDense(context, "concat");
  const Shape& first = context.input.shape;
  int64_t channels = first[0];
  for (const Edge& other : context.others) {
    Require(other.shape.rank() == first.rank() && WithChannels(other.shape, first[0]) == first,
            "layer '{}' (concat) takes inputs that differ in channels only, not {} and {}",
            context.name, first.Text(), other.shape.Text());
    channels += other.shape[0];
  }
  return std::make_unique<Concat>(WithChannels(first, channels));
}

}  // namespace

LayerEntry concat() {
  return {.name = "concat",
          .summary = "concatenates its inputs along channels",
          .options = {},
          .make = MakeConcatLayer,
          .least_inputs = 2,
          .most_inputs = kAnyNumber};
}

}  // namespace yoke::layer
