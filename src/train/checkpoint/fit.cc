// Fit: compares a job and its data with those of a checkpoint.
#include "train/checkpoint/fit.h"

#include "base/check.h"

namespace yoke {
namespace {

constexpr const char* kWayOn =
    "resume with the data of before, or train a new run on these (`yoke train JOB --run NAME`)";

}  // namespace

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

void CheckSameData(const Job& job, const Reader& data, const CheckpointHeader& header,
                   const std::string& run) {
  const DataInfo& info = data.Info();
  Require(header.data.input == info.input,
          "the training data of {} has changed: its examples are {}, and the checkpoint was "
          "trained on {}; {}",
          run, info.input.Text(), header.data.input.Text(), kWayOn);
  for (const char* share : {"test_share", "validation_share"})
    Require(!job.data().Find(share) || SameKey(job, header, "train", "seed"),
            "train.seed cannot change when {} is resumed: data.{} would be drawn again, and "
            "held-out examples would become training examples",
            run, share);
  Require(header.position.examples == data.Size() && header.data.outputs == info.outputs,
          "the training data of {} has changed: it has {} examples and {} {}, and the checkpoint "
          "was trained on {} and {}; {}",
          run, data.Size(), info.outputs, info.multi_label ? "labels" : "classes",
          header.position.examples, header.data.outputs, kWayOn);
  Require(header.data.label_names == info.label_names,
          "the training data of {} has changed: its classes are others than those the checkpoint "
          "was trained on; {}",
          run, kWayOn);
  Require(header.data.columns.empty() || header.data.columns == info.columns,
          "the training data of {} has changed: its columns are others than those the checkpoint "
          "was trained on, or in another order; {}",
          run, kWayOn);
}

}  // namespace yoke
