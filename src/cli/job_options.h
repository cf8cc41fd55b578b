// JobOptions: the options that change keys of a job, shared by train and info.
#pragma once

#include <string>
#include <vector>

#include "train/job/job.h"

namespace yoke {

class Arguments;

/// `--set KEY=VALUE` and the short flags such as `--threads N`.
class JobOptions {
 public:
  void Declare(Arguments& arguments);
  /// The settings of the command line, short flags first. Throws UserError for a --set without `=`.
  Overrides Read() const;

 private:
  Overrides flags_;
  std::vector<std::string> sets_;
};

}  // namespace yoke
