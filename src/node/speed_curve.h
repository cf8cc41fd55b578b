// SpeedCurve: how long a device takes for a pass over examples, as a function of their number.
#pragma once

#include <map>
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
/// in data of other cores: it is growth(c) times as fast as one thread with 1 / c of its examples,
///   growth(c) = c / (1 + team_loss (c - 1)), or a line from point to point of a table.
/// The table's speeds have waits for memory in them, so the memory only bounds them: in place of
/// the sum of operations / peak and bytes / bandwidth the larger one counts. Of the bytes held
/// (Cost::memory), those beyond the near memory are read at the far one's speed, as are those that
/// lie on another memory node than a thread of their team.
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
  std::map<int, double> growth = {};   ///< By threads, from 1 to all; empty: by team_loss.
  double near_bytes = 0;               ///< Size of the near memory; 0: all is near.
  int memory_nodes = 1;                ///< Between which the threads are divided evenly.
  double far_bytes_per_second = 0;     ///< Of the memory beyond, and of other nodes'.
  /// Measured u at so many examples at once.
  struct Utilization {
    double examples = 0;
    double of_peak = 1;
  };
  /// In place of the formula, by increasing examples: in proportion to log b between two of them,
  /// constant beyond. Empty: the formula. No key of a file.
  std::vector<Utilization> utilizations = {};

  double Seconds(const Cost& cost, const WorkPlace& place) const;

  /// How many times as fast as one thread a team of so many is, each with its part of a batch.
  double GrowthOf(double team) const;

 private:
  double Bandwidth(const Cost& cost, double team) const;
  double UtilizationAt(double examples) const;
};

/// Of one of so many equal teams that divide a CPU, while all compute.
SpeedCurve OneOf(const SpeedCurve& curve, int teams);

/// Reads a curve (examples/devices). Throws UserError with file and key.
SpeedCurve ReadSpeedCurve(const std::string& path);
/// The same from a table; `section` precedes its keys in messages.
SpeedCurve SpeedCurveOf(const Value& table, const std::string& section);

}  // namespace yoke
