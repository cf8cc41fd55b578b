// GroupProducts: a group's rows are gathered into a dense block; the blocks' gradients are merged
// by row.
#include "model/layers/lsh_linear/group_products.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/algorithms.h"
#include "base/clock.h"
#include "kernels/convert.h"
#include "kernels/threads.h"

namespace yoke::layer {
namespace {

constexpr size_t kMostKernels = 256;  // the cache of kernels is cleared beyond that
constexpr double kBlockRoom = 1.25;   // of a block: it may grow by a quarter in place
constexpr int64_t kColumns = 256;     // of a block, if threads share a group
constexpr int64_t kExamples = 16;     // of a block of input gradients, likewise

}  // namespace

GroupProducts::GroupProducts(const LshPlanShape& shape, const PlanRequest& request)
    : shape_(shape), request_(request), type_(request.arithmetic) {}

void GroupProducts::Forward(const LayerCall& call, LshCounts& counts) {
  LapTimer timer;
  const size_t groups = call.active_output->groups.size();
  works_.resize(std::max(works_.size(), groups));
  locals_.resize(std::max<size_t>(locals_.size(), KernelThreads()));
  DivideGroups(*call.active_output);
  const auto take_input = [&](size_t g) {
    LapTimer input;
    TakeInput(call, g);
    input.Lap(local().gather);
  };
  if (!whole_) ForEachOnTeam(static_cast<int64_t>(groups), take_input);
  ForEachOnTeam(std::ssize(blocks_), [&](int64_t b) {
    if (whole_) take_input(blocks_[b].group);
    Multiply(call, blocks_[b]);
  });
  Divide(timer.Seconds(), counts);
}

void GroupProducts::DivideGroups(const ActiveSet& set) {
  blocks_.clear(), examples_.clear();
  whole_ = !WaitsFor(std::ssize(set.groups));
  for (size_t g = 0; g < set.groups.size(); ++g) {
    const ActiveGroup& group = set.groups[g];
    const int64_t step = whole_ ? group.columns : kColumns;
    for (int64_t begin = 0; begin < group.columns; begin += step)
      blocks_.push_back({g, begin, std::min(begin + step, group.columns)});
    for (int64_t begin = 0; begin < group.examples && !whole_; begin += kExamples)
      examples_.push_back({g, begin, std::min(begin + kExamples, group.examples)});
  }
}

/// Without labels, because their number per example is unknown here. The sets' ids are taken for
/// independent.
int64_t GroupProducts::WorkingBytes() const {
  const LshSettings& s = shape_.settings;
  const double sets = SetsOf(s, request_.batch);
  const auto columns = double(RoundUp(std::llround(ActiveOf(s)), kPad)), inputs = double(s.inputs);
  const double element = bf16() ? 2 : sizeof(float);
  const double blocks = kBlockRoom * sets * columns * inputs * (element + sizeof(float));
  const double scores = 2 * double(request_.batch) * columns * sizeof(float);
  const double merge = sets * columns * double(RowMerge::BytesARow());
  return static_cast<int64_t>(blocks + scores + merge);
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
  } else if (request_.input.sparse) {
    TakeSparse(call, group, work);
  } else {
    TakeDense(call, group, work);
  }
  Reserve(group, work);
}

