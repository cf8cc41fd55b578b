// TeamShape: a short list of divisors, and what speaks against each.
#include "plan/shapes.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "base/resources.h"
#include "kernels/threads.h"
#include "plan/candidates.h"
#include "tensor/devices.h"
#include "train/job/devices.h"

namespace yoke {
namespace {

constexpr int64_t kLeastStatistics = 8;  // examples of a team, where it normalizes over them
constexpr double kReplicaCopies = 9;     // of a model that a replica needs at most
constexpr double kPartCopies = 2;        // that a part has: values and gradients
constexpr double kMostMemory = 0.5;      // of this machine's, for all of them

const SpeedCurve* CpuOf(const NodeKind& kind) {
  for (const char* name : {"", "cpu"})
    if (const auto found = kind.curves.find(name); found != kind.curves.end())
      return found->second.link_bytes_per_second == 0 ? &found->second : nullptr;
  return nullptr;
}

bool Normalizes(const Graph& graph) {
  return std::ranges::any_of(graph.Info(), [](const LayerInfo& layer) {
    return layer.type.starts_with("batch_norm") ||
           layer.type.find("+batch_norm") != std::string::npos;
  });
}

std::string WhyNot(const TeamShape& shape, const Job& job, const Graph& graph, bool here) {
  const int64_t batch = job.train.Int("batch");
  const auto copies = (shape.replicas ? kReplicaCopies : kPartCopies) * shape.teams;
  const char* what = shape.replicas ? "replicas" : "parts";
  if (batch < shape.teams || (shape.replicas && batch % shape.teams != 0))
    return fmt::format("{} {} cannot divide a batch of {} evenly", shape.teams, what, batch);
  if (batch / shape.teams < kLeastStatistics && Normalizes(graph))
    return fmt::format("batch normalization over the {} examples of one of {} {} says too little",
                       batch / shape.teams, shape.teams, what);
  if (shape.replicas && graph.layout().HasRows())
    return "no price: replicas of a sparse or hashed layer have no predicted time";
  const double bytes = copies * 4.0 * static_cast<double>(graph.layout().size());
  const auto most = kMostMemory * static_cast<double>(UsableMemory());
  if (here && bytes > most)
    return fmt::format("{} {} need about {:.3g} GB, more than half of the memory", shape.teams,
                       what, bytes / 1e9);
  return "";
}

}  // namespace

Divisible DivisibleOf(const Job& job, const ClusterFile* cluster, bool replicas) {
  const auto ranks = static_cast<int>(job.cluster.Int("replicas"));
  Divisible open = {.threads = job.Plan({.rank = 0, .size = ranks}).threads,
                    .memory_nodes = FindTopology().nodes};
  if (cluster) {
    if (!TeamsDiffer(*cluster)) return {};
    const SpeedCurve* curve = CpuOf(cluster->kinds[0]);
    open.threads = cluster->kinds[0].threads;
    open.memory_nodes = curve->memory_nodes;
    replicas = replicas && cluster->Ranks() == 1 && open.threads == curve->threads;
  }
  if (DevicesOf(job).all() != std::vector<Device*>{&Cpu()}) return {};
  open.parts = !job.node.Resolved().Find("parts");
  open.replicas = replicas && ranks == 1 && !job.node.Has("threads");
  return open;
}

std::vector<TeamShape> ShapesOf(const Job& job, const Graph& graph, const Divisible& open,
                                bool here) {
  std::set<int> counts = {open.memory_nodes, open.threads};
  for (int teams = 2; teams < open.threads; teams *= 2) counts.insert(teams);
  std::vector<TeamShape> shapes;
  for (const bool replicas : {false, true})
    for (const int teams : counts) {
      if (teams < 2 || open.threads % teams != 0 || !(replicas ? open.replicas : open.parts))
        continue;
      TeamShape& shape = shapes.emplace_back(TeamShape{.teams = teams, .replicas = replicas});
      shape.dropped = WhyNot(shape, job, graph, here);
    }
  return shapes;
}

Overrides KeysOf(const TeamShape& shape, const Job& job) {
  if (shape.IsOwn()) return {};
  if (!shape.replicas) return {PlanKey("node.parts", std::to_string(shape.teams))};
  return {PlanKey("cluster.replicas", std::to_string(shape.teams)),
          PlanKey("train.batch", std::to_string(job.train.Int("batch") / shape.teams))};
}

std::string MachineKey(const std::string& precision, const TeamShape& shape) {
  if (shape.IsOwn()) return precision;
  return fmt::format("{}, {} {}", precision, shape.teams, shape.replicas ? "replicas" : "parts");
}

bool TeamsDiffer(const ClusterFile& cluster) {
  const SpeedCurve* curve = CpuOf(cluster.kinds[0]);
  return curve && (!curve->growth.empty() || curve->team_loss > 0);
}

ClusterFile DividedAmong(ClusterFile machine, int replicas) {
  NodeKind& kind = machine.kinds[0];
  kind.ranks = replicas;
  kind.threads /= replicas;
  kind.operations_per_second /= replicas;
  kind.bytes_per_second /= replicas;
  for (auto& [device, curve] : kind.curves) {
    curve = OneOf(curve, replicas);
    // A copy reads and writes.
    machine.copy_bytes_per_second =
        std::min(machine.copy_bytes_per_second, curve.bytes_per_second / 2);
  }
  return machine;
}

}  // namespace yoke
