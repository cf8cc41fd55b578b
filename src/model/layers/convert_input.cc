// ConvertInput: converted inputs are in the plan's saved memory if Backward reads them, otherwise
// in scratch; their gradients are in scratch.
#include "model/layers/convert_input.h"

#include "base/check.h"
#include "kernels/convert.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

bool Differs(const Edge& edge, InputFormat format) {
  return edge.type != format.type || edge.layout != format.layout;
}

Edge In(Edge edge, InputFormat format) {
  edge.type = format.type;
  edge.layout = format.layout;
  return edge;
}

class ConvertedPlan : public LayerPlan {
 public:
  ConvertedPlan(const PlanRequest& outside, InputFormat format, std::unique_ptr<LayerPlan> inner)
      : inner_(std::move(inner)),
        convert_(MakeConvert(outside.target)),
        others_(outside.others.size()),
        gradients_(others_.size()) {
    bool all = Add(outside.input, outside.batch, format);
    for (const Edge& edge : outside.others) all = Add(edge, outside.batch, format) && all;
    kept_ = outside.training && inner_->reads_input;
    saved_inputs_ = kept_ ? bytes_ : 0;
    scratch_inputs_ = !kept_ || outside.input_gradient ? bytes_ : 0;
    output = inner_->output;
    saved_bytes = saved_inputs_ + inner_->saved_bytes;
    scratch_bytes = scratch_inputs_ + inner_->scratch_bytes;
    reads_input = inner_->reads_input && !all;  // else the converted copies are kept
    reads_output = inner_->reads_output;
    const int in_place = inner_->gradient_in_place;
    gradient_in_place = in_place >= 0 && !inputs_[in_place].converts ? in_place : -1;
    kernel = inner_->kernel + ", converted input";
  }

  void CheckBatch(const Batch& batch) const override { inner_->CheckBatch(batch); }

  void Forward(const LayerCall& call) override {
    const LayerCall inside = Inside(call, false);
    if (inputs_[0].converts) convert_->Forward({call.input, inside.input});
    for (size_t k = 0; k < others_.size(); ++k)
      if (inputs_[k + 1].converts) convert_->Forward({call.others[k], others_[k]});
    inner_->Forward(inside);
  }

  void Backward(const LayerCall& call) override {
    const LayerCall inside = Inside(call, true);
    inner_->Backward(inside);
    if (inputs_[0].converts && call.input_gradient.data)
      convert_->Forward({inside.input_gradient, call.input_gradient});
    for (size_t k = 0; k < inside.other_gradients.size(); ++k)
      if (inputs_[k + 1].converts && call.other_gradients[k].data)
        convert_->Forward({gradients_[k], call.other_gradients[k]});
  }

 private:
  /// One input as the inner plan needs it.
  struct Input {
    Tensor tensor;  // without data
    bool converts = false;
    int64_t at = 0;  // offset of the converted copy
  };

  bool Add(const Edge& edge, int64_t batch, InputFormat format) {
    const bool converts = Differs(edge, format);
    inputs_.push_back({BatchTensor(In(edge, format), batch), converts, bytes_});
    if (converts) bytes_ += Aligned(inputs_.back().tensor.Bytes());
    return converts;
  }

  /// The k-th input, or its gradient, as the inner plan needs it: the converted copy in `memory`.
  /// Null stays null.
  Tensor Seen(size_t k, const Tensor& outside, void* memory) const {
    if (!inputs_[k].converts) return outside;
    Tensor tensor = inputs_[k].tensor;
    if (outside.data) tensor.data = Advance(memory, inputs_[k].at);
    return tensor;
  }

  LayerCall Inside(const LayerCall& call, bool backward) {
    LayerCall inside = call;
    void* memory = kept_ ? call.saved : call.scratch;
    inside.input = Seen(0, call.input, memory);
    for (size_t k = 0; k < call.others.size(); ++k)
      others_[k] = Seen(k + 1, call.others[k], memory);
    inside.others = others_;
    if (backward) {
      inside.input_gradient = Seen(0, call.input_gradient, call.scratch);
      for (size_t k = 0; k < call.other_gradients.size(); ++k)
        gradients_[k] = Seen(k + 1, call.other_gradients[k], call.scratch);
      inside.other_gradients = {gradients_.data(), call.other_gradients.size()};
    }
    inside.saved = Advance(call.saved, saved_inputs_);
    inside.scratch = Advance(call.scratch, scratch_inputs_);
    return inside;
  }

  std::unique_ptr<LayerPlan> inner_;
  std::unique_ptr<ConvertKernel> convert_;
  std::vector<Input> inputs_;
  std::vector<Tensor> others_, gradients_;  // of the current call
  bool kept_ = false;                       // converted inputs are kept until Backward
  int64_t bytes_ = 0;                       // size of the converted inputs
  int64_t saved_inputs_ = 0, scratch_inputs_ = 0;
};

}  // namespace

std::unique_ptr<LayerPlan> ConvertInput(
    const PlanRequest& request, InputFormat format,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make) {
  PlanRequest inside = request;
  inside.input = In(request.input, format);
  bool differs = Differs(request.input, format);
  for (Edge& edge : inside.others) {
    differs = differs || Differs(edge, format);
    edge = In(edge, format);
  }
  auto plan = make(inside);
  if (!differs) return plan;
  return std::make_unique<ConvertedPlan>(request, format, std::move(plan));
}

void RequireAllDense(const LayerContext& context, std::string_view type) {
  RequireDense(context, type);
  for (const Edge& other : context.others)
    Require(!other.sparse && !other.active, "layer '{}' ({}) takes dense inputs only", context.name,
            type);
}

std::unique_ptr<LayerPlan> LikeTheFirst(
    const PlanRequest& request,
    const std::function<std::unique_ptr<LayerPlan>(const PlanRequest&)>& make) {
  return ConvertInput(request, {.type = request.input.type, .layout = request.input.layout}, make);
}

void Gather(const Tensor& first, std::span<const Tensor> others, std::vector<Tensor>& all) {
  all.assign(1, first);
  all.insert(all.end(), others.begin(), others.end());
}

}  // namespace yoke::layer
