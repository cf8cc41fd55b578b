// TeamShape: how the cores of one machine are divided among teams of threads: as parts of `split`,
// or as replicas.
#pragma once

#include <string>
#include <vector>

#include "measure/cluster_file.h"
#include "model/graph.h"
#include "train/job/job.h"

namespace yoke {

/// Another division than the job's own: equal teams, each with its part of train.batch.
struct TeamShape {
  int teams = 1;  ///< 1: as the job says.
  bool replicas = false;
  std::string dropped = {};  ///< Why it does not fit, a sentence; "": it does.

  bool IsOwn() const { return teams == 1; }
  bool operator==(const TeamShape& other) const {
    return teams == other.teams && replicas == other.replicas;
  }
};

/// What a replica of the job computes with, and which divisions are open.
struct Divisible {
  int threads = 1, memory_nodes = 1;
  bool parts = false, replicas = false;
};
/// Of this machine; with `cluster`, of its first node. Parts are open where the job computes on the
/// CPU alone and does not say them; replicas where `replicas` says so and all is one replica, whose
/// threads the job does not say.
Divisible DivisibleOf(const Job& job, const ClusterFile* cluster, bool replicas);

/// As many teams as memory nodes, two, four, eight ... and threads, where these divide the threads.
/// `here`: all copies must fit in the memory of this machine.
std::vector<TeamShape> ShapesOf(const Job& job, const Graph& graph, const Divisible& open,
                                bool here);

/// What it sets in the job, strategy and executor apart.
Overrides KeysOf(const TeamShape& shape, const Job& job);

/// The key of a machine measured in this shape, beside those by precision.
std::string MachineKey(const std::string& precision, const TeamShape& shape);

/// Whether the first node has a curve of one CPU that says how the speeds of teams differ, as only
/// a file's does.
bool TeamsDiffer(const ClusterFile& cluster);

/// A machine of one replica as one of so many, by its curve's growth. Their copies of messages
/// share its memory.
ClusterFile DividedAmong(ClusterFile machine, int replicas);

}  // namespace yoke
