// The losses `softmax_cross_entropy` and `sigmoid_cross_entropy`: from scores and labels to one
// value per example; Backward takes no output gradient and writes the gradient of the mean loss.
// Scores are f32 whatever the arithmetic of the model. Over an active set the loss counts only its
// ids.
#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "model/layers/convert_input.h"
#include "model/layers/support.h"

namespace yoke::layer {
namespace {

class LossPlan : public LayerPlan {
 public:
  LossPlan(const CrossEntropyShape& shape, const Target& target)
      : shape_(shape), kernel_(MakeCrossEntropy(shape, target)) {
    output = {.shape = {1}};
    reads_output = false;
    kernel = kernel_->name();
  }
  void Forward(const LayerCall& call) override {
    CheckLabels(call.batch, shape_);
    kernel_->Forward({.scores = call.input.As<float>(),
                      .labels = call.labels,
                      .losses = call.output.As<float>()});
  }
  void Backward(const LayerCall& call) override {
    if (call.input_gradient.data)
      kernel_->Backward({.scores = call.input.As<float>(),
                         .labels = call.labels,
                         .gradient = call.input_gradient.As<float>()});
  }

 private:
  CrossEntropyShape shape_;
  std::unique_ptr<CrossEntropyKernel> kernel_;
};

/// The loss times a weight other than 1 (an auxiliary head).
class WeightedLossPlan : public LayerPlan {
 public:
  WeightedLossPlan(std::unique_ptr<LayerPlan> plan, double weight, const Target& target)
      : plan_(std::move(plan)), scale_(MakeVectors(target)), weight_(static_cast<float>(weight)) {
    output = plan_->output;
    saved_bytes = plan_->saved_bytes;
    scratch_bytes = plan_->scratch_bytes;
    reads_input = plan_->reads_input;
    reads_output = plan_->reads_output;
    kernel = plan_->kernel;
  }
  void Forward(const LayerCall& call) override {
    plan_->Forward(call);
    Scale(call.output);
  }
  void Backward(const LayerCall& call) override {
    plan_->Backward(call);
    if (call.input_gradient.data) Scale(call.input_gradient);
  }

 private:
  void Scale(const Tensor& values) const {
    scale_->Forward({.operation = VectorCall::Operation::kScale,
                     .y = values.As<float>(),
                     .a = weight_,
                     .count = values.Count()});
  }

  std::unique_ptr<LayerPlan> plan_;
  std::unique_ptr<Kernel<VectorCall>> scale_;
  float weight_;
};

/// The loss over active scores: each group is a small batch whose labels are columns of its block.
class ActiveLossPlan : public LayerPlan {
 public:
  ActiveLossPlan(const CrossEntropyShape& shape, const Target& target)
      : shape_(shape), target_(target) {
    output = {.shape = {1}};
    kernel = "active scores";
  }

  void Forward(const LayerCall& call) override {
    CheckLabels(call.batch, shape_);
    const ActiveSet& set = *call.active_input;
    groups_.resize(std::max(groups_.size(), set.groups.size()));
    ForEachOnTeam(static_cast<int64_t>(set.groups.size()), [&](int64_t g) {
      Group& own = groups_[g];
      Prepare(call.batch, set, set.groups[g], own);
      own.kernel->Forward({.scores = set.values.data() + set.groups[g].value,
                           .labels = own.labels.Targets(),
                           .losses = own.losses.data()});
      const auto examples = set.ExamplesOf(set.groups[g]);
      for (size_t i = 0; i < examples.size(); ++i)
        call.output.As<float>()[examples[i]] = own.losses[i];
    });
  }

  void Backward(const LayerCall& call) override {
    ActiveSet& set = *call.active_input;
    ForEachOnTeam(static_cast<int64_t>(set.groups.size()), [&](int64_t g) {
      const int64_t at = set.groups[g].value;
      groups_[g].kernel->Backward({.scores = set.values.data() + at,
                                   .labels = groups_[g].labels.Targets(),
                                   .gradient = set.gradient.data() + at});
    });
  }

 private:
  struct Group {
    Batch labels;
    std::unique_ptr<CrossEntropyKernel> kernel;
    std::vector<float> losses;
  };

  void Prepare(const Batch& batch, const ActiveSet& set, const ActiveGroup& group,
               Group& own) const {
    own.losses.resize(group.examples);
    own.labels.size = group.examples;
    own.labels.labels.Clear();
    const int32_t* first = set.ids.data() + group.id;
    for (const int32_t example : set.ExamplesOf(group)) {
      const Targets targets = TargetsOf(batch.Targets(), shape_, example);
      for (int64_t k = 0; k < targets.count; ++k)
        own.labels.labels.ids.push_back(static_cast<int32_t>(
            std::lower_bound(first, first + group.labels, targets.ids[k]) - first));
      own.labels.labels.offsets.push_back(static_cast<int64_t>(own.labels.labels.ids.size()));
    }
    own.kernel = MakeCrossEntropy({.function = shape_.function,
                                   .batch = group.examples,
                                   .outputs = group.columns,
                                   .mean_over = batch.size},
                                  target_);
  }

  CrossEntropyShape shape_;
  Target target_;
  std::vector<Group> groups_;
};

class Loss : public Layer {
 public:
  Loss(CrossEntropy function, double weight, const LayerContext& context)
      : function_(function),
        weight_(weight),
        outputs_(context.input.shape.Count()),
        looked_at_(context.input.active > 0 ? context.input.active : outputs_) {}

  Edge Output() const override { return {.shape = {1}}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * looked_at_, 40); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    if (request.input.active)
      return std::make_unique<ActiveLossPlan>(
          CrossEntropyShape{.function = function_, .batch = request.batch, .outputs = outputs_},
          request.target);
    auto plan = ConvertInput(request, {}, [this](const PlanRequest& r) {
      return std::make_unique<LossPlan>(
          CrossEntropyShape{.function = function_, .batch = r.batch, .outputs = outputs_},
          r.target);
    });
    if (weight_ == 1) return plan;
    return std::make_unique<WeightedLossPlan>(std::move(plan), weight_, request.target);
  }

 private:
  CrossEntropy function_;
  double weight_;
  int64_t outputs_;
  int64_t looked_at_;  ///< Scores per example in a training step, without labels.
};

std::unique_ptr<Layer> MakeLoss(CrossEntropy function, std::string_view type,
                                const Options& options, const LayerContext& context) {
  const double weight = options.Float("weight");
  if (!context.input.active) RequireDense(context, type);
  Require(!context.input.active || weight == 1,
          "layer '{}' ({}): the loss of an lsh_linear layer takes no weight", context.name, type);
  return std::make_unique<Loss>(function, weight, context);
}

LayerEntry LossEntry(CrossEntropy function, const char* type, const char* summary) {
  return {.name = type,
          .summary = summary,
          .options = {{.name = "weight",
                       .type = OptionType::kFloat,
                       .fallback = 1.0,
                       .help = "Factor on the loss (for auxiliary heads).",
                       .minimum = 0}},
          .make =
              [=](const Options& options, const LayerContext& context) {
                return MakeLoss(function, type, options, context);
              },
          .loss = function};
}

}  // namespace

LayerEntry softmax_cross_entropy() {
  return LossEntry(CrossEntropy::kSoftmax, "softmax_cross_entropy",
                   "loss of scores against one class, or against 1/|labels| for each of several");
}

LayerEntry sigmoid_cross_entropy() {
  return LossEntry(CrossEntropy::kSigmoid, "sigmoid_cross_entropy",
                   "loss of scores against a set of labels, summed over labels");
}

}  // namespace yoke::layer
