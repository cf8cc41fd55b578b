// Machines: one profile for each precision, written as a cluster file and read back.
#include "plan/machines.h"

#include "base/value.h"
#include "plan/candidates.h"

namespace yoke {
namespace {

/// With several devices a curve for each, as measured; the file has the CPU's alone.
void TakeDevices(const MeasuredNode& measured, NodeKind& node) {
  const std::map<std::string, SpeedCurve>& devices = measured.profile.devices;
  if (devices.empty()) return;
  node.curves = {{"cpu", measured.Curve()}};
  node.curves.insert(devices.begin(), devices.end());
}

}  // namespace

std::map<std::string, ClusterFile> MeasureMachines(const Job& job, const Reader& data,
                                                   const std::vector<std::string>& precisions,
                                                   const Communicator& world,
                                                   const Measuring& measuring) {
  std::map<std::string, ClusterFile> machines;
  for (const std::string& precision : precisions) {
    const Job plain = WithKeys(job, {PlanKey("node.executor", "single", /*text=*/true),
                                     PlanKey("node.precision", precision, /*text=*/true)});
    const WorldProfile profile = MeasureWorld(plain, data, world, measuring);
    const std::string text = FormatCluster({.title = "this machine",
                                            .command = "yoke plan",
                                            .when = "",
                                            .subject = job.name,
                                            .nodes = profile.nodes,
                                            .network = profile.network});
    ClusterFile& cluster = machines[precision] = ClusterOf(ParseToml(text, "the profile"), "");
    for (size_t i = 0; i < profile.nodes.size(); ++i)
      TakeDevices(profile.nodes[i], cluster.kinds[i]);
  }
  return machines;
}

}  // namespace yoke
