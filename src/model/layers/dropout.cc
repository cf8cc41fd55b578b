// The layer `dropout`: zeroes random elements in training (Srivastava et al. 2014). The mask
// depends only on (seed, epoch, example, layer) and the position, so it is the same for any number
// of threads and order of the batch.
#include "kernels/dropout.h"

#include "base/check.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class DropoutPlan : public LayerPlan {
 public:
  DropoutPlan(const DropoutShape& shape, const PlanRequest& request, int layer)
      : kernel_(MakeDropout(shape, request.target)), layer_(static_cast<uint64_t>(layer)) {
    output = request.input;
    output_is_input = !request.training;
    gradient_in_place = 0;
    reads_input = reads_output = false;  // the mask is saved
    saved_bytes = request.training ? shape.batch * shape.count : 0;
    kernel = request.training ? kernel_->name() : "none";
  }

  void Forward(const LayerCall& call) override {
    if (output_is_input) return;
    kernel_->Forward({.seed = call.batch.seed,
                      .layer = layer_,
                      .epoch = call.epoch,
                      .examples = call.examples,
                      .mask = static_cast<uint8_t*>(call.saved),
                      .from = call.input.data,
                      .to = call.output.data});
  }

  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data && !output_is_input)
      kernel_->Backward({.mask = static_cast<uint8_t*>(call.saved),
                         .from = call.output_gradient.data,
                         .to = call.input_gradient.data});
  }

 private:
  std::unique_ptr<DropoutKernel> kernel_;
  uint64_t layer_;
};

class Dropout : public Layer {
 public:
  Dropout(double probability, const LayerContext& context)
      : keep_(1 - probability), shape_(context.input.shape), index_(context.index) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * shape_.Count(), 4); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    const DropoutShape shape{
        .batch = request.batch, .count = shape_.Count(), .type = request.input.type, .keep = keep_};
    return std::make_unique<DropoutPlan>(shape, request, index_);
  }

 private:
  double keep_;
  Shape shape_;
  int index_;
};

std::unique_ptr<Layer> MakeDropoutLayer(const Options& options, const LayerContext& context) {
  RequireDense(context, "dropout");
  return std::make_unique<Dropout>(options.Float("probability"), context);
}

}  // namespace

LayerEntry dropout() {
  return {.name = "dropout",
          .summary = "zeroes elements at random while training and scales the rest",
          .options = {{.name = "probability",
                       .type = OptionType::kFloat,
                       .fallback = 0.5,
                       .help = "Probability of zeroing an element.",
                       .minimum = 0,
                       .maximum = 1,
                       .exclusive_maximum = true}},
          .make = MakeDropoutLayer};
}

}  // namespace yoke::layer
