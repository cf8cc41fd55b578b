// The layer `dropout`: zeroes random elements in training (Srivastava et al. 2014). The mask
// depends only on (seed, epoch, example, layer) and the position, so it is the same for any number
// of threads and order of the batch.
#include "kernels/dropout.h"

#include "base/check.h"

#include "base/random.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class DropoutPlan : public LayerPlan {
 public:
  DropoutPlan(const DropoutShape& shape, const PlanRequest& request, int layer)
      : shape_(shape), layer_(static_cast<uint64_t>(layer)), keys_(shape.batch) {
    output = request.input;
    output_is_input = !request.training;
    gradient_in_place = 0;
    reads_input = reads_output = false;  // the mask is saved
    saved_bytes = request.training ? shape.batch * shape.count : 0;
    kernel = request.training ? "loops" : "none";
  }

  void Forward(const LayerCall& call) override {
    if (output_is_input) return;
    auto* mask = static_cast<uint8_t*>(call.saved);
    for (int64_t n = 0; n < shape_.batch; ++n) keys_[n] = Key(call.batch, n);
    DrawMasks(shape_, keys_, mask);
    ApplyMask(shape_, call.input.data, mask, call.output.data);
  }

  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data && !output_is_input)
      ApplyMask(shape_, call.output_gradient.data, static_cast<uint8_t*>(call.saved),
                call.input_gradient.data);
  }

 private:
  uint64_t Key(const Batch& batch, int64_t n) const {
    const int64_t example = batch.examples.empty() ? n : batch.examples[n];
    return Random{batch.seed, Word(Draw::kDropout), static_cast<uint64_t>(batch.epoch),
                  static_cast<uint64_t>(example), layer_}
        .Bits();
  }

  DropoutShape shape_;
  uint64_t layer_;
  std::vector<uint64_t> keys_;  // one per example of the batch
};

class Dropout : public Layer {
 public:
  Dropout(double probability, const LayerContext& context)
      : keep_(1 - probability), shape_(context.input.shape), index_(context.index) {}

  Shape OutputShape() const override { return shape_; }
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
  Require(options.Float("probability") < 1, "{}: expected a number in [0, 1)",
          options.Where("probability"));
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
                       .maximum = 1}},
          .make = MakeDropoutLayer};
}

}  // namespace yoke::layer
