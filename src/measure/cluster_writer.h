// FormatCluster: the cluster file of machines that were measured.
#pragma once

#include <string>
#include <vector>

#include "measure/machine_profile.h"

namespace yoke {

/// A machine and the replicas on it: one [[nodes]].
struct MeasuredNode {
  std::string host;
  std::string cpu;
  int ranks = 1;
  int usable_cores = 1;        ///< That its replicas share.
  bool threads_apart = false;  ///< The executor's threads work apart.
  MachineProfile profile = {};
  /// How many times as long steps take where all replicas share the cores, besides their turns.
  double crowding = 1;
  /// Not measured: a sentence on how the profile's curve was computed, which is all that is known.
  std::string computed = {};

  /// Replicas that compute at the same time; others take turns.
  int AtOnce() const;
  /// The key `cores`: pieces of work that run at once.
  int Cores() const { return threads_apart ? usable_cores : AtOnce(); }
  /// The curve where all replicas share the cores, with its title.
  SpeedCurve Curve() const;
};

struct MeasuredNetwork {
  bool measured = false;  ///< False: the figures are assumed.
  double latency = 0;     ///< Seconds, one way.
  double bytes_per_second = 0;
  double copy_bytes_per_second = 0;  ///< 0: none.
  double polling = 0;                ///< Part of a core that a rank's waiting thread takes.
  std::string source;                ///< A sentence on where the figures are from.
};

struct MeasuredCluster {
  std::string title;
  std::string command;  ///< That wrote it.
  std::string when;     ///< "2026-11-24 10:15"
  std::string subject;  ///< "job.toml: model lenet, batch 16, executor single, f32"
  std::vector<MeasuredNode> nodes;
  MeasuredNetwork network;
};

/// The text of a file for ReadCluster, with comments that say what is measured and what is assumed.
std::string FormatCluster(const MeasuredCluster& cluster);

}  // namespace yoke
