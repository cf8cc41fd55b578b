// FitSpeedCurve: the speed curve of a CPU that gives the step times measured on it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cost.h"
#include "node/speed_curve.h"

namespace yoke {

/// So many that they keep all of a CPU busy.
inline constexpr int64_t kManyExamples = int64_t{1} << 40;

/// A measured training step: a pass over a batch, and the update.
struct StepPoint {
  int64_t batch = 0;  ///< Examples.
  double seconds = 0;
  Cost pass = {};  ///< Graph::Price of the batch.
};

struct FitRequest {
  std::vector<StepPoint> points;  ///< At least one, each of another batch.
  size_t at = 0;                  ///< The point that the curve passes through.
  Cost update = {};               ///< CostOfUpdate.
  double bytes_per_second = 0;    ///< Of arithmetic on values, by all threads.
  int threads = 1;                ///< Of the CPU that was measured.
  bool through_all = false;       ///< The curve passes through all points.
};

/// Without title. At `request.at` a pass and an update take the measured seconds; at other batches
/// they lie on a line through it, fitted by least squares of relative errors. What does not grow
/// with the batch is the time to start kernels. Where the bytes alone would take longer than
/// measured, the memory is taken to be faster than `bytes_per_second`. `through_all`: how far other
/// points lie from the line goes into the curve's utilizations.
SpeedCurve FitSpeedCurve(const FitRequest& request);

/// The same device, without utilizations, with a memory of another speed, where a step of this cost
/// takes as long as before: arithmetic takes the rest. Where the bytes alone would take longer, the
/// memory is taken to be faster.
SpeedCurve WithMemory(SpeedCurve curve, double bytes_per_second, const Cost& step);

/// The same device, each of whose works takes `factor` times as long.
SpeedCurve Slower(SpeedCurve curve, double factor);

}  // namespace yoke