void GroupProducts::TakeDense(const LayerCall& call, const ActiveGroup& group, Work& work) {
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

void GroupProducts::Reserve(const ActiveGroup& group, Work& work) const {
  const int64_t scores = group.examples * group.columns;
  work.weight.Get<float>(group.columns * work.width);
  work.weight_gradient.Get<float>(group.columns * work.width);
  work.bias.Get<float>(group.columns);
  work.bias_gradient.Get<float>(group.columns);
  if (!bf16()) return;
  work.output.Get<Bf16>(scores);
  work.output_gradient.Get<Bf16>(scores);
}

void GroupProducts::Gather(const LayerCall& call, const Block& block) {
  const ActiveSet& set = *call.active_output;
  const ActiveGroup& group = set.groups[block.group];
  const Work& work = works_[block.group];
  const ConstTensor& weight = call.params[0].value;
  RowGather gather{.table = weight.data,
                   .width = shape_.settings.inputs,
                   .table_type = weight.type,
                   .rows = set.IdsOf(group).first(std::min(block.end, group.active)),
                   .columns = work.columns,
                   .padded_rows = block.columns(),
                   .padded_columns = work.width,
                   .type = type_,
                   .block = WeightAt(work, block)};
  gather.rows = gather.rows.subspan(std::min(block.begin, group.active));
  GatherRows(gather);
  if (!shape_.bias) return;
  gather.table = call.params[1].value.data, gather.table_type = DType::kF32;
  gather.block = BiasAt(work, block);
  gather.width = gather.padded_columns = 1, gather.columns = {};
  GatherRows(gather);
}

void GroupProducts::Multiply(const LayerCall& call, const Block& block) {
  ActiveSet& set = *call.active_output;
  const ActiveGroup& group = set.groups[block.group];
  const Work& work = works_[block.group];
  Local& own = local();
  LapTimer timer;
  Gather(call, block);
  timer.Lap(own.gather);
  float* values = set.values.data() + group.value;
  LinearKernel& kernel = KernelFor(group.examples, work.width, block.columns(), group.columns);
  kernel.Forward({.input = work.input,
                  .weight = WeightAt(work, block),
                  .bias = shape_.bias ? BiasAt(work, block) : nullptr,
                  .output = Operands(values, work.output, block.begin),
                  .scratch = own.scratch.Get<char>(kernel.scratch_bytes())});
  if (bf16())
    for (int64_t at = block.begin; at < group.examples * group.columns; at += group.columns)
      ToF32(work.output.As<Bf16>() + at, block.columns(), values + at);
  if (set.scores) FinishScores(shape_.settings, call, group, block.begin, block.end);
  timer.Lap(own.product);
}

void GroupProducts::Backward(const LayerCall& call, LshCounts& counts) {
  LapTimer timer;
  ForEachOnTeam(std::ssize(blocks_), [&](int64_t b) { GradientsOf(call, blocks_[b]); });
  if (request_.input_gradient)
    ForEachOnTeam(std::ssize(examples_), [&](int64_t e) { InputGradientOf(call, examples_[e]); });
  timer.Lap(counts.product);
  Merge(call);
  timer.Lap(counts.merge);
}

void GroupProducts::GradientsOf(const LayerCall& call, const Block& block) {
  ActiveSet& set = *call.active_output;
  const ActiveGroup& group = set.groups[block.group];
  Work& work = works_[block.group];
  Local& own = local();
  float* gradient = set.gradient.data() + group.value;
  if (bf16())
    for (int64_t at = block.begin; at < group.examples * group.columns; at += group.columns)
      ToBf16(gradient + at, block.columns(), work.output_gradient.As<Bf16>() + at);
  void* input_gradient = whole_ && request_.input_gradient
                             ? own.input_gradient.Get<float>(group.examples * work.width)
                             : nullptr;
  LinearKernel& kernel = KernelFor(group.examples, work.width, block.columns(), group.columns);
  kernel.Backward(
      {.input = work.input,
       .weight = WeightAt(work, block),
       .output = Operands(set.values.data() + group.value, work.output, block.begin),
       .output_gradient = Operands(gradient, work.output_gradient, block.begin),
       .input_gradient = input_gradient,
       .weight_gradient = work.weight_gradient.As<float>() + block.begin * work.width,
       .bias_gradient = shape_.bias ? work.bias_gradient.As<float>() + block.begin : nullptr,
       .scratch = own.scratch.Get<char>(kernel.scratch_bytes())});
  if (input_gradient) ReturnInputGradient(call, {block.group, 0, group.examples}, input_gradient);
}

void GroupProducts::InputGradientOf(const LayerCall& call, const Examples& some) {
  ActiveSet& set = *call.active_output;
  const ActiveGroup& group = set.groups[some.group];
  const Work& work = works_[some.group];
  Local& own = local();
  const int64_t examples = some.end - some.begin, at = some.begin * group.columns;
  void* input_gradient = own.input_gradient.Get<float>(examples * work.width);
  LinearKernel& kernel = KernelFor(examples, work.width, group.columns, group.columns);
  kernel.Backward(
      {.weight = work.weight.As<void>(),
       .output = Operands(set.values.data() + group.value, work.output, at),
       .output_gradient = Operands(set.gradient.data() + group.value, work.output_gradient, at),
       .input_gradient = input_gradient,
       .scratch = own.scratch.Get<char>(kernel.scratch_bytes())});
  ReturnInputGradient(call, some, input_gradient);
}

void GroupProducts::ReturnInputGradient(const LayerCall& call, const Examples& some,
                                        const void* gradient) {
  const ActiveGroup& group = call.active_output->groups[some.group];
  const int64_t width = works_[some.group].width;
  if (call.active_input) {
    ActiveSet& below = *call.active_input;
    float* to = below.gradient.data() + below.groups[some.group].value + some.begin * width;
    return ToF32(gradient, (some.end - some.begin) * width, to);
  }
  const auto examples = call.active_output->ExamplesOf(group);
  const auto* row = static_cast<const char*>(gradient);
  for (int64_t i = some.begin; i < some.end; ++i, row += width * SizeOf(type_))
    ToF32(row, width, call.input_gradient.As<float>() + examples[i] * width);
}

void* GroupProducts::ToOperands(float* from, int64_t count, ScratchBuffer& scratch) const {
  if (!bf16()) return from;
  Bf16* to = scratch.Get<Bf16>(count);
  ToBf16(from, count, to);
  return to;
}

void GroupProducts::ToBf16(const float* from, int64_t count, Bf16* to) {
  Convert({.shape = {count}, .data = from}, {.shape = {count}, .type = DType::kBf16, .data = to});
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
    row_blocks_.clear();
    for (size_t g = 0; g < set.groups.size(); ++g) {
      const Work& work = works_[g];
      row_blocks_.push_back(
          {.rows = set.IdsOf(set.groups[g]),
           .columns = bias ? std::span<const int32_t>() : work.columns,
           .values = (bias ? work.bias_gradient : work.weight_gradient).As<float>(),
           .stride = bias ? 1 : work.width});
    }
    RowGradient& rows = *call.params[p].rows;
    if (bias)
      rows.ids = call.params[0].rows->ids;
    else
      merge_.Match(row_blocks_, rows.ids);
    merge_.Sum(row_blocks_, bias ? 1 : shape_.settings.inputs, rows.values);
  }
}

/// Kernels keep the pointers of their last call: each thread has its own.
LinearKernel& GroupProducts::KernelFor(int64_t examples, int64_t inputs, int64_t columns,
                                       int64_t stride) {
  auto& kernels = local().kernels;
  const std::array<int64_t, 4> key = {examples, inputs, columns, stride};
  if (const auto found = kernels.find(key); found != kernels.end()) return *found->second;
  if (kernels.size() >= kMostKernels) kernels.clear();
  return *(kernels[key] = MakeLinear({.batch = examples,
                                      .inputs = inputs,
                                      .outputs = columns,
                                      .type = type_,
                                      .bias = shape_.bias,
                                      .relu = shape_.relu,
                                      .training = true,
                                      .input_gradient = request_.input_gradient,
                                      .stride = stride},
                                     request_.target));
}

}  // namespace yoke::layer
