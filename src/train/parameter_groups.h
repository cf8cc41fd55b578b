// ParameterGroups: which parameters a job freezes, and which have rates and decays of their own.
#pragma once

#include <vector>

#include "optim/rule.h"
#include "params/layout.h"
#include "train/job/job.h"

namespace yoke {

/// By slice, of [train] freeze, no_decay and groups; empty if the job has none of these. Throws
/// UserError for a pattern that matches no parameter, and if nothing is left to train or to decay.
std::vector<SliceSettings> SliceSettingsOf(const Job& job, const ParamLayout& layout);

}  // namespace yoke
