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
                                                   const Measuring& measuring,
                                                   const std::string& executor) {
  std::map<std::string, ClusterFile> machines;
  for (const std::string& precision : precisions) {
    Overrides keys = {PlanKey("node.precision", precision, /*text=*/true)};
    if (job.node.String("executor") != executor)
      keys.push_back(PlanKey("node.executor", executor, /*text=*/true));
    const WorldProfile profile = MeasureWorld(WithKeys(job, keys), data, world, measuring);
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
