// Limits: the largest values that keys of a job may hold.
#pragma once

namespace yoke {

/// Of keys that count steps, features or channels: a product of two fits 64 bits.
inline constexpr double kMostCount = 1e9;

/// Replicas of a job, real or simulated.
inline constexpr double kMostRanks = 1e6;

/// Of a window's kernel, stride, padding and dilation.
inline constexpr double kMostPixels = 1e6;

}  // namespace yoke
