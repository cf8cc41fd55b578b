// Record: the files that a run writes: metrics.jsonl, summary.json, log.txt and a TensorBoard event
// file.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/value.h"
#include "train/events.h"

namespace yoke {

/// An observer that writes the record of the existing run directory `run` (Train makes it and calls
/// it before all others). A resumed run continues the old record: epochs after
/// StartEvent::epochs_done are removed. Every call throws Error with the file if it cannot be
/// written.
std::unique_ptr<Observer> MakeRecord(const std::string& run);

/// Calls take(line) for each line of the metrics.jsonl of `run` that is whole and has an event.
/// Throws UserError if the file is not a regular one.
void ReadRecord(const std::string& run, const std::function<void(Value line)>& take);

/// The last epoch in the record of `run`, of those up to `epochs_done`; 0 if there is none.
int64_t EpochsTold(const std::string& run, double epochs_done);
/// The same for the step of the last evaluation by steps.
int64_t StepEvaluated(const std::string& run, double epochs_done);

/// Begins the record of the run `to` with the epochs in that of `from`.
void CopyEpochs(const std::string& from, const std::string& to);

/// An event as one line of JSON with its `event`, as in the output of `yoke train --json` and (with
/// the time) in metrics.jsonl.
std::string ToJson(const LoadingEvent& event);
std::string ToJson(const StartEvent& event);
std::string ToJson(const EvaluationEvent& event);
std::string ToJson(const EpochEvent& event);
std::string ToJson(const EndEvent& event);

/// An event as a line of text, as in the output of `yoke train` and in log.txt.
std::string ToText(const LoadingEvent& event);
std::string ToText(const StartEvent& event);
std::string ToText(const EvaluationEvent& event);
std::string ToText(const EpochEvent& event);
/// A line a layer that counts, and one on the steps' time.
std::vector<std::string> LayerLines(const LayerReport& report);
/// The same for the memory use; "" if it is unknown.
std::string ToText(const MemoryUse& memory);

}  // namespace yoke
