// Parts: what a job's names stand for.
#include "train/job/parts.h"

#include <algorithm>

#include "base/check.h"
#include "base/registry.h"
#include "kernels/threads.h"

namespace yoke {

namespace {

std::vector<int64_t> CategoriesOf(const std::vector<ColumnEncoding>& encodings) {
  std::vector<int64_t> categories;
  if (std::ranges::none_of(encodings, &ColumnEncoding::by_id)) return categories;
  for (const ColumnEncoding& column : encodings)
    for (int64_t i = 0; i < column.Features(); ++i)
      categories.push_back(column.by_id ? std::ssize(column.categories) : 0);
  return categories;
}

}  // namespace

ModelTask TaskOf(const DataInfo& data) {
  Edge input;
  input.shape = data.input;
  input.sparse = data.sparse;
  return {.input = input,
          .outputs = data.outputs,
          .multi_label = data.multi_label,
          .regression = data.regression,
          .categories = CategoriesOf(data.encodings)};
}

const StrategyEntry& StrategyOf(const Job& job) {
  return FindEntry(strategies(), "strategy", job.cluster.String("strategy"));
}

Roles RolesOf(const Job& job) {
  return RolesIn(StrategyOf(job), job.cluster, static_cast<int>(job.cluster.Int("replicas")));
}

int64_t BatchOf(const Job& job) {
  const int64_t batch = job.train.Int("batch");
  if (!StrategyOf(job).divides_batch(job.cluster)) return batch;
  const int team = RolesOf(job).team;
  Require(batch % team == 0,
          "{} = {}: the {} replicas of a group share a batch; expected a multiple of {}",
          job.train.Where("batch"), batch, team, team);
  return batch / team;
}

namespace {

/// The job's, or momentum where its strategy needs that.
const RuleEntry& RuleEntryOf(const Job& job) {
  const RuleEntry& entry = FindEntry(rules(), "rule", job.train.String("rule"));
  if (!StrategyOf(job).forces_momentum || !entry.make(job.train)->StateNames().empty())
    return entry;
  return FindEntry(rules(), "rule", "momentum");
}

}  // namespace

std::unique_ptr<UpdateRule> RuleOf(const Job& job) {
  const RuleEntry& entry = RuleEntryOf(job);
  const Value& train = *job.resolved.Find("train");
  Table keys;
  for (const OptionSpec& option : entry.options)
    if (const Value* given = train.Find(option.name))
      keys.emplace_back(option.name, *given);
    else if (option.name == "velocity" && StrategyOf(job).sums_steps(job.cluster))
      keys.emplace_back(option.name, "steps");
  return entry.make(Options("train", keys, entry.options));
}

DType ArithmeticOf(const Job& job) {
  return job.node.String("precision") == "bf16" ? DType::kBf16 : DType::kF32;
}

void RequirePrecision(const Job& job, const Devices& devices) {
  const KernelLibrary library = DescribeKernelLibrary();
  const auto is_gpu = [](const Device* device) { return device->name().starts_with("cuda:"); };
  if (std::ranges::all_of(devices.all(), is_gpu)) return;
  Require(ArithmeticOf(job) == DType::kF32 || library.fast_bf16 || job.ReferenceKernels(),
          "{}: bf16 would be slower than f32 here: there is no bf16 arithmetic at {} (`yoke "
          "doctor`); use "
          "precision = \"f32\"",
          job.node.Where("precision"), library.level);
}

DType RowTypeOf(const Job& job) {
  return job.train.String("weights") == "bf16" ? DType::kBf16 : DType::kF32;
}

}  // namespace yoke
