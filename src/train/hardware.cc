// Hardware: devices, ranks and threads, or simulated nodes.
#include "train/hardware.h"

#include <fmt/ranges.h>

#include "tensor/devices.h"

namespace yoke {

std::string HardwareOf(const SimulatedCluster& cluster, int ranks) {
  const int nodes = cluster.machines.NodeOf(ranks - 1) + 1;
  std::string text = fmt::format("{} simulated node{}", nodes, nodes == 1 ? "" : "s");
  if (ranks != nodes) text += fmt::format(" ({} ranks)", ranks);
  return cluster.title.empty() ? text : text + ": " + cluster.title;
}

std::string HardwareOf(const std::vector<std::string>& devices, int ranks, int threads,
                       bool shared) {
  const bool several = ranks > 1;
  const char* const share = shared ? " that share them" : "";
  const char* const asked = AskedDevices().empty() ? "" : " by YOKE_DEVICES";
  return fmt::format("{}{} ({}{} thread{}{})", fmt::join(devices, " + "), asked,
                     several ? fmt::format("{} ranks{}, ", ranks, share) : "", threads,
                     threads == 1 ? "" : "s", several ? " each" : "");
}

}  // namespace yoke
