// LshPlan: groups of examples, their active ids, and three small dense products for each.
#include "model/layers/lsh_linear/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/registry.h"
#include "base/round_up.h"
#include "kernels/convert.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/sparse_linear/sparse_linear.h"
#include "kernels/threads.h"

namespace yoke::layer {
namespace {

constexpr int64_t kPad = 64;  // block sizes are multiples of it, so that few kernels suffice
constexpr size_t kMostKernels = 256;  // the cache of kernels is cleared beyond that
constexpr int64_t kQueries = 16;      // examples that a thread hashes at a time
constexpr double kBlockRoom = 1.25;   // of a block: it may grow by a quarter in place
constexpr float kNothing = -1e30F;    // the score of padding: no loss, no gradient

class LapTimer {
 public:
  /// Since the last lap, or since it was made.
  double Seconds() {
    const double before = std::exchange(at_, Now());
    return at_ - before;
  }
  void Lap(double& part) { part += Seconds(); }

 private:
  double at_ = Now();
};

/// Ids of a set besides labels, about: without fill no more than its buckets hold. Full buckets are
/// met more often, by one id on average.
double ActiveOf(const LshSettings& s) {
  if (!s.hashed() || s.fill) return double(s.wanted());
  const double load = 1 + std::ldexp(double(s.outputs), -ShapeOf(s).key_bits);
  return std::min(double(s.hard), double(s.group) * s.tables * load) + double(s.random);
}

/// The sparse rows of one example, for a group's block.
SparseRows RowOf(const std::span<const int32_t> ids, const float* values,
                 std::array<int64_t, 2>& offsets, int64_t width) {
  offsets = {0, static_cast<int64_t>(ids.size())};
  return {
      .rows = 1, .width = width, .offsets = offsets.data(), .ids = ids.data(), .values = values};
}

}  // namespace

LshPlan::LshPlan(const LshPlanShape& shape, const PlanRequest& request)
    : shape_(shape), request_(request), type_(request.arithmetic) {
  output = {.shape = {shape.settings.outputs}, .active = shape.settings.wanted()};
  kernel = "active rows";
}

void LshPlan::Forward(const LayerCall& call) {
  if (request_.input.sparse) CheckIds(call.batch.sparse.View(), shape_.settings.inputs);
  LshState& state = StateOf(call);
  LshCounts counts;
  LapTimer all, timer;
  const bool hashed = shape_.settings.hashed();
  if (hashed) tables_ = state.Prepare(call.params[0].value.As<float>(), call.batch.seed);
  timer.Lap(counts.rebuild);
  if (hashed) FindKeys(call);
  timer.Lap(counts.hash);
  MakeGroups(call);
  ChooseIds(call);
  LayOut(*call.active_output);
  Count(*call.active_output, counts);
  timer.Lap(counts.query);
  const size_t groups = call.active_output->groups.size();
  works_.resize(std::max(works_.size(), groups));
  ForEachOnTeam(static_cast<int64_t>(groups), [&](int64_t g) {
    LapTimer input;
    TakeInput(call, static_cast<size_t>(g));
    input.Lap(local().gather);
    Multiply(call, static_cast<size_t>(g));
  });
  Divide(timer.Seconds(), counts);
  all.Lap(counts.passes);
  state.Count(counts);
}

/// Without labels, because their number per example is unknown here. The sets' ids are taken for
/// independent.
int64_t LshPlan::WorkingBytes() const {
  const LshSettings& s = shape_.settings;
  const double sets = std::ceil(double(request_.batch) / double(s.group));
  const auto columns = double(RoundUp(std::llround(ActiveOf(s)), kPad)), inputs = double(s.inputs);
  const double element = bf16() ? 2 : sizeof(float);
  const double blocks = kBlockRoom * sets * columns * inputs * (element + sizeof(float));
  const double scores = 2 * double(request_.batch) * columns * sizeof(float);
  const double touched = double(s.outputs) * -std::expm1(-sets * columns / double(s.outputs));
  return static_cast<int64_t>(blocks + scores + touched * (inputs + 2) * sizeof(float));
}

void LshPlan::Count(const ActiveSet& set, LshCounts& counts) const {
  for (const ActiveGroup& group : set.groups) {
    ++counts.sets;
    counts.labels += group.labels;
    counts.found += group.hard - group.labels;
    counts.random += group.active - group.hard;
    counts.empty += group.hard == group.labels ? 1 : 0;
  }
}

void LshPlan::Divide(double seconds, LshCounts& counts) {
  double gather = 0, product = 0;
  for (Local& one : locals_) {
    gather += std::exchange(one.gather, 0);
    product += std::exchange(one.product, 0);
  }
  const double share = gather + product > 0 ? gather / (gather + product) : 0;
  counts.gather += share * seconds;
  counts.product += (1 - share) * seconds;
}

LshPlan::Local& LshPlan::local() { return locals_[static_cast<size_t>(TeamThread())]; }

LshState& LshPlan::StateOf(const LayerCall& call) {
  if (call.state) return static_cast<LshState&>(*call.state);
  if (!own_state_) own_state_ = std::make_unique<LshState>(shape_.settings);
  return *own_state_;
}

void LshPlan::FindKeys(const LayerCall& call) {
  const int64_t size = call.batch.size, tables = shape_.settings.tables;
  keys_.resize(size * tables);
  if (call.active_input) return KeysOfActive(*call.active_input);
  const int64_t inputs = shape_.settings.inputs, blocks = (size + kQueries - 1) / kQueries;
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t first = b * kQueries, count = std::min(kQueries, size - first);
    uint32_t* keys = keys_.data() + first * tables;
    if (!request_.input.sparse) {
      tables_.hasher->Keys(call.input.As<float>() + first * inputs, count, inputs, keys);
      continue;
    }
    SparseRows rows = call.batch.sparse.View();
    rows.rows = count;
    rows.offsets += first;
    tables_.hasher->Keys(rows, keys);
  }
}

