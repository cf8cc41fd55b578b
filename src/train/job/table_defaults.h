// What a job trains on a table, and how, where it does not say.
#pragma once

#include "base/value.h"

namespace yoke {

/// If the job's data are a table of format `csv` and it has no [model], adds one and the keys of
/// [train] and [data] that go with it: an mlp, adam, a validation share that ends training early.
/// Keys that the job has stay. Other jobs do not change.
void AddTableDefaults(Value& root);

}  // namespace yoke
