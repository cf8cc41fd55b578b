// EndSentence: what to do after a run has ended in order.
#pragma once

#include <string>

#include "train/events.h"

namespace yoke {

/// Of a run that has not diverged. `simulated`: on a simulated cluster.
std::string EndSentence(const EndEvent& end, bool simulated);

}  // namespace yoke
