// The layer `lsh_linear`: like linear, but training computes only the outputs that hashing finds or
// that are drawn at random, and the true labels. Evaluation computes all outputs.
#include <cmath>
#include <utility>

#include "base/check.h"
#include "kernels/convert.h"
#include "kernels/linear/linear.h"
#include "kernels/sparse_linear/sparse_linear.h"
#include "model/layer.h"
#include "model/layers/convert_input.h"
#include "model/layers/lsh_linear/plan.h"
#include "model/layers/weighted.h"

namespace yoke::layer {
namespace {

/// All outputs for sparse input, with one row of weights per output.
class SparseRowsPlan : public LayerPlan {
 public:
  explicit SparseRowsPlan(const LshPlanShape& shape) : shape_(shape) {
    output = {.shape = {shape.settings.outputs}};
    kernel = "rows";
  }
  void Forward(const LayerCall& call) override {
    const SparseRows rows = call.batch.sparse.View();
    CheckIds(rows, shape_.settings.inputs);
    const int64_t outputs = shape_.settings.outputs;
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < rows.rows; ++n)
      for (int64_t o = 0; o < outputs; ++o)
        call.output.As<float>()[n * outputs + o] = call.params[0].value.type == DType::kBf16
                                                       ? Output<Bf16>(call, rows, n, o)
                                                       : Output<float>(call, rows, n, o);
  }
  void Backward(const LayerCall&) override { Check(false, "this plan is for forward only"); }

 private:
  template <typename T>
  float Output(const LayerCall& call, const SparseRows& rows, int64_t n, int64_t o) const {
    const T* w = call.params[0].value.As<T>() + o * shape_.settings.inputs;
    float sum = shape_.bias ? call.params[1].value.As<float>()[o] : 0.0F;
    for (int64_t k = rows.offsets[n]; k < rows.offsets[n + 1]; ++k)
      sum += static_cast<float>(w[rows.ids[k]]) * (rows.values ? rows.values[k] : 1.0F);
    return shape_.relu && sum < 0 ? 0.0F : sum;
  }

  LshPlanShape shape_;
};

/// All outputs for dense input. Rows that are stored in bf16 are first copied to f32.
class ExactPlan : public WeightedPlan<LinearKernel, LinearCall> {
 public:
  using WeightedPlan::WeightedPlan;
  void Forward(const LayerCall& call) override {
    if (call.params[0].value.type == DType::kF32) return WeightedPlan::Forward(call);
    std::vector<ParamRef> params(call.params.begin(), call.params.end());
    ConstTensor& weight = params[0].value;
    copy_.resize(static_cast<size_t>(weight.Count()));
    Convert(weight, {.shape = weight.shape, .data = copy_.data()});
    weight = {.shape = weight.shape, .data = copy_.data()};
    LayerCall inner = call;
    inner.params = params;
    WeightedPlan::Forward(inner);
  }

 private:
  std::vector<float> copy_;
};

class LshLinear : public Layer, public FullyConnected {
 public:
  LshLinear(const Options& options, const LayerContext& context)
      : shape_{.settings = SettingsOf(options, context.input.shape.Count()),
               .bias = options.Bool("bias"),
               .index = context.index},
        sparse_input_(context.input.sparse),
        initializers_(options) {
    Require(!options.Has("updates") || !shape_.settings.lock_free ||
                !(context.input.sparse || context.input.active > 0),
            "{}: \"lock_free\" is of dense input, and this layer's is sparse: leave it out",
            options.Where("updates"));
  }

  Edge Output() const override {
    return {.shape = {shape_.settings.outputs}, .active = shape_.settings.wanted()};
  }
  bool IsProduct() const override { return !shape_.relu && !sparse_input_; }
  std::string OnlyOnCpu() const override {
    return "its hash tables and their updates are data structures of the host";
  }
  std::string Explain() const override { return layer::Explain(shape_.settings); }

  std::vector<ParamSpec> Params() const override {
    const int64_t in = shape_.settings.inputs, out = shape_.settings.outputs;
    std::vector<ParamSpec> params = WeightAndBias(
        {.shape = {out, in}, .fan_in = in, .fan_out = out}, shape_.bias ? out : 0, initializers_);
    for (ParamSpec& param : params) param.kind = SliceKind::kRowSparse;
    return params;
  }

  /// Without labels, because their number per example is unknown here.
  Cost Price(int64_t batch) const override {
    const LshSettings& s = shape_.settings;
    const double n = double(batch), rows = double(s.wanted()), in = double(s.inputs);
    const double groups = std::ceil(n / double(s.group));
    return {.operations = 6 * n * rows * in,
            .bytes = 4 * (3 * groups * rows * in + 3 * n * (in + rows))};
  }

  std::unique_ptr<LayerState> MakeState() const override {
    return std::make_unique<LshState>(shape_.settings);
  }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    if (request.training && (request.input.sparse || request.input.active))
      return std::make_unique<LshPlan>(shape_, request);
    if (request.input.sparse) return std::make_unique<SparseRowsPlan>(shape_);
    return ConvertInput(request, {.type = DType::kF32}, [this](const PlanRequest& r) {
      return r.training ? std::unique_ptr<LayerPlan>(std::make_unique<LshPlan>(shape_, r))
                        : Exact(r);
    });
  }

  bool Fuse(Fusion what) override {
    Require(
        what != Fusion::kRelu || !shape_.settings.correct,
        "lsh_linear below a relu cannot have correct = true: the correction is of scores, and a "
        "relu's are no longer that; leave out one of the two");
    return what == Fusion::kRelu && !std::exchange(shape_.relu, true);
  }

 private:
  std::unique_ptr<LayerPlan> Exact(const PlanRequest& request) const {
    const LinearShape shape{.batch = request.batch,
                            .inputs = shape_.settings.inputs,
                            .outputs = shape_.settings.outputs,
                            .bias = shape_.bias,
                            .relu = shape_.relu};
    return std::make_unique<ExactPlan>(MakeLinear(shape, request.target),
                                       Edge{.shape = {shape.outputs}}, shape.relu);
  }

  LshPlanShape shape_;
  bool sparse_input_;
  WeightInitializers initializers_;
};

std::unique_ptr<Layer> MakeLshLinearLayer(const Options& options, const LayerContext& context) {
  return std::make_unique<LshLinear>(options, context);
}

std::vector<OptionSpec> AllOptions() {
  std::vector<OptionSpec> options = {CountOption("outputs", {}, "Number of outputs.")};
  for (OptionSpec& option : LshOptions()) options.push_back(std::move(option));
  return WithWeightOptions(std::move(options), "fan_in_uniform", "zeros");
}

}  // namespace

LayerEntry lsh_linear() {
  return {.name = "lsh_linear",
          .summary = "linear, but each step computes only the outputs found by hashing",
          .options = AllOptions(),
          .make = MakeLshLinearLayer};
}

}  // namespace yoke::layer
