// A job that a program has as a table.
#pragma once

#include "train/job/job.h"

namespace yoke {

/// Where a job's table comes from.
struct TableOrigin {
  std::string name = "job";  ///< Used for the default run directory.
  std::string folder = {};   ///< Base of relative paths, absolute.
};

/// The same as LoadJob for the content of a job file.
Job JobOfTable(Value root, const TableOrigin& origin, const Overrides& overrides,
               const std::vector<std::string>& open);

}  // namespace yoke
