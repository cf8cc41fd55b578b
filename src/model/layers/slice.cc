// The layer `slice`: a contiguous range of channels.
#include "base/check.h"
#include "base/options.h"
#include "kernels/join/join.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

/// Channels [begin, begin + count) out of `all`.
struct Piece {
  int64_t begin = 0, count = 0, all = 0;
};

class SlicePlan : public LayerPlan {
 public:
  SlicePlan(const Piece& piece, const Shape& shape, const PlanRequest& request)
      : concatenate_(MakeConcatenate(request.target)), stream_(*request.target.stream) {
    call_.parts = {Tensor{.shape = {1, piece.begin}}, Tensor{},
                   Tensor{.shape = {1, piece.all - piece.begin - piece.count}}};
    output = request.input;
    output.shape = shape;
    reads_input = reads_output = false;
    kernel = concatenate_->name();
  }
  void Forward(const LayerCall& call) override {
    concatenate_->Backward(Parts(call.input, call.output));
  }
  void Backward(const LayerCall& call) override {
    const Tensor& gradient = call.input_gradient;
    if (!gradient.data) return;
    stream_.Clear(gradient.data, gradient.Bytes());
    concatenate_->Forward(Parts(gradient, call.output_gradient));
  }

 private:
  /// The piece and the channels before and after it, of which only the shapes are set.
  const ConcatenateCall& Parts(const Tensor& whole, const Tensor& piece) {
    call_.whole = whole;
    call_.parts[1] = piece;
    return call_;
  }

  std::unique_ptr<ConcatenateKernel> concatenate_;
  Stream& stream_;
  ConcatenateCall call_;
};

class SliceLayer : public Layer {
 public:
  SliceLayer(const Piece& piece, const Shape& shape) : piece_(piece), shape_(shape) {}

  Edge Output() const override { return {.shape = shape_}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * shape_.Count(), 0); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<SlicePlan>(piece_, shape_, request);
  }

 private:
  Piece piece_;
  Shape shape_;
};

std::unique_ptr<Layer> MakeSliceLayer(const Options& options, const LayerContext& context) {
  RequireDense(context, "slice");
  std::vector<int64_t> axes(context.input.shape.axes().begin(), context.input.shape.axes().end());
  const Piece piece{
      .begin = options.Int("begin"), .count = options.Int("channels"), .all = axes[0]};
  Require(piece.begin < piece.all && piece.count <= piece.all - piece.begin,
          "layer '{}' (slice): channels {} to {} are not among its input's {}", context.name,
          piece.begin, piece.begin + piece.count, piece.all);
  axes[0] = piece.count;
  return std::make_unique<SliceLayer>(piece, Shape(axes));
}

}  // namespace

LayerEntry slice() {
  return {.name = "slice",
          .summary = "a contiguous range of channels",
          .options = {{.name = "begin",
                       .type = OptionType::kInt,
                       .fallback = 0,
                       .help = "The first channel, from 0 on.",
                       .minimum = 0,
                       .maximum = kMostCount},
                      CountOption("channels", {}, "Number of channels.")},
          .make = MakeSliceLayer};
}

}  // namespace yoke::layer
