// Reason: why a call of the system failed, in words that say what to do.
#pragma once

#include <string>

namespace yoke {

/// The system's text for an errno; for a full disk and for limits on files also what to do. 0
/// (unknown) asks whether the disk is full.
std::string ReasonOf(int error);

}  // namespace yoke
