// LshPlan: keys of a batch's examples, their groups, and the active ids of each.
#include "model/layers/lsh_linear/plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/registry.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/sparse_linear/sparse_linear.h"
#include "kernels/threads.h"

namespace yoke::layer {
namespace {

constexpr int64_t kQueries = 16;      // examples that a thread hashes at a time
constexpr int64_t kFewIds = 1 << 16;  // to copy: a team costs more than it saves

/// The sparse rows of one example, for a group's block.
SparseRows RowOf(const std::span<const int32_t> ids, const float* values,
                 std::array<int64_t, 2>& offsets, int64_t width) {
  offsets = {0, static_cast<int64_t>(ids.size())};
  return {
      .rows = 1, .width = width, .offsets = offsets.data(), .ids = ids.data(), .values = values};
}

}  // namespace

LshPlan::LshPlan(const LshPlanShape& shape, const PlanRequest& request)
    : shape_(shape), request_(request), products_(MakeProducts(shape, request)) {
  output = {.shape = {shape.settings.outputs}, .active = shape.settings.wanted()};
  kernel = "active rows";
}

void LshPlan::CheckBatch(const Batch& batch) const {
  if (request_.input.sparse) CheckIds(batch.sparse.View(), shape_.settings.inputs);
}

void LshPlan::Forward(const LayerCall& call) {
  LshState& state = StateOf(call);
  LshCounts counts;
  LapTimer all, timer;
  const bool hashed = shape_.settings.hashed();
  if (hashed)
    tables_ =
        call.batch.goes_on ? state.InUse() : state.Prepare(call.params[0].value, call.batch.seed);
  timer.Lap(counts.rebuild);
  if (hashed) FindKeys(call);
  timer.Lap(counts.hash);
  MakeGroups(call);
  ChooseIds(call);
  LayOut(*call.active_output);
  Count(*call.active_output, counts);
  timer.Lap(counts.query);
  products_->Forward(call, counts);
  all.Lap(counts.passes);
  state.Count(counts);
}

int64_t LshPlan::WorkingBytes() const {
  const LshSettings& s = shape_.settings;
  const double sets = SetsOf(s, request_.batch);
  const auto bytes_of = [](const std::string& sampler) {
    return FindEntry(samplers(), "sampler", sampler).bytes_a_row;
  };
  const int64_t bytes_a_row = bytes_of("uniform") + (s.hashed() ? bytes_of(s.sampler) : 0);
  const double ids = 2 * sets * ActiveOf(s);  // as they are chosen, and laid out
  const double keys = double(request_.batch) * s.tables;
  return products_->WorkingBytes() + static_cast<int64_t>((ids + keys) * sizeof(int32_t)) +
         std::min<int64_t>(int64_t(sets), KernelThreads()) * s.outputs * bytes_a_row;
}

int64_t LshPlan::RowGradientBytes() const {
  const LshSettings& s = shape_.settings;
  const double rows = TouchedOf(s, SetsOf(s, request_.batch) * ActiveOf(s));
  const int64_t bias = shape_.bias ? 2 : 0;  // a value and an id, as the weight has
  return static_cast<int64_t>(rows * double(s.inputs + 1 + bias) * sizeof(float));
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

/// Labels, then ids from the tables, then random ids, up to the wanted number if they fill. Where
/// groups are few, several threads count the ids of one.
void LshPlan::ChooseIds(const LayerCall& call) {
  const auto groups = static_cast<int64_t>(call.active_output->groups.size());
  chosen_.resize(groups), label_counts_.resize(groups), hard_counts_.resize(groups);
  const int64_t threads = KernelThreads();
  const bool share = groups < threads && WaitsFor(groups);
  while (std::ssize(locals_) < threads) {
    Local& added = locals_.emplace_back();
    added.hard = FindEntry(samplers(), "sampler", shape_.settings.sampler).make();
    added.random = FindEntry(samplers(), "sampler", "uniform").make();
  }
  if (!share)
    return ForEachOnTeam(groups, [&](int64_t g) {
      Local& own = locals_[TeamThread()];
      BeginChoice(call, g, own, 1);
      if (shape_.settings.hashed()) own.hard->Count(0, chosen_[g]);
      EndChoice(call, g, own);
    });
  const int64_t parts = std::bit_ceil(uint64_t(std::max<int64_t>(2, threads / groups)));
  ForEachOnTeam(groups, [&](int64_t g) { BeginChoice(call, g, locals_[g], parts); });
  if (shape_.settings.hashed())
    ForEachOnTeam(groups * parts, [&](int64_t p) {
      locals_[p / parts].hard->Count(p % parts, chosen_[p / parts]);
    });
  ForEachOnTeam(groups, [&](int64_t g) { EndChoice(call, g, locals_[g]); });
}

void LshPlan::BeginChoice(const LayerCall& call, size_t g, Local& own, int64_t parts) {
  const LshSettings& s = shape_.settings;
  const ActiveGroup& group = call.active_output->groups[g];
  const auto examples = call.active_output->ExamplesOf(group);
  chosen_[g].clear();
  if (call.active_output->scores) AddLabels(call, group, chosen_[g]);
  label_counts_[g] = std::ssize(chosen_[g]);
  if (!s.hashed()) return;
  own.keys.resize(examples.size() * s.tables);
  for (size_t i = 0; i < examples.size(); ++i)
    std::copy_n(keys_.data() + int64_t{examples[i]} * s.tables, s.tables,
                own.keys.data() + i * s.tables);
  own.hard->Begin({.tables = tables_.tables,
                   .keys = own.keys.data(),
                   .examples = group.examples,
                   .rows = s.outputs,
                   .wanted = s.hard,
                   .threshold = s.threshold},
                  parts);
}

void LshPlan::EndChoice(const LayerCall& call, size_t g, Local& own) {
  const LshSettings& s = shape_.settings;
  const ActiveSet& set = *call.active_output;
  std::vector<int32_t>& ids = chosen_[g];
  const auto draws = [&](uint64_t purpose) {
    const int32_t first = set.ExamplesOf(set.groups[g])[0];
    return Random(
        {call.batch.seed, Word(Draw::kActive), purpose, static_cast<uint64_t>(call.batch.epoch),
         static_cast<uint64_t>(call.batch.examples[first]), static_cast<uint64_t>(shape_.index)});
  };
  if (s.hashed()) own.hard->Append(draws(0), ids);
  hard_counts_[g] = std::ssize(ids);
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
  int64_t id = 0, value = 0;
  for (size_t g = 0; g < set.groups.size(); ++g) {
    ActiveGroup& group = set.groups[g];
    group.id = id;
    group.active = static_cast<int64_t>(chosen_[g].size());
    group.labels = label_counts_[g];
    group.hard = hard_counts_[g];
    group.columns = RoundUp(std::max<int64_t>(group.active, 1), kPad);
    group.value = value;
    id += group.active, value += group.examples * group.columns;
  }
  ResizeWithRoom(set.ids, id);
#pragma omp parallel for schedule(static) if (id > kFewIds)
  for (size_t g = 0; g < set.groups.size(); ++g)
    std::ranges::copy(chosen_[g], set.ids.begin() + set.groups[g].id);
  ResizeWithRoom(set.values, value);
  ResizeWithRoom(set.gradient, value);
}

void LshPlan::Backward(const LayerCall& call) {
  LshState& state = StateOf(call);
  LshCounts counts;
  LapTimer all;
  products_->Backward(call, counts);
  LapTimer timer;
  state.Touch(call.params[0].rows->ids);
  timer.Lap(counts.merge);
  all.Lap(counts.passes);
  state.Count(counts);
}

}  // namespace yoke::layer
