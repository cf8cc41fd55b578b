// ExampleProducts: a list of uses by row, and the kernel of active rows.
#include "model/layers/lsh_linear/example_products.h"

#include <algorithm>
#include <cmath>

#include "base/round_up.h"
#include "model/layers/lsh_linear/lap_timer.h"

namespace yoke::layer {
namespace {

/// Row-sparse gradients of these ids, to be written. Leaves room for later steps, which differ
/// little: growing would keep twice as much.
float* Prepare(RowGradient& rows, const std::vector<int32_t>& ids, int64_t width) {
  const int64_t count = std::ssize(ids) * width;
  rows.ids = ids;
  if (rows.values.empty()) rows.values.reserve(count / 4 * 5);
  rows.values.resize(count);
  return rows.values.data();
}

}  // namespace

ExampleProducts::ExampleProducts(const LshPlanShape& shape, const PlanRequest& request)
    : shape_(shape),
      request_(request),
      kernel_(MakeActiveRows({.batch = request.batch,
                              .inputs = shape.settings.inputs,
                              .bias = shape.bias,
                              .relu = shape.relu,
                              .input_gradient = request.input_gradient},
                             request.target)) {}

void ExampleProducts::Forward(const LayerCall& call, LshCounts& counts) {
  LapTimer timer;
  ListUses(*call.active_output);
  timer.Lap(counts.gather);
  kernel_->Forward(CallOf(call));
  Finish(call);
  timer.Lap(counts.product);
}

void ExampleProducts::ListUses(const ActiveSet& set) {
  std::vector<RowUse>& uses = used_.uses();
  const auto count = static_cast<int64_t>(set.groups.size());
  uses.resize(set.ids.size());
  places_.resize(count);
#pragma omp parallel for schedule(static)
  for (int64_t g = 0; g < count; ++g) {
    const ActiveGroup& group = set.groups[g];
    const int32_t example = set.order[group.first];
    places_[g] = {.example = example, .first = group.value, .count = group.active};
    for (int64_t k = 0; k < group.active; ++k)
      uses[group.id + k] = {
          .id = set.ids[group.id + k], .example = example, .place = group.value + k};
  }
  used_.Find(shape_.settings.outputs);
}

void ExampleProducts::Finish(const LayerCall& call) const {
  ActiveSet& set = *call.active_output;
  for (const ActiveGroup& group : set.groups) {
    if (set.scores)
      FinishScores(shape_.settings, call, group);
    else
      std::fill_n(set.values.begin() + group.value + group.active, group.columns - group.active,
                  0.0F);
  }
}

ActiveRowsCall ExampleProducts::CallOf(const LayerCall& call) const {
  const ConstTensor& weight = call.params[0].value;
  const bool bf16 = weight.type == DType::kBf16;
  return {.used = used_.View(),
          .places = places_,
          .input = call.input.As<float>(),
          .weight = bf16 ? nullptr : weight.As<float>(),
          .bf16_weight = bf16 ? weight.As<Bf16>() : nullptr,
          .bias = shape_.bias ? call.params[1].value.As<float>() : nullptr,
          .values = call.active_output->values.data()};
}

void ExampleProducts::Backward(const LayerCall& call, LshCounts& counts) {
  LapTimer timer;
  ActiveRowsCall products = CallOf(call);
  products.gradient = call.active_output->gradient.data();
  products.row_gradient = Prepare(*call.params[0].rows, used_.ids(), shape_.settings.inputs);
  if (shape_.bias) products.bias_gradient = Prepare(*call.params[1].rows, used_.ids(), 1);
  if (request_.input_gradient) products.input_gradient = call.input_gradient.As<float>();
  if (scratch_.bytes() < kernel_->scratch_bytes())
    scratch_ = Buffer(Cpu(), kernel_->scratch_bytes());
  products.scratch = scratch_.As<void>();
  kernel_->Backward(products);
  timer.Lap(counts.product);
}

/// Without labels, because their number per example is unknown here. The sets' ids are taken for
/// independent.
int64_t ExampleProducts::WorkingBytes() const {
  const LshSettings& s = shape_.settings;
  const auto batch = double(request_.batch), ids = batch * ActiveOf(s);
  const double scores = 2 * batch * double(RoundUp(std::llround(ActiveOf(s)), kPad));
  const double rows = TouchedOf(s, ids) * double(s.inputs + 2);
  return static_cast<int64_t>(2 * ids * sizeof(RowUse) + (scores + rows) * sizeof(float)) +
         kernel_->scratch_bytes();
}

}  // namespace yoke::layer
