// Hardware: devices, ranks and threads, or simulated nodes.
#include "train/hardware.h"

#include <fmt/ranges.h>

namespace yoke {

std::string HardwareOf(const SimulatedCluster& cluster, int ranks) {
  const int nodes = cluster.machines.NodeOf(ranks - 1) + 1;
  std::string text = fmt::format("{} simulated node{}", nodes, nodes == 1 ? "" : "s");
  if (ranks != nodes) text += fmt::format(" ({} ranks)", ranks);
  return cluster.title.empty() ? text : text + ": " + cluster.title;
}

std::string HardwareOf(const Job& job, const RunRequest& request, const DeviceShares& devices,
                       int ranks, int threads) {
  if (request.cluster) return HardwareOf(*request.cluster, ranks);
  const bool asked = job.node.Where("devices").starts_with("YOKE_DEVICES");
  const bool several = ranks > 1;
  const char* const share = devices.shared ? " that share them" : "";
  return fmt::format(
      "{}{} ({}{} thread{}{}{})", fmt::join(devices.used, " + "), asked ? " by YOKE_DEVICES" : "",
      several ? fmt::format("{} ranks{}, ", ranks, share) : "", threads, threads == 1 ? "" : "s",
      several ? " each" : "",
      devices.idle.empty() ? "" : fmt::format("; idle: {}", fmt::join(devices.idle, ", ")));
}

}  // namespace yoke
