// The layer `lsh_linear`: like linear, but training computes only the outputs that hashing finds or
// that are drawn at random, and the true labels. Evaluation computes all outputs.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "kernels/convert.h"
#include "kernels/linear/linear.h"
#include "kernels/sparse_linear/sparse_linear.h"
#include "model/layer.h"
#include "model/layers/convert_input.h"
#include "model/layers/lsh_linear/group_products.h"
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
  void CheckBatch(const Batch& batch) const override {
    CheckIds(batch.sparse.View(), shape_.settings.inputs);
  }
  void Forward(const LayerCall& call) override {
    const SparseRows rows = call.batch.sparse.View();
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

constexpr int64_t kExactRows = 4096;  // copied to f32 at a time

/// All outputs for dense input. Rows that are stored in bf16 are copied to f32 block by block.
class ExactPlan : public WeightedPlan<LinearKernel, LinearCall> {
 public:
  ExactPlan(const LinearShape& shape, const Target& target)
      : WeightedPlan(MakeLinear(shape, target), Edge{.shape = {shape.outputs}}, shape.relu),
        shape_(shape),
        target_(target) {}
  void Forward(const LayerCall& call) override {
    if (call.params[0].value.type == DType::kF32) return WeightedPlan::Forward(call);
    for (int64_t first = 0; first < shape_.outputs; first += kExactRows)
      ForwardRows(call, first, std::min(kExactRows, shape_.outputs - first));
  }

 private:
  void ForwardRows(const LayerCall& call, int64_t first, int64_t rows) {
    const int64_t count = rows * shape_.inputs;
    float* weight = copy_.Get<float>(count);
    Convert({.shape = {count},
             .type = DType::kBf16,
             .data = call.params[0].value.As<Bf16>() + first * shape_.inputs},
            {.shape = {count}, .data = weight});
    LinearKernel& kernel = KernelFor(rows);
    kernel.Forward({.input = call.input.data,
                    .weight = weight,
                    .bias = shape_.bias ? call.params[1].value.As<float>() + first : nullptr,
                    .output = call.output.As<float>() + first,
                    .scratch = scratch_.Get<char>(kernel.scratch_bytes())});
  }
  LinearKernel& KernelFor(int64_t rows) {
    std::unique_ptr<LinearKernel>& kernel = kernels_[rows];
    LinearShape block = shape_;
    block.outputs = rows, block.stride = shape_.outputs;
    if (!kernel) kernel = MakeLinear(block, target_);
    return *kernel;
  }

  LinearShape shape_;
  Target target_;
  std::map<int64_t, std::unique_ptr<LinearKernel>> kernels_;  ///< Of a block, and of the last one.
  ScratchBuffer copy_, scratch_;
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
    if (context.input.sparse || context.input.active > 0) shape_.settings.lock_free = false;
  }

  Edge Output() const override {
    return {.shape = {shape_.settings.outputs}, .active = shape_.settings.wanted()};
  }
  bool IsProduct() const override { return !shape_.relu && !sparse_input_; }
  std::string OnlyOnCpu() const override {
    return "its hash tables and their updates are data structures of the host";
  }
  std::string Explain() const override {
    const std::string text = layer::Explain(shape_.settings), advice = AdviceOn(shape_.settings);
    return advice.empty() ? text : text + "; " + advice;
  }

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
  double ForwardPart() const override { return kForwardOfWeighted; }

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
    return std::make_unique<ExactPlan>(shape, request.target);
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
