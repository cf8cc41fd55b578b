// RowProducts: a list of uses by row, for the kernel of active rows.
#include "model/layers/lsh_linear/row_products.h"

#include <algorithm>
#include <cmath>

#include "base/algorithms.h"
#include "base/clock.h"

namespace yoke::layer {
namespace {

constexpr int64_t kFewGroups = 256;  // a team costs more than it saves

/// Row-sparse gradients of these ids, to be written.
float* Prepare(RowGradient& rows, const std::vector<int32_t>& ids, int64_t width) {
  rows.ids = ids;
  ResizeWithRoom(rows.values, std::ssize(ids) * width);
  return rows.values.data();
}

void ZeroPadding(const ActiveGroup& group, float* values) {
  for (int64_t i = 0; i < group.examples; ++i, values += group.columns)
    std::fill(values + group.active, values + group.columns, 0.0F);
}

}  // namespace

RowProducts::RowProducts(const LshPlanShape& shape, const PlanRequest& request)
    : shape_(shape),
      request_(request),
      kernel_(MakeActiveRows({.batch = request.batch,
                              .inputs = shape.settings.inputs,
                              .bias = shape.bias,
                              .relu = shape.relu,
                              .input_gradient = request.input_gradient,
                              .lock_free = shape.settings.lock_free},
                             request.target)) {}

void RowProducts::Forward(const LayerCall& call, LshCounts& counts) {
  LapTimer timer;
  ListUses(*call.active_output);
  timer.Lap(counts.gather);
  kernel_->Forward(CallOf(call));
  Finish(call);
  timer.Lap(counts.product);
}

void RowProducts::ListUses(const ActiveSet& set) {
  const auto groups = static_cast<int64_t>(set.groups.size());
  starts_.assign(groups + 1, 0);
  for (int64_t g = 0; g < groups; ++g)
    starts_[g + 1] = starts_[g] + set.groups[g].examples * set.groups[g].active;
  ResizeWithRoom(used_.uses(), starts_[groups]);
  places_.resize(set.order.size());
#pragma omp parallel for schedule(static)
  for (int64_t g = 0; g < groups; ++g)
    ListGroup(set, set.groups[g], used_.uses().data() + starts_[g]);
  used_.Find(shape_.settings.outputs);
}

void RowProducts::ListGroup(const ActiveSet& set, const ActiveGroup& group, RowUse* uses) {
  for (int64_t i = 0; i < group.examples; ++i) {
    const int32_t example = set.order[group.first + i];
    const int64_t place = group.value + i * group.columns;
    places_[group.first + i] = {.example = example, .first = place, .count = group.active};
    for (int64_t k = 0; k < group.active; ++k)
      *uses++ = {.id = set.ids[group.id + k], .example = example, .place = place + k};
  }
}

void RowProducts::Finish(const LayerCall& call) const {
  ActiveSet& set = *call.active_output;
#pragma omp parallel for schedule(static) if (std::ssize(set.groups) > kFewGroups)
  for (const ActiveGroup& group : set.groups) {
    if (set.scores)
      FinishScores(shape_.settings, call, group, 0, group.columns);
    else
      ZeroPadding(group, set.values.data() + group.value);
  }
}

ActiveRowsCall RowProducts::CallOf(const LayerCall& call) const {
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

void RowProducts::Backward(const LayerCall& call, LshCounts& counts) {
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
int64_t RowProducts::WorkingBytes() const {
  const LshSettings& s = shape_.settings;
  const auto batch = double(request_.batch), ids = batch * ActiveOf(s);
  const double scores = 2 * batch * double(RoundUp(std::llround(ActiveOf(s)), kPad));
  const double runs = TouchedOf(s, SetsOf(s, request_.batch) * ActiveOf(s));
  return static_cast<int64_t>(2 * ids * sizeof(RowUse) + scores * sizeof(float) +
                              runs * (sizeof(int32_t) + sizeof(int64_t))) +
         kernel_->scratch_bytes();
}

}  // namespace yoke::layer
