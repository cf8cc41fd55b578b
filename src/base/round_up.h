// RoundUp: rounds up to a multiple.
#pragma once

#include <cstdint>

namespace yoke {

/// The smallest multiple of `unit` that is at least `count`; neither is negative.
constexpr int64_t RoundUp(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace yoke
