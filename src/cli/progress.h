// Progress: the display of a training run: a live line on a terminal, plain lines elsewhere, events
// under --json.
#pragma once

#include <memory>
#include <string>

#include "cli/output.h"
#include "train/events.h"

namespace yoke {

/// The observer for `out`: events under --json, otherwise lines, with a live line on a terminal.
std::unique_ptr<Observer> MakeProgress(Output& out);

/// The live line for a terminal of `columns` columns; `metric` ("accuracy 0.9012", or empty) is
/// that of the last epoch. It is always shorter than `columns`; the least important parts are
/// dropped first.
std::string LiveLine(const StepEvent& step, const std::string& metric, int columns);

/// The most important metric as text, "accuracy 0.9012", or "" if there is none.
std::string Headline(const Metrics& metrics);

}  // namespace yoke
