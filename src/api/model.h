// Model: a trained model for programs: predict, evaluate, export. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "api/examples.h"
#include "api/model_file.h"
#include "api/predictor.h"

namespace yoke {

class Model {
 public:
  /// Of a checkpoint, a run directory or an ONNX file (NAME.onnx). Throws UserError with the file
  /// that is damaged or missing.
  explicit Model(const std::string& path);
  ~Model();

  const ModelFile& file() const { return *file_; }
  const DataInfo& data() const { return file_->header().data; }
  int64_t outputs() const { return data().outputs; }

  /// The probability of each output for each example, [examples, outputs], to `probabilities`; of a
  /// regression the numbers, in the unit of the targets.
  /// Throws UserError for examples that the model does not take.
  void Predict(Examples examples, std::span<float> probabilities);
  /// The `top` likeliest labels of each example, best first. Throws UserError for a regression.
  std::vector<std::vector<Guess>> Best(Examples examples, int top);
  /// Throws UserError for examples without labels.
  Metrics Evaluate(Examples examples);
  /// Writes an ONNX file; an input of the model's job is not replaced.
  void Export(const std::string& path) const;
  /// Writes the files of a checkpoint, without the rule's state, into the folder `path`, which
  /// exists.
  void Save(const std::string& path) const;

 private:
  std::unique_ptr<Reader> Read(Examples examples) const;
  /// Whether so many examples are worth a team of threads.
  bool NeedsTeam(int64_t examples) const;
  /// Calls work(begin, size) for each batch.
  template <typename Work>
  void ForEachBatch(int64_t examples, int64_t batch, const Work& work);

  std::unique_ptr<const ModelFile> file_;
  int threads_;
  double operations_;  ///< Of an example's forward pass.
  int64_t batch_;
  std::mutex mutex_;
  std::unique_ptr<Predictor> alone_, on_team_;  ///< Of all probabilities, by kernel threads.
};

}  // namespace yoke
