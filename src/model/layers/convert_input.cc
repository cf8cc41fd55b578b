// ConvertInput: the converted input lives in the plan's saved memory until Backward (in scratch
// when not training), its gradient in scratch.
#include "model/layers/convert_input.h"

#include "kernels/convert.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class ConvertedPlan : public LayerPlan {
 public:
  ConvertedPlan(const PlanRequest& outside, const PlanRequest& inside,
                std::unique_ptr<LayerPlan> inner)
      : inner_(std::move(inner)), input_(BatchTensor(inside.input, inside.batch)) {
    const int64_t bytes = Aligned(input_.Bytes());
    saved_input_bytes_ = outside.training ? bytes : 0;
    scratch_input_bytes_ = !outside.training || outside.input_gradient ? bytes : 0;
    output = inner_->output;
    saved_bytes = saved_input_bytes_ + inner_->saved_bytes;
    scratch_bytes = scratch_input_bytes_ + inner_->scratch_bytes;
    kernel = inner_->kernel + ", converted input";
  }

  void Forward(const LayerCall& call) override {
    LayerCall inside = Inside(call);
    Convert(call.input, inside.input);
    inner_->Forward(inside);
  }

  void Backward(const LayerCall& call) override {
    LayerCall inside = Inside(call);
    inner_->Backward(inside);
    if (call.input_gradient.data) Convert(inside.input_gradient, call.input_gradient);
  }

 private:
  LayerCall Inside(const LayerCall& call) const {
    LayerCall inside = call;
    inside.input = inside.input_gradient = input_;
    inside.input.data = saved_input_bytes_ ? call.saved : call.scratch;
    inside.input_gradient.data = call.input_gradient.data ? call.scratch : nullptr;
    inside.saved = Advance(call.saved, saved_input_bytes_);
    inside.scratch = Advance(call.scratch, scratch_input_bytes_);
    return inside;
  }

  std::unique_ptr<LayerPlan> inner_;
  Tensor input_;  // its shape, type and layout; no data
  int64_t saved_input_bytes_ = 0;
  int64_t scratch_input_bytes_ = 0;
};

}  // namespace

std::unique_ptr<LayerPlan> ConvertInput(
    const PlanRequest& request, InputFormat format,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make) {
  PlanRequest inside = request;
  inside.input.type = format.type;
  inside.input.layout = format.layout;
  auto plan = make(inside);
  if (format.type == request.input.type && format.layout == request.input.layout) return plan;
  return std::make_unique<ConvertedPlan>(request, inside, std::move(plan));
}

}  // namespace yoke::layer
