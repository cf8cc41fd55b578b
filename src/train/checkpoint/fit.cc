// Fit: compares a job and its data with those of a checkpoint.
#include "train/checkpoint/checkpoint.h"

#include "base/check.h"
#include "train/job/parts.h"

namespace yoke {

bool SameKey(const Job& job, const CheckpointHeader& header, const char* section, const char* key) {
  const Value* old_section = header.job.Find(section);
  const Value* old_value = old_section ? old_section->Find(key) : nullptr;
  const Value* value = job.resolved.Find(section)->Find(key);
  return old_value && value ? *old_value == *value : old_value == value;
}

bool GoesOnExactly(const Job& job, const CheckpointHeader& header) {
  return SameKey(job, header, "cluster", "strategy") &&
         SameKey(job, header, "cluster", "replicas") && SameKey(job, header, "train", "rule");
}

namespace {

std::string SizeText(int64_t examples, const DataInfo& info) {
  return fmt::format("{} examples and {} {}", examples, info.outputs, info.LabelKind());
}

}  // namespace

void CheckSameData(const Job& job, const DataSets& sets, const CheckpointHeader& header,
                   const std::string& run) {
  const Reader& data = *sets.train;
  const DataInfo& info = data.Info();
  const std::string changed = fmt::format("the training data of {} has changed", run);
  constexpr const char* kWayOn =
      "resume with the data of before, or train a new run on these (`yoke train JOB --run NAME`)";
  Require(header.data.input == info.input,
          "{}: its examples have the shape {}, and the checkpoint was trained on {}; {}", changed,
          info.input.Text(), header.data.input.Text(), kWayOn);
  for (const char* share : {"test_share", "validation_share"})
    Require(!job.data().Find(share) || job.data().Find("split_seed") ||
                SameKey(job, header, "train", "seed"),
            "train.seed cannot change when {} is resumed: data.{} would be drawn again, and "
            "held-out examples would become training examples",
            run, share);
  Require(header.position.examples == data.Size() && header.data.outputs == info.outputs,
          "{}: it has {}, and the checkpoint was trained on {}; {}", changed,
          SizeText(data.Size(), info), SizeText(header.position.examples, header.data), kWayOn);
  Require(header.data.label_names == info.label_names && header.data.regression == info.regression,
          "{}: its classes or targets are others than those the checkpoint was trained on; {}",
          changed, kWayOn);
  Require(header.data.columns.empty() || header.data.columns == info.columns,
          "{}: its columns are others than those the checkpoint was trained on, or in another "
          "order; {}",
          changed, kWayOn);
  Require(
      header.data.normalization.mean.empty() == info.normalization.mean.empty(),
      "{}: the checkpoint was trained on {} numbers (before, `auto` left those of tables as they "
      "were); resume with `--set data.normalize={}`",
      run, header.data.normalization.mean.empty() ? "raw" : "normalized",
      header.data.normalization.mean.empty() ? "none" : "standard");
  const DataChecksum &then = header.training, &now = sets.training_files;
  const bool inputs = then.inputs == 0 || then.inputs == now.inputs;
  const bool labels = then.labels == 0 || then.labels == now.labels;
  Require(inputs && labels,
          "{}: {} of the {} examples differ from those that the "
          "checkpoint was trained on (in value or order); {}",
          changed,
          labels   ? "inputs"
          : inputs ? "labels"
                   : "inputs and labels",
          data.Size(), kWayOn);
}

}  // namespace yoke
