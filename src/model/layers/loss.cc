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
#include "model/layers/convert_input.h"
#include "model/layers/shaped_loss.h"
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
  void CheckBatch(const Batch& batch) const override { CheckLabels(batch, shape_); }
  void Forward(const LayerCall& call) override {
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

/// The loss over active scores: a few examples of a group are a small batch whose labels are
/// columns of the group's block.
class ActiveLossPlan : public LayerPlan {
 public:
  ActiveLossPlan(const CrossEntropyShape& shape, const Target& target)
      : shape_(shape), target_(target) {
    output = {.shape = {1}};
    kernel = "active scores";
  }

  void CheckBatch(const Batch& batch) const override {
    Require(batch.weights.empty(), "an lsh_linear layer takes no weights of examples");
    CheckLabels(batch, shape_);
  }

  void Forward(const LayerCall& call) override {
    const ActiveSet& set = *call.active_input;
    Divide(set);
    ForEachOnTeam(parts_, [&](int64_t p) {
      Part& own = memory_[p];
      Prepare(call.batch, set, own);
      own.kernel->Forward({.scores = set.values.data() + own.value,
                           .labels = own.labels.Targets(),
                           .losses = own.losses.data()});
      for (size_t i = 0; i < own.examples.size(); ++i)
        call.output.As<float>()[own.examples[i]] = own.losses[i];
    });
  }

  void Backward(const LayerCall& call) override {
    ActiveSet& set = *call.active_input;
    ForEachOnTeam(parts_, [&](int64_t p) {
      const Part& own = memory_[p];
      own.kernel->Backward({.scores = set.values.data() + own.value,
                            .labels = own.labels.Targets(),
                            .gradient = set.gradient.data() + own.value});
    });
  }

 private:
  static constexpr int64_t kExamples = 16;  // of a part, at most
  struct Part {
    size_t group = 0;
    std::span<const int32_t> examples;
    int64_t value = 0;  ///< Start of their scores in ActiveSet::values.
    Batch labels;
    std::unique_ptr<CrossEntropyKernel> kernel;
    std::vector<float> losses;
  };

  void Divide(const ActiveSet& set) {
    parts_ = 0;
    for (size_t g = 0; g < set.groups.size(); ++g)
      for (int64_t first = 0; first < set.groups[g].examples; first += kExamples) {
        if (std::ssize(memory_) == parts_) memory_.emplace_back();
        Part& part = memory_[parts_++];
        const auto rest = set.ExamplesOf(set.groups[g]).subspan(first);
        part.group = g;
        part.examples = rest.first(std::min<size_t>(rest.size(), kExamples));
        part.value = set.groups[g].value + first * set.groups[g].columns;
      }
  }

  void Prepare(const Batch& batch, const ActiveSet& set, Part& own) const {
    const ActiveGroup& group = set.groups[own.group];
    const auto examples = std::ssize(own.examples);
    own.losses.resize(examples);
    own.labels.size = examples;
    own.labels.labels.Clear();
    const int32_t* first = set.ids.data() + group.id;
    for (const int32_t example : own.examples) {
      const Targets targets = TargetsOf(batch.Targets(), shape_, example);
      for (int64_t k = 0; k < targets.count; ++k)
        own.labels.labels.ids.push_back(static_cast<int32_t>(
            std::lower_bound(first, first + group.labels, targets.ids[k]) - first));
      own.labels.labels.offsets.push_back(static_cast<int64_t>(own.labels.labels.ids.size()));
    }
    own.kernel = MakeCrossEntropy({.function = shape_.function,
                                   .batch = examples,
                                   .outputs = group.columns,
                                   .mean_over = batch.mean_over > 0 ? batch.mean_over : batch.size},
                                  target_);
  }

  CrossEntropyShape shape_;
  Target target_;
  std::vector<Part> memory_;  ///< Of parts, reused; the first parts_ are this step's.
  int64_t parts_ = 0;
};

class Loss : public Layer {
 public:
  Loss(CrossEntropy function, double weight, LossShaping shaping, const LayerContext& context)
      : function_(function),
        weight_(weight),
        shaping_(std::move(shaping)),
        outputs_(context.input.shape.Count()),
        looked_at_(context.input.active > 0 ? context.input.active : outputs_) {}

  Edge Output() const override { return {.shape = {1}}; }
  Cost Price(int64_t batch) const override { return Elementwise(batch * looked_at_, 40); }
  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    if (request.input.active)
      return std::make_unique<ActiveLossPlan>(
          CrossEntropyShape{.function = function_, .batch = request.batch, .outputs = outputs_},
          request.target);
    return ConvertInput(request, {}, [this](const PlanRequest& r) {
      return WeighLoss(PlanOfScores(r), weight_, r.target);
    });
  }
  std::string OnlyOnCpu() const override {
    return shaping_.Changes() ? "it smooths labels or weighs classes" : "";
  }

 private:
  std::unique_ptr<LayerPlan> PlanOfScores(const PlanRequest& request) const {
    const CrossEntropyShape shape{
        .function = function_, .batch = request.batch, .outputs = outputs_};
    auto plan = std::make_unique<LossPlan>(shape, request.target);
    if (!request.training || !shaping_.Changes()) return plan;
    return ShapedLoss(std::move(plan), shape, shaping_);
  }

  CrossEntropy function_;
  double weight_;
  LossShaping shaping_;
  int64_t outputs_;
  int64_t looked_at_;  ///< Scores per example in a training step, without labels.
};

LossShaping ShapingOf(const Options& options) {
  LossShaping shaping{.smoothing = options.Float("label_smoothing")};
  if (options.Has("class_weights")) shaping.class_weights = options.Floats("class_weights");
  return shaping;
}

std::unique_ptr<Layer> MakeLoss(CrossEntropy function, std::string_view type,
                                const Options& options, const LayerContext& context) {
  const double weight = options.Float("weight");
  if (!context.input.active) RequireDense(context, type);
  Require(!context.input.active || weight == 1,
          "layer '{}' ({}): the loss of an lsh_linear layer takes no weight", context.name, type);
  LossShaping shaping = ShapingOf(options);
  const int64_t outputs = context.input.shape.Count();
  Require(!shaping.Changes() || (function == CrossEntropy::kSoftmax && !context.input.active),
          "layer '{}' ({}): labels are smoothed and classes weighed in a softmax loss of dense "
          "scores only",
          context.name, type);
  Require(shaping.class_weights.empty() || std::ssize(shaping.class_weights) == outputs,
          "layer '{}' ({}): {} class_weights for {} outputs", context.name, type,
          shaping.class_weights.size(), outputs);
  return std::make_unique<Loss>(function, weight, std::move(shaping), context);
}

LayerEntry LossEntry(CrossEntropy function, const char* type, const char* summary) {
  return {.name = type,
          .summary = summary,
          .options = {LossWeightOption(),
                      {.name = "label_smoothing",
                       .type = OptionType::kFloat,
                       .fallback = 0.0,
                       .help = "As train.label_smoothing.",
                       .minimum = 0,
                       .maximum = 1,
                       .exclusive_maximum = true},
                      {.name = "class_weights",
                       .type = OptionType::kFloats,
                       .help = "Factors on the loss in training, by class.",
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
