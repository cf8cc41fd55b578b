// Fit: compares a job and its data with those of a checkpoint.
#include "train/checkpoint/fit.h"

#include "base/check.h"

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

void CheckSameData(const Job& job, const Reader& data, const CheckpointHeader& header,
                   const std::string& run) {
  const DataInfo& info = data.Info();
  Require(header.data.input == info.input,
          "the training data of {} has changed: its examples are {}, and the checkpoint was "
          "trained on {}",
          run, info.input.Text(), header.data.input.Text());
  for (const char* share : {"test_share", "validation_share"})
    Require(!job.data().Find(share) || SameKey(job, header, "train", "seed"),
            "train.seed cannot change when {} is resumed: data.{} would be drawn again, and "
            "held-out examples would become training examples",
            run, share);
  Require(header.position.examples == data.Size() && header.data.label_names == info.label_names,
          "the training data of {} has changed: it has {} examples in {} classes, and the "
          "checkpoint was trained on {} in {}",
          run, data.Size(), info.label_names.size(), header.position.examples,
          header.data.label_names.size());
}

}  // namespace yoke