void LshPlan::KeysOfActive(const ActiveSet& input) {
  for (const ActiveGroup& group : input.groups) {
    const auto examples = input.ExamplesOf(group);
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < group.examples; ++i) {
      std::array<int64_t, 2> offsets;
      tables_.hasher->Keys(
          RowOf(input.IdsOf(group), input.values.data() + group.value + i * group.columns, offsets,
                shape_.settings.inputs),
          keys_.data() + int64_t{examples[i]} * shape_.settings.tables);
    }
  }
}

/// Sorts examples by their first key, so that similar ones share a group; above another active set
/// the groups stay the same.
void LshPlan::MakeGroups(const LayerCall& call) {
  ActiveSet& set = *call.active_output;
  set.groups.clear();
  if (call.active_input) {
    set.order = call.active_input->order;
    for (const ActiveGroup& below : call.active_input->groups)
      set.groups.push_back({.first = below.first, .examples = below.examples});
    return;
  }
  const int64_t size = call.batch.size, tables = shape_.settings.tables;
  set.order.resize(size);
  std::iota(set.order.begin(), set.order.end(), 0);
  if (tables > 0 && shape_.settings.group > 1)
    std::stable_sort(set.order.begin(), set.order.end(),
                     [&](int32_t a, int32_t b) { return keys_[a * tables] < keys_[b * tables]; });
  for (int64_t first = 0; first < size; first += shape_.settings.group)
    set.groups.push_back(
        {.first = first, .examples = std::min(shape_.settings.group, size - first)});
}

void LshPlan::ChooseIds(const LayerCall& call) {
  const auto groups = static_cast<int64_t>(call.active_output->groups.size());
  chosen_.resize(groups), label_counts_.resize(groups), hard_counts_.resize(groups);
  while (static_cast<int>(locals_.size()) < KernelThreads()) {
    Local& added = locals_.emplace_back();
    added.hard = FindEntry(samplers(), "sampler", shape_.settings.sampler).make();
    added.random = FindEntry(samplers(), "sampler", "uniform").make();
  }
  ForEachOnTeam(groups, [&](int64_t g) { ChooseFor(call, static_cast<size_t>(g)); });
}

/// Labels, then ids from the tables, then random ids, up to the wanted number if they fill.
void LshPlan::ChooseFor(const LayerCall& call, size_t g) {
  const LshSettings& s = shape_.settings;
  const ActiveGroup& group = call.active_output->groups[g];
  const auto examples = call.active_output->ExamplesOf(group);
  Local& own = local();
  std::vector<int32_t>& ids = chosen_[g];
  ids.clear();
  if (call.active_output->scores) AddLabels(call, group, ids);
  label_counts_[g] = static_cast<int64_t>(ids.size());
  const auto draws = [&](uint64_t purpose) {
    return Random({call.batch.seed, Word(Draw::kActive), purpose,
                   static_cast<uint64_t>(call.batch.epoch),
                   static_cast<uint64_t>(call.batch.examples[examples[0]]),
                   static_cast<uint64_t>(shape_.index)});
  };
  if (s.hashed()) {
    own.keys.resize(examples.size() * s.tables);
    for (size_t i = 0; i < examples.size(); ++i)
      std::copy_n(keys_.data() + int64_t{examples[i]} * s.tables, s.tables,
                  own.keys.data() + i * s.tables);
    own.hard->Sample({.tables = tables_.tables,
                      .keys = own.keys.data(),
                      .examples = group.examples,
                      .rows = s.outputs,
                      .wanted = s.hard,
                      .threshold = s.threshold},
                     draws(0), ids);
  }
  hard_counts_[g] = static_cast<int64_t>(ids.size());
  const int64_t found = hard_counts_[g] - label_counts_[g];
  const int64_t missing = s.fill ? s.hard - found : 0;
  own.random->Sample({.rows = s.outputs, .wanted = s.random + missing}, draws(1), ids);
}

