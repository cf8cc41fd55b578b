// Record: what a run leaves for later readers: metrics.jsonl, summary.json, log.txt and a
// TensorBoard event file.
#pragma once

#include <memory>
#include <string>

#include "train/trainer.h"

namespace yoke {

/// An observer that keeps the record of the run directory `run` (which exists; Train makes and
/// calls it before all others). A resumed run goes on with the old record: epochs after
/// StartEvent::epochs_done are dropped from it. Every call throws Error naming the file when it
/// cannot be written.
std::unique_ptr<Observer> MakeRecord(const std::string& run);

/// An event as one line of JSON with its `event`, as `yoke train --json` prints and metrics.jsonl
/// keeps it (with the time).
std::string ToJson(const StartEvent& event);
std::string ToJson(const EpochEvent& event);
std::string ToJson(const EndEvent& event);

/// An event as a line for a person, as `yoke train` prints and log.txt keeps it.
std::string ToText(const StartEvent& event);
std::string ToText(const EpochEvent& event);
/// The same of how much memory was taken; "" where it is not known.
std::string ToText(const MemoryUse& memory);

}  // namespace yoke
