// Sizes: what no tensor may exceed.
#pragma once

#include <cstdint>

#include "base/check.h"

namespace yoke {

/// No tensor holds more elements: its bytes, and those of many together, fit 64 bits. Every product
/// of sizes is checked where a Shape is made of them.
inline constexpr int64_t kMostElements = int64_t{1} << 42;

/// A Shape of more elements.
class TooLarge : public UserError {
 public:
  using UserError::UserError;
};

}  // namespace yoke
