// Stop: the flag by which a signal asks for an orderly end.
#pragma once

#include <atomic>

namespace yoke {

/// Whether `stop`, which holds a signal's number or 0, asks for it; null: it never does.
inline bool StopIsAsked(const std::atomic<int>* stop) { return stop && *stop != 0; }

}  // namespace yoke
