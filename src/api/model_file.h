// ModelFile: a checkpoint's or an ONNX file's model ready to compute.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "model/bf16_copy.h"
#include "model/output_search.h"
#include "train/checkpoint/checkpoint.h"
#include "train/evaluation.h"
#include "train/job/devices.h"

namespace yoke {

/// Names an ONNX file.
struct OnnxPath {
  std::string path;
};

/// A model with its weights.
class ModelFile {
 public:
  /// Of a checkpoint. Throws UserError if it is damaged.
  explicit ModelFile(const std::string& path);
  /// Of an ONNX file, whose input is the model's: no input is normalized. Names of the classes, and
  /// the unit of a regression's targets, are those that yoke noted in a file of its own.
  explicit ModelFile(const OnnxPath& file);

  const CheckpointHeader& header() const { return checkpoint_ ? checkpoint_->header() : header_; }
  const Job& job() const { return job_; }
  const Graph& graph() const { return graph_; }
  /// Values for forward passes, in the job's arithmetic.
  const ParamView& params() const { return view_; }
  /// The checkpoint's folder, or the ONNX file.
  const std::string& folder() const { return folder_; }
  /// Reads the hash tables by which the output layer was trained; null if there are none.
  std::shared_ptr<const OutputSearch> TrainedTables() const;

 private:
  std::optional<Checkpoint> checkpoint_;  // none: an ONNX file
  CheckpointHeader header_;               // an ONNX file's
  std::string folder_;
  Job job_;
  Graph graph_;
  ParamStore params_;
  Bf16Copy bf16_;
  ParamView view_;
};

/// The model of a checkpoint, a run or an ONNX file (NAME.onnx). Throws UserError.
std::unique_ptr<const ModelFile> OpenModel(const std::string& path);

/// A model's values where its job trained them, if that was a device other than the CPU that this
/// machine has, and the model is not ranked (IsRanked); otherwise on the CPU.
class PlacedValues {
 public:
  explicit PlacedValues(const ModelFile& model);
  const ParamView& params() const { return view_; }
  Device& device() const { return *view_.values.device; }

 private:
  std::optional<Devices> devices_;
  Buffer values_;
  ParamView view_;
};

/// How to evaluate a model, on so many threads. Refers to both.
EvaluateRequest EvaluationOf(const ModelFile& model, const PlacedValues& values, int threads);
/// Throws UserError where the loss of data is impossible for any model.
void RequirePossible(const Metrics& metrics, const ModelFile& model);

/// The formula that turns a value of the data into the model's input: "value/255".
std::string InputFormula(const DataInfo& data);

/// The bytes of an ONNX file. Its metadata says how input is made from data, and has the names of
/// the classes. `complete`: the file takes values as the data have them, and gives probabilities or
/// the predictions of a regression.
std::string OnnxOf(const ModelFile& model, bool complete = false);

}  // namespace yoke