void LshPlan::AddLabels(const LayerCall& call, const ActiveGroup& group,
                        std::vector<int32_t>& ids) const {
  const CrossEntropyShape labels{.batch = call.batch.size, .outputs = shape_.settings.outputs};
  for (const int32_t example : call.active_output->ExamplesOf(group)) {
    const Targets targets = TargetsOf(call.batch.Targets(), labels, example);
    for (int64_t k = 0; k < targets.count; ++k)  // with one output, class 1 is that output
      ids.push_back(std::min(targets.ids[k], static_cast<int32_t>(labels.outputs) - 1));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

void LshPlan::LayOut(ActiveSet& set) const {
  set.ids.clear();
  int64_t value = 0;
  for (size_t g = 0; g < set.groups.size(); ++g) {
    ActiveGroup& group = set.groups[g];
    group.id = static_cast<int64_t>(set.ids.size());
    group.active = static_cast<int64_t>(chosen_[g].size());
    group.labels = label_counts_[g];
    group.hard = hard_counts_[g];
    group.columns = RoundUp(std::max<int64_t>(group.active, 1), kPad);
    group.value = value;
    value += group.examples * group.columns;
    set.ids.insert(set.ids.end(), chosen_[g].begin(), chosen_[g].end());
  }
  set.values.resize(value);
  set.gradient.resize(value);
}

void LshPlan::TakeInput(const LayerCall& call, size_t g) {
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
void LshPlan::TakeSparse(const LayerCall& call, const ActiveGroup& group, Work& work) {
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

void LshPlan::Multiply(const LayerCall& call, size_t g) {
  ActiveSet& set = *call.active_output;
  const ActiveGroup& group = set.groups[g];
  Work& work = works_[g];
  Local& own = local();
  LapTimer timer;
  RowGather gather{.table = call.params[0].value.As<float>(),
                   .width = shape_.settings.inputs,
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
  if (set.scores) FinishScores(call, group);
  timer.Lap(own.product);
}

/// Corrects the scores of random ids, and excludes padding from the loss.
void LshPlan::FinishScores(const LayerCall& call, const ActiveGroup& group) const {
  const LshSettings& s = shape_.settings;
  const int64_t random = group.active - group.hard;
  const bool correct = s.correct && random > 0 && call.batch.epoch + 1 >= s.correct_from;
  const float more =
      correct ? std::log(float(s.outputs - group.hard) / static_cast<float>(random)) : 0.0F;
  float* values = call.active_output->values.data() + group.value;
  for (int64_t i = 0; i < group.examples; ++i, values += group.columns) {
    if (more != 0)
      for (int64_t k = group.hard; k < group.active; ++k) values[k] += more;
    std::fill(values + group.active, values + group.columns, kNothing);
  }
}

void LshPlan::Backward(const LayerCall& call) {
  LshState& state = StateOf(call);
  LshCounts counts;
  LapTimer all, timer;
  ForEachOnTeam(static_cast<int64_t>(call.active_output->groups.size()),
                [&](int64_t g) { GradientsOf(call, static_cast<size_t>(g)); });
  timer.Lap(counts.product);
  Merge(call);
  state.Touch(call.params[0].rows->ids);
  timer.Lap(counts.merge);
  all.Lap(counts.passes);
  state.Count(counts);
}

void LshPlan::GradientsOf(const LayerCall& call, size_t g) {
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

void LshPlan::ReturnInputGradient(const LayerCall& call, size_t g, const void* gradient) {
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

void* LshPlan::ToOperands(float* from, int64_t count, ScratchBuffer& scratch) const {
  if (!bf16()) return from;
  Bf16* to = scratch.Get<Bf16>(count);
  Convert({.shape = {count}, .data = from}, {.shape = {count}, .type = type_, .data = to});
  return to;
}

void LshPlan::ToF32(const void* from, int64_t count, float* to) const {
  if (bf16())
    Convert({.shape = {count}, .type = type_, .data = from}, {.shape = {count}, .data = to});
  else
    std::copy_n(static_cast<const float*>(from), count, to);
}

void LshPlan::Merge(const LayerCall& call) {
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
LinearKernel& LshPlan::KernelFor(const ActiveGroup& group, int64_t inputs) {
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
