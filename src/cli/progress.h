// Progress: how a training run is shown: a live line on a terminal, plain lines elsewhere, events
// under --json.
#pragma once

#include <memory>
#include <string>

#include "cli/output.h"
#include "train/trainer.h"

namespace yoke {

/// The observer that fits `out`: events under --json, else lines, with a live line on a terminal.
std::unique_ptr<Observer> MakeProgress(Output& out);

/// The live line for a terminal of `columns` columns; `metric` ("accuracy 0.9012", or empty) is
/// that of the last epoch. Always shorter than `columns`; what fits least is left out first.
std::string LiveLine(const StepEvent& step, const std::string& metric, int columns);

/// "accuracy 0.9012": the metric that says most about these, or "" when there is none.
std::string Headline(const Metrics& metrics);

}  // namespace yoke
