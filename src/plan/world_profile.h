// WorldProfile: measures the machines and the network of a world, each rank its part; for a plan
// as clusters to simulate.
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "comm/network_benchmark.h"
#include "measure/cluster_file.h"
#include "measure/cluster_writer.h"
#include "model/graph.h"
#include "train/job/job.h"

namespace yoke {

/// What the ranks of a world measured; the same on all.
struct WorldProfile {
  std::vector<MeasuredNode> nodes;  ///< In the order of their first ranks.
  MeasuredNetwork network;
};

/// Refuses a job that computes on other devices than the CPU, with a UserError.
void RequireOnlyTheCpu(const Job& job);

/// How a world is measured.
struct Measuring {
  /// The ranks are processes of a launcher, otherwise threads of this process.
  bool launched = false;
  double seconds = 10;                     ///< About the time to spend on computing.
  const std::atomic<int>* stop = nullptr;  ///< As in ProfileRequest.
};

/// All ranks call it. On each machine as many ranks compute at once as its cores take, as they do
/// in training, each on its share of the devices; the others wait. Then the messages between ranks
/// are measured, if there are several.
WorldProfile MeasureWorld(const Job& job, const Reader& data, const Communicator& world,
                          const Measuring& measuring);

/// Between two threads of this process, for messages of a model's size.
MeasuredNetwork MeasureCopies(const Graph& graph, int64_t batch);

/// The figures of [network] from those of pairs of ranks.
MeasuredNetwork NetworkOf(const std::vector<PairSpeed>& pairs, bool launched);

/// The machines as clusters to simulate, by precision, with a speed curve of each device of the
/// job. All ranks of the world call it, and get the same. Each precision is measured apart, with
/// the prices of `executor` as it runs.
std::map<std::string, ClusterFile> MeasureMachines(const Job& job, const Reader& data,
                                                   const std::vector<std::string>& precisions,
                                                   const Communicator& world,
                                                   const Measuring& measuring,
                                                   const std::string& executor = "single");

}  // namespace yoke
