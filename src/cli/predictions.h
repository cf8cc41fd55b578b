// Predictions: what `yoke predict` finds for each example, as lines of its output and of files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/value.h"
#include "data/parquet.h"
#include "data/writers.h"

namespace yoke {

/// One example's.
struct Prediction {
  int64_t index = 0;
  std::string file = {};  ///< Its own (an image), or "".
  bool regression = false;
  std::vector<std::string> labels = {};  ///< Best first; empty in a regression.
  std::vector<double> scores = {};       ///< The labels' probabilities, or the target numbers.

  /// As the event `prediction` has it: index, labels and scores, or index and values.
  Table Fields() const;
};

/// A file NAME.csv, with a header and a line an example, NAME.jsonl, an object a line, or
/// NAME.parquet, with the columns of NAME.csv.
class PredictionFile {
 public:
  /// Throws UserError for other names. `targets`: names of a regression's numbers; empty: there are
  /// up to `top` labels an example. `with_files`: examples have files of their own.
  PredictionFile(const std::string& path, const std::vector<std::string>& targets, int64_t top,
                 bool with_files);

  void Write(const Prediction& prediction);
  void Commit();

 private:
  std::string Line(const Prediction& prediction) const;
  void WriteLines();

  bool json_;
  bool with_files_;
  size_t top_;  // labels of a line; 0: targets
  OutputFile file_;
  std::unique_ptr<ParquetWriter> parquet_;  // null: of another kind
  std::string lines_;                       // that it has not taken yet
};

/// Throws UserError unless a name ends in .csv, .jsonl or .parquet, and where Parquet cannot be
/// written.
void CheckPredictionName(const std::string& path);

}  // namespace yoke
