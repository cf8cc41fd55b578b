// Support: a small job and clusters for tests of plans.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "measure/cluster_file.h"
#include "plan/candidates.h"

namespace yoke::test {

inline Job SmallJob(const Overrides& overrides = {}) {
  constexpr const char* kText = R"([data]
format = "synthetic-digits"
train_size = 640
test_size = 20
[model]
name = "mlp"
widths = [16]
[train]
epochs = 4
batch = 16
learning_rate = 0.02
[node]
threads = 1
)";
  return MakeResolvedJob(ParseToml(kText, "small.toml"), overrides);
}

inline constexpr double kOperations = 1e9, kBytes = 2e9;  // a second, of each node

/// Equal nodes of one thread.
inline std::map<std::string, ClusterFile> Cluster(int nodes, double latency,
                                                  double bytes_per_second) {
  const std::string text = fmt::format(
      "[[nodes]]\ncount = {}\noperations_per_second = {}\nbytes_per_second = {}\nthreads = 1\n"
      "[network]\nlatency = {}\nbytes_per_second = {}\n",
      nodes, kOperations, kBytes, latency, bytes_per_second);
  return {{"f32", ClusterOf(ParseToml(text, "cluster.toml"), "")}};
}
inline std::map<std::string, ClusterFile> FreeNetwork(int nodes) {
  return Cluster(nodes, 1e-9, 1e15);
}
/// An update of SmallJob takes about a second to send.
inline std::map<std::string, ClusterFile> SlowNetwork(int nodes) {
  return Cluster(nodes, 1e-3, 1e5);
}

/// The candidate of this name; fails with an empty one if there is none.
inline Candidate Named(const std::vector<Candidate>& candidates, const std::string& name) {
  const auto found = std::ranges::find(candidates, name, &Candidate::name);
  if (found != candidates.end()) return *found;
  ADD_FAILURE() << "no candidate " << name;
  return {};
}

}  // namespace yoke::test
