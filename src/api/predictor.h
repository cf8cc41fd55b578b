// Predictor: the scores of a model's outputs for examples, a batch at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "api/model_file.h"
#include "model/output_search.h"
#include "model/ranking.h"

namespace yoke {

/// Examples per batch: enough for full speed, few enough to answer soon and to keep the layers'
/// outputs below 256 MiB.
int64_t PredictionBatch(const Graph& graph, int64_t top);

/// A label and its probability.
struct Guess {
  int32_t label = 0;
  float probability = 0;
};

/// What a Predictor computes.
struct PredictorRequest {
  int top = 1;  ///< Labels of Best.
  /// If set, only outputs that it finds are scored.
  const OutputSearch* tables = nullptr;
  bool all = false;  ///< For Probabilities: also where the model IsRanked. Without tables.
};

/// One caller at a time. Throws UserError for scores that are not finite.
class Predictor {
 public:
  /// The model stays where it is.
  Predictor(const ModelFile& model, const PredictorRequest& request);

  /// Reads the reader's examples [begin, begin + size) and computes their scores.
  void Forward(const Reader& reader, int64_t begin, int64_t size);
  /// The likeliest labels of the batch's example `i`, best first; once for each example.
  std::vector<Guess> Best(int64_t i) { return ranked_ ? Ranked(i) : Sorted(i); }
  /// The probability of each output, for the batch's example `i`, unless Best ranks them; once for
  /// each example.
  std::span<const float> Probabilities(int64_t i);
  /// Of a regression: the numbers predicted for the batch's example `i`, in the unit of the data.
  std::vector<double> Values(int64_t i) const;

 private:
  void Score(int64_t batch);
  void Rank(int64_t size);
  void RequireFinite(float score, int64_t i) const;
  std::span<float> Scores(int64_t i) const;
  std::vector<Guess> Sorted(int64_t i);
  std::vector<Guess> Ranked(int64_t i) const;

  const ModelFile& model_;
  PlacedValues values_;
  PredictorRequest request_;
  int64_t most_;  // examples of a batch
  bool ranked_;
  bool softmax_;
  Batch batch_;
  std::map<int64_t, std::unique_ptr<Scorer>> scorers_;  // by batch
  std::unique_ptr<Ranking> ranking_;
  int64_t ranking_batch_ = 0;
  std::span<float> scores_;  // of the batch, by a scorer
};

}  // namespace yoke
