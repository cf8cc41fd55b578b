// SpeedCurve: how long a device takes for a pass over examples, as a function of their number.
#pragma once

#include <string>
#include <vector>

#include "base/cost.h"
#include "base/value.h"

namespace yoke {

/// A device, fitted to published or measured points:
///   seconds = kernels * launch + operations / (peak * u(b)) + bytes / bandwidth + copies / link,
///   u(b) = b / (b + half_batch)                            b examples at once
/// A CPU has several threads, which share peak and bandwidth. For a batch of all threads together b
/// is a thread's part. One thread among k at work has its part of the peak, and the smaller of its
/// own bandwidth and 1 / k of all.
///
/// These rates are of one team of all C threads. A team of c of them loses less in its barriers and
/// in data of other cores: each thread takes 1 + team_loss (c - 1) times as long as alone, so a
/// thread alone is 1 + team_loss (C - 1) times as fast as in the team of all. Of the bytes held
/// (Cost::memory), those beyond the near memory are read at the far one's speed.
struct SpeedCurve {
  std::string title;
  double operations_per_second = 0;  ///< The peak, of all threads.
  double half_batch = 0;             ///< Examples at which it reaches half of the peak.
  double bytes_per_second = 0;       ///< Of its memory, by all threads.
  double launch_seconds = 0;         ///< To start a kernel.
  double link_bytes_per_second = 0;  ///< To and from the host's memory; 0: it is the host.
  int threads = 1;
  double thread_bytes_per_second = 0;  ///< Of one thread alone; 0: as all.
  double team_loss = 0;                ///< For each further thread of a team.
  double near_bytes = 0;               ///< Size of the near memory; 0: all is near.
  double far_bytes_per_second = 0;     ///< Of the memory beyond.
  /// Measured u at so many examples at once.
  struct Utilization {
    double examples = 0;
    double of_peak = 1;
  };
  /// In place of the formula, by increasing examples: in proportion to log b between two of them,
  /// constant beyond. Empty: the formula. No key of a file.
  std::vector<Utilization> utilizations = {};

  double Seconds(const Cost& cost, const WorkPlace& place) const;

 private:
  double Bandwidth(const Cost& cost) const;
  double UtilizationAt(double examples) const;
};

/// Reads a curve (examples/devices). Throws UserError with file and key.
SpeedCurve ReadSpeedCurve(const std::string& path);
/// The same from a table; `section` precedes its keys in messages.
SpeedCurve SpeedCurveOf(const Value& table, const std::string& section);

}  // namespace yoke
