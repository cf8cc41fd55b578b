// First touch: the system takes a page from the memory node of the thread that touches it first.
#pragma once

#include "params/store.h"

namespace yoke {

/// Lets each thread of the caller's team touch its part of the values of every slice, the part that
/// it will update. For a new store, whose values are zeros still; small ones, and those that lie on
/// a device, are left alone. All else of this size is first written by the team's loops.
void TouchFirst(const ParamStore& params);

}  // namespace yoke
