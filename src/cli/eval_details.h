// EvalDetails: what `yoke eval --details` and the like print beyond the metrics.
#pragma once

#include <string>
#include <vector>

#include "api/model_file.h"
#include "cli/command.h"

namespace yoke {

/// The options of `yoke eval` that ask for more than metrics.
class EvalDetails {
 public:
  void Declare(Arguments& arguments);
  bool asked() const {
    return details_ || propensities_ || threshold_ >= 0 || !top_.empty() || mistakes_ > 0 ||
           !curves_.empty() || keep_;
  }
  /// Writes an event to where `yoke report` finds it, if --keep asks for that.
  void Keep(const ModelFile& model, const Table& event, Output& out) const;
  /// Throws UserError for options that do not fit the model and the data.
  void Check(const ModelFile& model, const Reader& reader) const;

  /// Scores all examples of a reader, whose names of classes or labels are `names`; writes the file
  /// of curves, prints, and returns what the event has.
  Table Measure(const ModelFile& model, const Reader& reader, const std::vector<std::string>& names,
                Output& out) const;

 private:
  bool details_ = false, propensities_ = false, keep_ = false;
  std::string top_, curves_;
  int mistakes_ = 0;
  double threshold_ = -1;  ///< Below 0: not given.
};

}  // namespace yoke
