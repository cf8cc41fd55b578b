// Support: the speed of a small CPU, for tests in virtual time.
#pragma once

#include "node/speed_curve.h"

namespace yoke::testing_support {

inline constexpr int kThreads = 4;  // of that CPU

inline SpeedCurve CpuCurve() {
  return {.operations_per_second = 4e8,
          .half_batch = 2,
          .bytes_per_second = 8e8,
          .threads = kThreads,
          .thread_bytes_per_second = 5e8};
}

}  // namespace yoke::testing_support
