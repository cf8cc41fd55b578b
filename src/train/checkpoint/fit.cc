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

namespace {

std::string SizeText(int64_t examples, const DataInfo& info) {
  const std::string text = fmt::format("{} examples", examples);
  return info.label_names.empty() ? text
                                  : fmt::format("{} in {} classes", text, info.label_names.size());
}

}  // namespace

void CheckSameData(const Job& job, const DataSets& sets, const CheckpointHeader& header,
                   const std::string& run) {
  const Reader& data = *sets.train;
  const DataInfo& info = data.Info();
  const std::string changed = fmt::format("the training data of {} has changed", run);
  const std::string way_on = fmt::format(
      "put back the files that {}/job.toml names, or train on these with another --run", run);
  Require(header.data.input == info.input,
          "{}: its examples are {}, and the checkpoint was trained on {}; {}", changed,
          info.input.Text(), header.data.input.Text(), way_on);
  for (const char* share : {"test_share", "validation_share"})
    Require(!job.data().Find(share) || SameKey(job, header, "train", "seed"),
            "train.seed cannot change when {} is resumed: data.{} would be drawn again, and "
            "held-out examples would become training examples",
            run, share);
  Require(header.position.examples == data.Size() &&
              header.data.label_names.size() == info.label_names.size(),
          "{}: it has {}, and the checkpoint was trained on {}; {}", changed,
          SizeText(data.Size(), info), SizeText(header.position.examples, header.data), way_on);
  Require(header.data.label_names == info.label_names, "{}: its classes have other names; {}",
          changed, way_on);
  const DataChecksum &then = header.training, &now = sets.training_files;
  const bool known = then.inputs != 0 || then.labels != 0;
  const bool inputs = then.inputs == now.inputs, labels = then.labels == now.labels;
  Require(!known || (inputs && labels),
          "{}: {} of the {} examples differ from those that the "
          "checkpoint was trained on (in value or order); {}",
          changed,
          labels   ? "inputs"
          : inputs ? "labels"
                   : "inputs and labels",
          data.Size(), way_on);
}

}  // namespace yoke
