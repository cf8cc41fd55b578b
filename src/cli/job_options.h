// JobOptions: the options that change keys of a job, shared by train and info.
#pragma once

#include <string>
#include <vector>

#include "train/job/job.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's
class App;
}

namespace yoke {

/// `--set KEY=VALUE` and the short flags such as `--threads N`.
class JobOptions {
 public:
  void Declare(CLI::App& app);
  /// The settings of the command line, short flags first. Throws UserError for a --set without `=`.
  Overrides Read() const;

 private:
  Overrides flags_;
  std::vector<std::string> sets_;
};

}  // namespace yoke
