// GroupProducts: a group's rows are gathered into a dense block; the blocks' gradients are merged
// by row.
#include "model/layers/lsh_linear/group_products.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/round_up.h"
#include "kernels/convert.h"
#include "kernels/threads.h"
#include "model/layers/lsh_linear/lap_timer.h"

namespace yoke::layer {
namespace {

constexpr size_t kMostKernels = 256;  // the cache of kernels is cleared beyond that
constexpr double kBlockRoom = 1.25;   // of a block: it may grow by a quarter in place

}  // namespace

GroupProducts::GroupProducts(const LshPlanShape& shape, const PlanRequest& request)
    : shape_(shape), request_(request), type_(request.arithmetic) {}

void GroupProducts::Forward(const LayerCall& call, LshCounts& counts) {
  LapTimer timer;
  const size_t groups = call.active_output->groups.size();
  works_.resize(std::max(works_.size(), groups));
  locals_.resize(std::max<size_t>(locals_.size(), KernelThreads()));
  ForEachOnTeam(static_cast<int64_t>(groups), [&](int64_t g) {
    LapTimer input;
    TakeInput(call, static_cast<size_t>(g));
    input.Lap(local().gather);
    Multiply(call, static_cast<size_t>(g));
  });
  Divide(timer.Seconds(), counts);
}

/// Without labels, because their number per example is unknown here. The sets' ids are taken for
/// independent.
int64_t GroupProducts::WorkingBytes() const {
  const LshSettings& s = shape_.settings;
  const double sets = std::ceil(double(request_.batch) / double(s.group));
  const auto columns = double(RoundUp(std::llround(ActiveOf(s)), kPad)), inputs = double(s.inputs);
  const double element = bf16() ? 2 : sizeof(float);
  const double blocks = kBlockRoom * sets * columns * inputs * (element + sizeof(float));
  const double scores = 2 * double(request_.batch) * columns * sizeof(float);
  const double touched = TouchedOf(s, sets * columns);
  return static_cast<int64_t>(blocks + scores + touched * (inputs + 2) * sizeof(float));
}

void GroupProducts::Divide(double seconds, LshCounts& counts) {
  double gather = 0, product = 0;
  for (Local& one : locals_) {
    gather += std::exchange(one.gather, 0);
    product += std::exchange(one.product, 0);
  }
  const double share = gather + product > 0 ? gather / (gather + product) : 0;
  counts.gather += share * seconds;
  counts.product += (1 - share) * seconds;
}

GroupProducts::Local& GroupProducts::local() { return locals_[static_cast<size_t>(TeamThread())]; }

void GroupProducts::TakeInput(const LayerCall& call, size_t g) {
  const ActiveGroup& group = call.active_output->groups[g];
  Work& work = works_[g];
  work.columns.clear();
  if (call.active_input) {
    const ActiveGroup& below = call.active_input->groups[g];
    const auto ids = call.active_input->IdsOf(below);
    work.columns.assign(ids.begin(), ids.end());
    work.width = below.columns;
    work.input = ToOperands(call.active_input->values.data() + below.value,
                            below.examples * below.columns, work.input_scratch);
    return;
  }
  if (request_.input.sparse) return TakeSparse(call, group, work);
  work.width = shape_.settings.inputs;
  void* to = work.input_scratch.Get<float>(group.examples * work.width);
  GatherRows({.table = call.input.As<float>(),
              .width = work.width,
              .rows = call.active_output->ExamplesOf(group),
              .padded_rows = group.examples,
              .padded_columns = work.width,
              .type = type_,
              .block = to});
  work.input = to;
}

/// The nonzero features of the group, as columns.
void GroupProducts::TakeSparse(const LayerCall& call, const ActiveGroup& group, Work& work) {
  const SparseRows rows = call.batch.sparse.View();
  const auto examples = call.active_output->ExamplesOf(group);
  for (const int32_t n : examples)
    work.columns.insert(work.columns.end(), rows.ids + rows.offsets[n],
                        rows.ids + rows.offsets[n + 1]);
  std::sort(work.columns.begin(), work.columns.end());
  work.columns.erase(std::unique(work.columns.begin(), work.columns.end()), work.columns.end());
  if (work.columns.empty()) work.columns.push_back(0);  // all inputs are 0
  work.width = RoundUp(static_cast<int64_t>(work.columns.size()), kPad);
  const int64_t count = group.examples * work.width;
  float* dense = work.dense.Get<float>(count);
  std::fill_n(dense, count, 0.0F);
  for (size_t i = 0; i < examples.size(); ++i)
    for (int64_t k = rows.offsets[examples[i]]; k < rows.offsets[examples[i] + 1]; ++k) {
      const auto at = std::lower_bound(work.columns.begin(), work.columns.end(), rows.ids[k]);
      dense[i * work.width + (at - work.columns.begin())] += rows.values ? rows.values[k] : 1.0F;
    }
  work.input = ToOperands(dense, count, work.input_scratch);
}

void GroupProducts::Multiply(const LayerCall& call, size_t g) {
  ActiveSet& set = *call.active_output;
  const ActiveGroup& group = set.groups[g];
  Work& work = works_[g];
  Local& own = local();
  LapTimer timer;
  const ConstTensor& weight = call.params[0].value;
  RowGather gather{.table = weight.data,
                   .width = shape_.settings.inputs,
                   .table_type = weight.type,
                   .rows = set.IdsOf(group),
                   .columns = work.columns,
                   .padded_rows = group.columns,
                   .padded_columns = work.width,
                   .type = type_,
                   .block = work.weight.Get<float>(group.columns * work.width)};
  GatherRows(gather);
  if (shape_.bias) {
    gather = {.table = call.params[1].value.As<float>(),
              .width = 1,
              .rows = set.IdsOf(group),
              .padded_rows = group.columns,
              .padded_columns = 1,
              .type = type_,
              .block = work.bias.Get<float>(group.columns)};
    GatherRows(gather);
  }
  timer.Lap(own.gather);
  float* values = set.values.data() + group.value;
  const int64_t count = group.examples * group.columns;
  void* result = bf16() ? work.output.Get<Bf16>(count) : static_cast<void*>(values);
  LinearKernel& kernel = KernelFor(group, work.width);
  kernel.Forward({.input = work.input,
                  .weight = work.weight.As<float>(),
                  .bias = shape_.bias ? work.bias.As<float>() : nullptr,
                  .output = result,
                  .scratch = own.scratch.Get<char>(kernel.scratch_bytes())});
  if (bf16()) ToF32(result, count, values);
  if (set.scores) FinishScores(shape_.settings, call, group);
  timer.Lap(own.product);
}

void GroupProducts::Backward(const LayerCall& call, LshCounts& counts) {
  LapTimer timer;
  ForEachOnTeam(static_cast<int64_t>(call.active_output->groups.size()),
                [&](int64_t g) { GradientsOf(call, static_cast<size_t>(g)); });
  timer.Lap(counts.product);
  Merge(call);
  timer.Lap(counts.merge);
}

void GroupProducts::GradientsOf(const LayerCall& call, size_t g) {
  ActiveSet& set = *call.active_output;
  const ActiveGroup& group = set.groups[g];
  Work& work = works_[g];
  const int64_t count = group.examples * group.columns;
  Local& own = local();
  void* gradient = ToOperands(set.gradient.data() + group.value, count, work.output_gradient);
  void* input_gradient = request_.input_gradient
                             ? own.input_gradient.Get<float>(group.examples * work.width)
                             : nullptr;
  LinearKernel& kernel = KernelFor(group, work.width);
  kernel.Backward(
      {.input = work.input,
       .weight = work.weight.As<float>(),
       .output =
           bf16() ? work.output.As<void>() : static_cast<void*>(set.values.data() + group.value),
       .output_gradient = gradient,
       .input_gradient = input_gradient,
       .weight_gradient = work.weight_gradient.Get<float>(group.columns * work.width),
       .bias_gradient = shape_.bias ? work.bias_gradient.Get<float>(group.columns) : nullptr,
       .scratch = own.scratch.Get<char>(kernel.scratch_bytes())});
  if (input_gradient) ReturnInputGradient(call, g, input_gradient);
}

void GroupProducts::ReturnInputGradient(const LayerCall& call, size_t g, const void* gradient) {
  const ActiveGroup& group = call.active_output->groups[g];
  const int64_t width = works_[g].width;
  if (call.active_input) {
    ActiveSet& below = *call.active_input;
    float* to = below.gradient.data() + below.groups[g].value;
    return ToF32(gradient, group.examples * width, to);
  }
  const auto examples = call.active_output->ExamplesOf(group);
  const auto* row = static_cast<const char*>(gradient);
  for (size_t i = 0; i < examples.size(); ++i, row += width * SizeOf(type_))
    ToF32(row, width, call.input_gradient.As<float>() + examples[i] * width);
}

void* GroupProducts::ToOperands(float* from, int64_t count, ScratchBuffer& scratch) const {
  if (!bf16()) return from;
  Bf16* to = scratch.Get<Bf16>(count);
  Convert({.shape = {count}, .data = from}, {.shape = {count}, .type = type_, .data = to});
  return to;
}

void GroupProducts::ToF32(const void* from, int64_t count, float* to) const {
  if (bf16())
    Convert({.shape = {count}, .type = type_, .data = from}, {.shape = {count}, .data = to});
  else
    std::copy_n(static_cast<const float*>(from), count, to);
}

void GroupProducts::Merge(const LayerCall& call) {
  const ActiveSet& set = *call.active_output;
  for (size_t p = 0; p < call.params.size(); ++p) {
    const bool bias = p == 1;
    blocks_.clear();
    for (size_t g = 0; g < set.groups.size(); ++g) {
      const Work& work = works_[g];
      blocks_.push_back({.rows = set.IdsOf(set.groups[g]),
                         .columns = bias ? std::span<const int32_t>() : work.columns,
                         .values = (bias ? work.bias_gradient : work.weight_gradient).As<float>(),
                         .stride = bias ? 1 : work.width});
    }
    RowGradient& rows = *call.params[p].rows;
    merge_.Run(blocks_, bias ? 1 : shape_.settings.inputs, rows.ids, rows.values);
  }
}

/// Kernels depend on the number of threads, and keep the pointers of their last call.
LinearKernel& GroupProducts::KernelFor(const ActiveGroup& group, int64_t inputs) {
  auto& kernels = local().kernels;
  const std::array<int64_t, 4> key = {group.examples, inputs, group.columns, KernelThreads()};
  if (const auto found = kernels.find(key); found != kernels.end()) return *found->second;
  if (kernels.size() >= kMostKernels) kernels.clear();
  return *(kernels[key] = MakeLinear({.batch = group.examples,
                                      .inputs = inputs,
                                      .outputs = group.columns,
                                      .type = type_,
                                      .bias = shape_.bias,
                                      .relu = shape_.relu,
                                      .training = true,
                                      .input_gradient = request_.input_gradient},
                                     request_.target));
}

}  // namespace yoke::layer
